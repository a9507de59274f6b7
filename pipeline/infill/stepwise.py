"""Fills written token by token, each chosen by the scores given those before: greedy or drawn.

``Chooser`` goes from decoder states to the tokens that may come next, with their log-probabilities.
The output layer is one large matrix product, but the steps after it read its result several times,
so they work on blocks of hypotheses small enough for a CPU's cache. ``write`` is the loop around it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from pipeline.infill.decoder import COMPACT_AT, Lockstep
from pipeline.infill.decoding import Limits, Trace
from pipeline.infill.synchronize import ScoredTokens, Scores, Synchronizer

Pick = Callable[[int, Tensor], Tensor]
"""Tokens ``[rows, k]`` for the hypotheses from the given one on, of fused scores ``[rows, V]``."""

_PRODUCT = {"cpu": 1 << 25}
_PRODUCT_ELSEWHERE = 1 << 29
"""Scores that one product makes: enough rows for its full speed, few enough for the memory."""

_BLOCK = {"cpu": 1 << 18}
_BLOCK_ELSEWHERE = 1 << 28
"""Scores of each context looked at together."""

_WIDTH = 128


def top(scores: Tensor, count: int) -> Tensor:
    """Indices of the ``count`` greatest of each row, best first: ``[rows, V]`` to ``[rows, count]``.

    A maximum per stretch of the vocabulary costs a tenth of an argmax over it, and only the
    ``count`` stretches with the greatest maxima can hold what is wanted.
    """
    rows, size = scores.shape
    stretches = size // _WIDTH
    if stretches <= count:
        return scores.topk(min(count, size)).indices if count > 1 else scores.argmax(-1, True)
    body = scores[:, : stretches * _WIDTH].view(rows, stretches, _WIDTH)
    maxima = body.amax(-1)
    best = maxima.topk(count).indices if count > 1 else maxima.argmax(-1, True)
    offsets = torch.arange(_WIDTH, device=scores.device)
    places = (best.unsqueeze(-1) * _WIDTH + offsets).flatten(1)
    rest = torch.arange(stretches * _WIDTH, size, device=scores.device)
    places = torch.cat([places, rest.expand(rows, -1)], -1)
    found = scores.gather(1, places)
    chosen = found.topk(count).indices if count > 1 else found.argmax(-1, True)
    return places.gather(1, chosen)


class OutputLayer(Protocol):
    """What makes scores of states: a ``Lockstep`` or a ``Forcing``."""

    vocabulary: int

    def logits(self, states: Tensor, /) -> Tensor:
        """Scores of the next token ``[rows, V]`` from states ``[rows, ...]``; valid until the next."""


def score_blocks(layer: OutputLayer, states: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Scores ``[parts, some rows, V]``, block by block, with the number of the first row.

    Args:
        layer: makes them.
        states: ``[parts, rows, ...]``.
    """
    parts, count = states.shape[:2]
    device = states.device.type
    rows = max(1, _PRODUCT.get(device, _PRODUCT_ELSEWHERE) // (layer.vocabulary * parts))
    few = max(1, _BLOCK.get(device, _BLOCK_ELSEWHERE) // layer.vocabulary)
    for start in range(0, count, rows):
        some = states[:, start : start + rows]
        logits = layer.logits(some.flatten(0, 1)).view(parts, -1, layer.vocabulary)
        for at in range(0, some.shape[1], few):
            yield start + at, logits[:, at : at + few]


@dataclass(frozen=True, slots=True)
class Chooser:
    """Synchronized scores of all hypotheses, and which tokens they favour.

    Attributes:
        synchronizer: f of Eq. 2.
        stops: tokens that end a fill.
        one_stop: whether the stops count as one and the same, the first, with the best one's score.
    """

    synchronizer: Synchronizer
    stops: tuple[int, ...]
    one_stop: bool = False

    def choose(self, state: Lockstep, states: Tensor, short: Tensor, pick: Pick) -> ScoredTokens:
        """Tokens with their log-probabilities, ``[hypotheses, k]``.

        Args:
            state: the decoder.
            states: its states, ``[parts, references, hypotheses of each, ...]``.
            short: which hypotheses may not end yet, ``[hypotheses]``.
            pick: chooses tokens by the fused scores.
        """
        found: list[ScoredTokens] = []
        for first, logits in score_blocks(state, states.flatten(1, 2)):
            may_not = short[first : first + logits.shape[1]]
            found.append(self._of_block(logits, may_not, partial(pick, first)))
        kinds = zip(*(each.kinds for each in found), strict=True)
        return ScoredTokens(torch.cat([each.tokens for each in found]), list(map(torch.cat, kinds)))

    def _of_block(
        self, logits: Tensor, short: Tensor, pick: Callable[[Tensor], Tensor]
    ) -> ScoredTokens:
        scores = self.synchronizer.join(*logits)
        # Of one context these may be its logits themselves, which must stay.
        fused = scores.fused if len(logits) > 1 else scores.fused.clone()
        stops = list(self.stops)
        ends = fused[:, stops]
        if self.one_stop:
            best = ends.amax(-1, keepdim=True)
            ends = torch.full_like(ends, -torch.inf)
            ends[:, :1] = best
        normalizers = self.synchronizer.normalizers(scores)
        fused[:, stops] = ends.masked_fill(short.unsqueeze(-1), -torch.inf)
        return Scores(fused, scores.contexts).of(pick(fused), normalizers)


Draw = Callable[[Tensor, Sequence[tuple[int, int]], int], Tensor]
"""Tokens ``[rows, 1]`` for fused scores ``[rows, V]`` of these samples, each a reference and the
sample's number, after so many tokens."""


class _Record:
    """What was written: tokens and log-probabilities ``[steps, references, fills]``."""

    def __init__(self, limits: Sequence[Limits], width: int, parts: int, device: torch.device):
        shape = max(each.longest for each in limits), len(limits), width
        self._limits = limits
        self._tokens = torch.zeros(shape, dtype=torch.long, device=device)
        self._scores = torch.zeros((parts + 1, *shape), device=device)
        self._lengths = torch.zeros(shape[1:], dtype=torch.long, device=device)
        self._broken = torch.zeros(shape[1:], dtype=torch.bool, device=device)

    def add(
        self, step: int, live: Tensor, scored: ScoredTokens, goes_on: Tensor, broken: Tensor
    ) -> None:
        """One token more for the live references where the fill goes on, ``[live, fills]``."""
        self._tokens[step, live] = scored.tokens.view(goes_on.shape)
        for kind, each in zip(self._scores, scored.kinds, strict=True):
            kind[step, live] = each.view(goes_on.shape)
        self._lengths[live] += goes_on
        self._broken[live] |= broken

    def traces(self) -> list[list[Trace]]:
        """All fills."""
        steps = torch.arange(len(self._tokens), device=self._lengths.device).view(-1, 1, 1)
        written = self._scores.double().where(steps < self._lengths, 0).sum(1) / self._lengths
        means = written.masked_fill(self._broken, torch.nan).permute(1, 2, 0).tolist()
        lengths, tokens = self._lengths.tolist(), self._tokens.permute(1, 2, 0).tolist()
        return [
            [
                Trace.of(tokens[i][j][:length], means[i][j], cut=length == each.longest)
                for j, length in enumerate(lengths[i])
            ]
            for i, each in enumerate(self._limits)
        ]


def write(
    state: Lockstep, limits: Sequence[Limits], width: int, chooser: Chooser, draw: Draw
) -> list[list[Trace]]:
    """``width`` fills of every reference.

    A fill ends with a stop, at its greatest length, or with a score that is not finite.

    Args:
        state: a decoder at its start.
        limits: the allowed lengths of each reference's fills.
        width: fills per reference.
        chooser: makes the scores.
        draw: chooses by them.
    """
    states = state.start()
    state.widen(width)
    states = states.expand(-1, -1, width, -1)
    device = states.device
    record = _Record(limits, width, state.parts, device)
    stops = torch.tensor(chooser.stops, device=device)
    bounds = torch.tensor([[each.shortest, each.longest] for each in limits], device=device)
    live = torch.arange(len(limits), device=device)
    done = torch.zeros(len(limits), width, dtype=torch.bool, device=device)
    places = [(i, sample) for i in range(len(limits)) for sample in range(width)]
    step = 0

    def pick(first: int, fused: Tensor) -> Tensor:
        return draw(fused, places[first : first + len(fused)], step)

    while True:
        shortest, longest = bounds.unbind(-1)
        scored = chooser.choose(state, states, (shortest > step).repeat_interleave(width), pick)
        tokens = scored.tokens.view(-1, width)
        broken = ~done & ~scored.fused.view(-1, width).isfinite()
        goes_on = ~(done | broken | torch.isin(tokens, stops))
        record.add(step, live, scored, goes_on, broken)
        step += 1
        done = ~goes_on | (longest <= step).unsqueeze(-1)
        alive = (~done.all(-1)).nonzero().squeeze(-1)
        if not len(alive):
            return record.traces()
        if len(alive) <= COMPACT_AT * len(live):
            state.keep(alive)
            live, done, tokens, bounds = live[alive], done[alive], tokens[alive], bounds[alive]
            places = [(i, sample) for i in live.tolist() for sample in range(width)]
        states = state.advance(tokens)
