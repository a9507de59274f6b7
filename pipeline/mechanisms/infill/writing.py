"""Fills written token by token, each chosen by the scores given those before: greedy or drawn."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pipeline.mechanisms.infill.choosing import Chooser
from pipeline.mechanisms.infill.lockstep import COMPACT_AT, Lockstep
from pipeline.mechanisms.infill.trace import Limits, Trace
from pipeline.mechanisms.sync import Scored

__all__ = ["Draw", "write"]

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

    def add(self, step: int, live: Tensor, scored: Scored, goes_on: Tensor, broken: Tensor) -> None:
        """One token more for the live references where the fill goes on, ``[live, fills]``."""
        self._tokens[step, live] = scored.tokens.view(goes_on.shape)
        kinds = [scored.fused, scored.append, scored.prepend]
        for kind, each in zip(self._scores, (k for k in kinds if k is not None), strict=True):
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
