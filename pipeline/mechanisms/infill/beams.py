"""Synchronized beam search: the most probable fills of twins, written in lockstep.

The loop is our own because processors in the beam search of common libraries see log-probabilities
of one context, where Eq. 2 wants the minimum of two contexts' scores before the softmax.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pipeline.mechanisms.infill.lockstep import COMPACT_AT, Lockstep
from pipeline.mechanisms.infill.trace import Limits, Step, Trace, steps_of
from pipeline.mechanisms.sync import Synchronizer

__all__ = ["BeamSearch"]


@dataclass
class _Search:
    """The search for one reference: its beams, best first, and the fills that have ended."""

    limits: Limits
    beams: list[Trace]
    sums: list[float]
    found: list[tuple[float, Trace]] = field(default_factory=list)
    done: bool = False


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Beam search over the log-softmax of synchronized scores.

    A search ends with as many ended fills as beams, or at the greatest length. Fills are ranked by
    the mean log-probability of what was written, the end included where there is one; without the
    end a fill would gain by stopping where the model would go on. With one beam this is Eq. 2.

    Attributes:
        width: B, beams per reference.
        stops: tokens that end a fill, which count as one and the same.
        synchronizer: f of Eq. 2.
    """

    width: int
    stops: tuple[int, ...]
    synchronizer: Synchronizer

    def run(self, state: Lockstep, limits: Sequence[Limits]) -> list[list[Trace]]:
        """Distinct fills of every reference, best first: at least B if there are so many.

        Args:
            state: a decoder with B hypotheses for each reference.
            limits: the allowed lengths of each reference's fills.
        """
        fresh = [0.0] + [-torch.inf] * (self.width - 1)  # B equal beginnings would stay equal
        searches = [_Search(each, [Trace()] * self.width, fresh) for each in limits]
        live = searches
        length = 0
        while True:
            parents, tokens = self._advance(state, live, length)
            length += 1
            if all(search.done for search in live):
                break
            state.reorder(parents)
            state.extend(tokens)
            left = [i for i, search in enumerate(live) if not search.done]
            if len(left) <= COMPACT_AT * len(live):
                rows = torch.tensor(left, device=tokens.device).unsqueeze(-1) * self.width
                state.keep((rows + torch.arange(self.width, device=tokens.device)).flatten())
                live = [live[i] for i in left]
        ranked = [sorted(s.found, key=lambda scored: -scored[0]) for s in searches]
        return [[trace for _, trace in found] for found in ranked]

    def _advance(
        self, state: Lockstep, live: Sequence[_Search], length: int
    ) -> tuple[Tensor, Tensor]:
        """One token more on every beam: the rows they go on from, and the tokens, ``[rows]``."""
        scores = self.synchronizer.join(*state.logits())
        short = [search.limits.shortest > length for search in live]
        sums = torch.tensor([search.sums for search in live], device=scores.fused.device)
        totals = sums.unsqueeze(-1) + self._log_probabilities(scores.fused, short)
        vocabulary = totals.shape[-1]
        # One end per beam at most: 2B candidates hold B that go on.
        best = totals.flatten(1).topk(min(2 * self.width, totals[0].numel()))
        parents, tokens = best.indices // vocabulary, best.indices % vocabulary
        first = torch.arange(len(live), device=tokens.device).unsqueeze(-1) * self.width
        steps = list(steps_of(scores.of(tokens, first + parents)))
        beams: list[tuple[int, int]] = []
        places = zip(best.values.tolist(), parents.tolist(), strict=True)
        for i, (search, (values, origins)) in enumerate(zip(live, places, strict=True)):
            own = steps[i * len(values) : (i + 1) * len(values)]
            chosen = self._choose(search, list(zip(values, origins, own, strict=True)), length)
            beams += [(i * self.width + origin, token) for origin, token in chosen]
        rows, following = torch.tensor(beams, device=tokens.device).unbind(-1)
        return rows, following

    def _log_probabilities(self, fused: Tensor, short: Sequence[bool]) -> Tensor:
        """Log-softmax ``[references, B, V]`` with one end, which short fills may not have."""
        log_p = fused.log_softmax(-1).view(len(short), self.width, -1)
        stops = list(self.stops)
        end = log_p[..., stops].amax(-1)
        log_p[..., stops] = -torch.inf
        may_not = torch.tensor(short, device=fused.device).unsqueeze(-1)
        log_p[..., self.stops[0]] = end.masked_fill(may_not, -torch.inf)
        return log_p

    def _choose(
        self, search: _Search, candidates: Sequence[tuple[float, int, Step]], length: int
    ) -> list[tuple[int, int]]:
        """Sort one reference's candidates into ended fills and new beams.

        Args:
            search: the reference's state, which is brought up to date.
            candidates: sum of log-probabilities, old beam and step of each, best first.
            length: tokens written before this one.

        Returns:
            Old beam and token of each of the B new beams.
        """
        idle = [(beam, 0) for beam in range(self.width)]
        if search.done:
            return idle
        going: list[tuple[float, int, Step]] = []
        for rank, (total, origin, step) in enumerate(candidates):
            if total == -torch.inf:
                break
            if step.token == self.stops[0]:
                if rank < self.width:
                    search.found.append((total / (length + 1), search.beams[origin]))
            elif len(going) < self.width:
                going.append((total, origin, step))
        longest = search.limits.longest
        traces = [search.beams[origin].then(step, longest) for _, origin, step in going]
        if length + 1 == longest:
            ends = [
                (total / longest, trace) for (total, _, _), trace in zip(going, traces, strict=True)
            ]
            search.found += ends
        search.done = length + 1 == longest or len(search.found) >= self.width or not going
        spare = self.width - len(going)
        search.beams = [*traces, *[Trace()] * spare]
        search.sums = [total for total, _, _ in going] + [-torch.inf] * spare
        return [(origin, step.token) for _, origin, step in going] + idle[:spare]
