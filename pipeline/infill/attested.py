"""Attested infilling: the model does not write a fill, it chooses one among constituents that people wrote.

Synchronized infilling (Eq. 1 and 2) over a closed set: the M options of a reference are scored in both
twins with the chosen synchronizer, and the best is taken. It is the ranked form of substructure
substitution (Shi et al., 2021, SUB²). An option's score is the mean of its tokens' log-probabilities, as
of a free fill.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from pipeline.core.types import Attested, Reference
from pipeline.infill.base import NAN_LOGITS, Encoded, Fill, Infiller, Task
from pipeline.infill.decoder import Lockstep
from pipeline.infill.decoding import Decoding, Limits, draw, key_of, uniform
from pipeline.infill.masked_lm import BertInfiller, MaskedPair, MaskedTwins, by_tiles
from pipeline.infill.seq2seq import T5Infiller, TwinInputs
from pipeline.text.natural import join_words

_ROWS = 256
"""Hypotheses whose scores over the vocabulary are looked at together."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A reference and what may stand beside it: options, at least one, whose tokens are ``tokens``."""

    reference: Reference
    options: tuple[Attested, ...]
    tokens: tuple[tuple[int, ...], ...]


_Encoded = TypeVar("_Encoded", bound=Encoded)


class Ranker(ABC, Generic[_Encoded]):
    """A language model that chooses among options for the masks of twins.

    Its ``encode`` and ``decode`` are used as an ``Infiller``'s are, by ``batching.fill``.

    Args:
        infiller: the same model as a writer of free fills.
    """

    def __init__(self, infiller: Infiller[Any]) -> None:
        self._infiller = infiller

    def counts(self, references: Sequence[Reference]) -> list[int]:
        """Tokens of each reference span, n."""
        return self._infiller.counts(references)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text as a fill."""
        return self._infiller.fill_tokens(texts)

    @staticmethod
    @abstractmethod
    def lengths(count: int, offered: Sequence[int]) -> Iterator[range]:
        """Lengths, in tokens, of the options for a reference of ``count``, in the order to try them.

        Args:
            count: tokens of the reference span, n.
            offered: lengths that there are, ascending.
        """

    @abstractmethod
    def encode(self, choices: Sequence[Choice]) -> list[_Encoded | str]:
        """The model's input for each choice, or why there is none."""

    @abstractmethod
    def decode(self, batch: Sequence[_Encoded]) -> list[list[Fill]]:
        """The chosen options of each, best first (sampled ones in the order of sampling)."""


@dataclass(frozen=True, slots=True)
class RankedPair:
    """A pair of twins with as many masks as each of the options has tokens."""

    pair: MaskedPair
    choice: Choice

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

    _infiller: BertInfiller

    @staticmethod
    def lengths(count: int, offered: Sequence[int]) -> Iterator[range]:
        """Each length alone, the nearest first, of two as near the shorter."""
        for length in sorted(offered, key=lambda each: (abs(each - count), each)):
            yield range(length, length + 1)

    def encode(self, choices: Sequence[Choice]) -> list[RankedPair | str]:
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
        infiller, task = self._infiller, self._infiller.task
        pairs = [each.pair for each in batch]
        parts = 2 if task.sync else 1
        twins = MaskedTwins(infiller.model, infiller.tokenizer, pairs, parts)
        scores = task.synchronizer.join(*twins.logits())
        device = scores.fused.device
        choices = [each.choice for each in batch]
        width = max(len(choice.tokens) for choice in choices)
        # Where there are fewer options the first is repeated, and never chosen again.
        filled = (
            [*choice.tokens, *[choice.tokens[0]] * (width - len(choice.tokens))]
            for choice in choices
        )
        rows = [at for options in filled for at in zip(*options, strict=True)]
        tokens = torch.tensor(rows, device=device)
        scored = scores.of(tokens, task.synchronizer.normalizers(scores))
        ends = list(accumulate(pair.count for pair in pairs))
        blocks = list(zip([0, *ends[:-1]], ends, strict=True))
        means = torch.stack(
            [
                torch.stack([kind[begin:end].double().mean(0) for begin, end in blocks])
                for kind in scored.kinds
            ]
        )
        return chosen(means, choices, task.decoding)


@dataclass(frozen=True, slots=True)
class RankedInputs:
    """The encoder's inputs of both twins, and the options that the decoder is made to write."""

    inputs: TwinInputs
    choice: Choice

    @property
    def longest(self) -> int:
        """Tokens of the longest option."""
        return max(map(len, self.choice.tokens))

    @property
    def order(self) -> tuple[int, ...]:
        """Steps, then tokens to read."""
        return self.longest, self.inputs.tokens

    @property
    def read(self) -> int:
        """Tokens of both twins."""
        return self.inputs.read

    @property
    def rows(self) -> int:
        """Twins times half the options, which share what the encoder read."""
        return len(self.inputs.inputs) * -(-len(self.choice.tokens) // 2)

    @property
    def tokens(self) -> int:
        """Tokens of the longer twin."""
        return self.inputs.tokens


class T5Ranker(Ranker[RankedInputs]):
    """Options are written by force, all of a batch in lockstep, the encoder run once per twin (Eq. 2).

    They have between a third and three times the tokens of the reference (§3.2.2). What ranks them is
    the mean log-probability with the end of the fill, without which a prefix of a good fill would beat it.
    """

    _infiller: T5Infiller

    @staticmethod
    def lengths(count: int, offered: Sequence[int]) -> Iterator[range]:
        """All lengths that a free fill may have; failing these each length alone, the nearest first."""
        limits = Limits.around(count)
        yield range(limits.shortest, limits.longest + 1)
        yield from BertRanker.lengths(count, offered)

    def encode(self, choices: Sequence[Choice]) -> list[RankedInputs | str]:
        """The twins of each choice, or why there are none."""
        inputs = self._infiller.encode([choice.reference for choice in choices])
        return [
            each if isinstance(each, str) else RankedInputs(each, choice)
            for each, choice in zip(inputs, choices, strict=True)
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[RankedInputs]) -> list[list[Fill]]:
        """The chosen options of each pair."""
        task = self._infiller.task
        # The decoder keeps references of similar length together.
        order = sorted(range(len(batch)), key=lambda i: batch[i].tokens)
        ordered = [batch[i] for i in order]
        choices = [each.choice for each in ordered]
        state = self._infiller.lockstep([each.inputs.inputs for each in ordered])
        means, ranking = forced(state, [c.tokens for c in choices], self._infiller.stops, task)
        fills: list[list[Fill]] = [[]] * len(batch)
        for i, found in zip(order, chosen(means, choices, task.decoding, ranking), strict=True):
            fills[i] = found
        return fills


def forced(
    state: Lockstep,
    options: Sequence[Sequence[Sequence[int]]],
    stops: tuple[int, ...],
    task: Task,
) -> tuple[Tensor, Tensor]:
    """Scores of given fills, written token by token.

    Args:
        state: a decoder at its start.
        options: tokens of the options of each reference.
        stops: tokens that end a fill; the likelier one counts.
        task: has the synchronizer.

    Returns:
        Mean log-probabilities under u′, S′(1) and any S′(2) ``[kinds, references, options]``, and those
        under u′ with the end of the fill ``[references, options]``.
    """
    width = max(map(len, options))
    longest = max(len(each) for some in options for each in some)
    stop = stops[0]
    # After its last token an option has a stop, and then nothing that counts.
    rows = [
        [
            [*each, *[stop] * (longest + 1 - len(each))]
            for each in (*some, *[()] * (width - len(some)))
        ]
        for some in options
    ]
    states = state.start()
    device = states.device
    tokens = torch.tensor(rows, device=device)
    lengths = torch.tensor(
        [[len(each) for each in some] + [-1] * (width - len(some)) for some in options],
        device=device,
    )
    kinds = state.parts + 1 if state.parts > 1 else 2
    sums = torch.zeros((kinds, *lengths.shape), dtype=torch.float64, device=device)
    ends = torch.zeros(lengths.shape, dtype=torch.float64, device=device)
    state.widen(width)
    states = states.expand(-1, -1, width, -1)
    for step in range(longest + 1):
        live = (lengths >= step).nonzero(as_tuple=True)
        wanted = tokens[..., step][live]
        rows_of = states[:, live[0], live[1]]
        for at in range(0, len(wanted), _ROWS):
            part = slice(at, at + _ROWS)
            logits = state.logits(rows_of[:, part].flatten(0, 1)).view(
                state.parts, -1, state.vocabulary
            )
            scores = task.synchronizer.join(*logits)
            normalizers = task.synchronizer.normalizers(scores)
            found = scores.of(wanted[part].unsqueeze(-1), normalizers)
            end = scores.fused[:, list(stops)].amax(-1) - normalizers[0].squeeze(-1)
            where = live[0][part], live[1][part]
            inside = lengths[where] > step
            for kind, each in zip(sums, found.kinds, strict=True):
                kind[where] += each.squeeze(-1).double() * inside
            ends[where] += end.double() * ~inside
        if step < longest:
            states = state.advance(tokens[..., step])
    means = sums / lengths
    return means, (sums[0] + ends) / (lengths + 1)


def chosen(
    means: Tensor,
    choices: Sequence[Choice],
    decoding: Decoding,
    ranking: Tensor | None = None,
) -> list[list[Fill]]:
    """The options of each choice that a decoding takes, by their scores.

    Greedy decoding takes the best, of equals the first; n-best the N best; sampling draws N of the
    softmax of the scores.

    Args:
        means: scores under u′, S′(1) and any S′(2): ``[kinds, choices, options]``, options beyond
            those of a choice with any score.
        choices: references with their options.
        decoding: how many, and by what.
        ranking: scores to choose by, ``[choices, options]``; None: those under u′.
    """
    device = means.device
    sizes = torch.tensor([len(choice.options) for choice in choices], device=device)
    beyond = torch.arange(means.shape[-1], device=device) >= sizes.unsqueeze(-1)
    broken = (~means.isfinite() & ~beyond).any(-1).any(0).tolist()
    fused = (means[0] if ranking is None else ranking).masked_fill(beyond, -torch.inf)
    if decoding.kind == "sample":
        numbers = [
            [uniform(decoding.seed, key_of(choice.reference), k, 0) for k in range(decoding.fills)]
            for choice in choices
        ]
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=device)
        ranks = draw(fused.nan_to_num(), uniforms, decoding.temperature, decoding.top_p)
    else:
        # A stable sort: topk may take any of equals.
        ranks = fused.sort(dim=-1, descending=True, stable=True).indices[:, : decoding.fills]
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
