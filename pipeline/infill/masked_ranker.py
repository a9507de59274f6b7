"""Attested infilling with a masked LM: all options scored at the masks of one forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from pipeline.infill.attested import Ranker, chosen, nearest_first
from pipeline.infill.base import Fill
from pipeline.infill.masked_lm import BertInfiller, MaskedPair, MaskedTwins, by_tiles
from pipeline.infill.rankings.mean import mean
from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions


@dataclass(frozen=True, slots=True)
class RankedPair:
    """A pair of twins with as many masks as each of the options has tokens."""

    pair: MaskedPair
    choice: ReferenceOptions

    @property
    def order(self) -> tuple[int, ...]:
        """Tokens, which is what a forward pass costs."""
        return self.pair.order

    @property
    def read(self) -> int:
        """Tokens of both twins, which are in one input."""
        return self.pair.read

    @property
    def rows(self) -> int:
        """One: both twins are in it."""
        return self.pair.rows

    @property
    def tokens(self) -> int:
        """Tokens of the input."""
        return self.pair.tokens


class BertRanker(Ranker[RankedPair]):
    """One forward pass per reference, in which all options are scored at the same masks (Eq. 1).

    So the options of a reference have equally many tokens: as many as the reference, or the nearest
    number that is offered.
    """

    own = staticmethod(mean)
    _infiller: BertInfiller

    @staticmethod
    def lengths(count: int, offered: Sequence[int]) -> Iterator[range]:
        """Each length alone, the nearest first, of two as near the shorter."""
        yield from nearest_first(count, offered)

    def encode(self, choices: Sequence[ReferenceOptions]) -> list[RankedPair | str]:
        """The twins of each choice, or why there are none."""
        references = [choice.reference for choice in choices]
        pairs = self._infiller.encode(references, [len(choice.tokens[0]) for choice in choices])
        return [
            pair if isinstance(pair, str) else RankedPair(pair, choice)
            for pair, choice in zip(pairs, choices, strict=True)
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[RankedPair]) -> list[list[Fill]]:
        """The chosen options of each pair; a CPU takes them tile by tile."""
        return by_tiles(self._decode_tile, batch, self._infiller.model.device)

    def _decode_tile(self, batch: Sequence[RankedPair]) -> list[list[Fill]]:
        infiller, request = self._infiller, self._infiller.request
        pairs, choices = [each.pair for each in batch], [each.choice for each in batch]
        twins = MaskedTwins(infiller.model, infiller.tokenizer, pairs, 2 if request.sync else 1)
        scores = request.synchronizer.join(*twins.logits())
        tokens = torch.from_numpy(_tokens_at_masks(choices)).to(scores.fused.device)
        scored = scores.of(tokens, request.synchronizer.normalizers(scores))
        means = _means(torch.stack([*scored.kinds]), [pair.count for pair in pairs])
        # Nothing ends a fill of given length, so the mean is the score of the whole.
        found = OptionScores(means, ended=means[0])
        return chosen(found, choices, request.decoding, request.ranking or self.own)


def _tokens_at_masks(
    choices: Sequence[ReferenceOptions],
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The tokens of all options at each mask, ``[masks, options]``, a choice's first where it has fewer."""
    width = max(len(choice.tokens) for choice in choices)
    filled = [
        np.array([*choice.tokens, *choice.tokens[:1] * (width - len(choice.tokens))], np.int64).T
        for choice in choices
    ]
    return np.concatenate(filled)


def _means(scores: Tensor, counts: Sequence[int]) -> Tensor:
    """Means over each reference's masks, of ``[kinds, masks, options]``; fp64."""
    starts = [0, *accumulate(counts)]
    # A sum over padded rows, which unlike ``index_add`` is the same each time on a GPU, too.
    nothing, longest = starts[-1], max(counts)
    rows = [
        [*range(start, start + count), *[nothing] * (longest - count)]
        for start, count in zip(starts, counts, strict=False)
    ]
    device = scores.device
    filled = torch.cat([scores.double(), scores.new_zeros(len(scores), 1, scores.shape[-1])], 1)
    sums = filled[:, torch.tensor(rows, device=device)].sum(2)
    return sums / torch.tensor(counts, device=device).unsqueeze(-1)
