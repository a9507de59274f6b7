"""Attested infilling: the model does not write a fill, it chooses one among constituents that people wrote.

Synchronized infilling (Eq. 1 and 2) over a closed set: the M options of a reference are scored in both
twins with the chosen synchronizer, and the best is taken. It is the ranked form of substructure
substitution (Shi et al., 2021, SUB²). What is the best a ranking says (``rankings``). An option's score is
the mean of its tokens' log-probabilities, as of a free fill, whatever ranked it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import torch

from pipeline.core.types import Attested, Reference
from pipeline.infill.base import NAN_LOGITS, EncodedReference, Fill, Infiller
from pipeline.infill.decoding import Decoding, Limits, key_of
from pipeline.infill.rankings.protocol import OptionScores, Ranking, ReferenceOptions
from pipeline.models.sampling import draw, uniform
from pipeline.text.natural import join_words

_Encoded = TypeVar("_Encoded", bound=EncodedReference)


class Ranker(ABC, Generic[_Encoded]):
    """A language model that chooses among options for the masks of twins.

    Its ``encode`` and ``decode`` are used as an ``Infiller``'s are, by ``batching.fill``.

    Args:
        infiller: the same model as a writer of free fills.

    Class attributes:
        own: what ranks the options where the request names no ranking.
    """

    own: ClassVar[Ranking]

    def __init__(self, infiller: Infiller[Any]) -> None:
        self._infiller = infiller

    def counts(self, references: Sequence[Reference]) -> list[int]:
        """Tokens of each reference span, n."""
        return self._infiller.counts(references)

    @staticmethod
    @abstractmethod
    def lengths(count: int, offered: Sequence[int]) -> Iterator[range]:
        """Lengths, in tokens, of the options for a reference of ``count``, in the order to try them.

        Args:
            count: tokens of the reference span, n.
            offered: lengths that there are, ascending.
        """

    @abstractmethod
    def encode(self, choices: Sequence[ReferenceOptions]) -> list[_Encoded | str]:
        """The model's input for each choice, or why there is none."""

    @abstractmethod
    def decode(self, batch: Sequence[_Encoded]) -> list[list[Fill]]:
        """The chosen options of each, best first (sampled ones in the order of sampling)."""


def nearest_first(count: int, offered: Sequence[int]) -> Iterator[range]:
    """Each length alone, the nearest to ``count`` first, of two as near the shorter."""
    for length in sorted(offered, key=lambda each: (abs(each - count), each)):
        yield range(length, length + 1)


def as_free_fills(count: int, offered: Sequence[int]) -> Iterator[range]:
    """All lengths that a free fill may have (§3.2.2); failing these each alone, as ``nearest_first``."""
    limits = Limits.around(count)
    yield range(limits.shortest, limits.longest + 1)
    yield from nearest_first(count, offered)


def chosen(
    scores: OptionScores, choices: Sequence[ReferenceOptions], decoding: Decoding, ranking: Ranking
) -> list[list[Fill]]:
    """The options of each choice that a decoding takes, by a ranking.

    Greedy decoding takes the best, of equals the first; n-best the N best; sampling draws N of the
    softmax of the ranking.

    Args:
        scores: of the options of each choice.
        choices: references with their options.
        decoding: how many, and by what.
        ranking: makes of the scores those to choose by.
    """
    means, ranked = scores.means, ranking(scores, choices)
    device = means.device
    sizes = torch.tensor([len(choice.options) for choice in choices], device=device)
    beyond = torch.arange(means.shape[-1], device=device) >= sizes.unsqueeze(-1)
    unusable = (~means.isfinite()).any(0) | ranked.isnan()
    broken = (unusable & ~beyond).any(-1).tolist()
    by = ranked.masked_fill(beyond, -torch.inf)
    if decoding.kind == "sample":
        numbers = [
            [uniform(decoding.seed, key_of(choice.reference), k, 0) for k in range(decoding.fills)]
            for choice in choices
        ]
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=device)
        ranks = draw(by.nan_to_num(), uniforms, decoding.temperature, decoding.top_p)
    else:
        # A stable sort: topk may take any of equals.
        ranks = by.sort(dim=-1, descending=True, stable=True).indices[:, : decoding.fills]
    kinds, taken = means.permute(1, 2, 0).tolist(), ranks.tolist()
    return [
        [Fill("", reason=NAN_LOGITS)]
        if broken[i]
        else [_fill(choice.options[k], kinds[i][k]) for k in taken[i] if k < len(choice.options)]
        for i, choice in enumerate(choices)
    ]


def _fill(option: Attested, scores: Sequence[float]) -> Fill:
    fused, append, *prepend = scores
    text = join_words(option.words).text
    return Fill(text, fused, append, prepend[0] if prepend else None, attested=option)
