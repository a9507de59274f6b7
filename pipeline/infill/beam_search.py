"""Synchronized beam search: the most probable fills of twins, written in lockstep.

The loop is our own because logits processors in the beam search of common libraries see
log-probabilities of one context, whereas Eq. 2 takes the minimum of two contexts' scores before the
softmax.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.infill.decoder import COMPACT_AT, Lockstep
from pipeline.infill.decoding import Limits, Trace
from pipeline.infill.stepwise import Chooser, top
from pipeline.infill.synchronize import ScoredTokens, Synchronizer


class _Log:
    """Beams of all references step by step, and the fills that have ended.

    Tensors are only stored while the search runs: reading one would make a GPU wait.
    """

    def __init__(self, references: int, device: torch.device) -> None:
        self._steps: list[tuple[Tensor, Tensor, Tensor]] = []
        self._ends: list[tuple[tuple[Tensor, ...], int, bool]] = []
        self.broken = torch.zeros(references, dtype=torch.bool, device=device)

    def beams(self, live: Tensor, beams: "_Beams") -> None:
        """The beams of the live references after a step."""
        self._steps.append((live, torch.stack([beams.tokens, beams.parents], -1), beams.scores))

    def ends(self, live: Tensor, mask: Tensor, scores: Tensor, beams: Tensor, *, cut: bool) -> None:
        """Where ``mask`` holds fills have ended, at these beams of the last step logged.

        All but ``live`` are ``[live, candidates]``.
        """
        rows = live.unsqueeze(-1).expand(mask.shape)
        self._ends.append(((mask, rows, scores, beams), len(self._steps), cut))

    def traces(self) -> list[list[Trace]]:
        """Fills of every reference, best first; a single empty one if its scores were NaN."""
        steps = [
            dict(
                zip(live.tolist(), zip(packed.tolist(), scores.tolist(), strict=True), strict=True)
            )
            for live, packed, scores in self._steps
        ]
        broken = self.broken.tolist()
        found: list[list[tuple[float, Trace]]] = [[] for _ in broken]
        for (mask, *ends), count, cut in self._ends:
            for i, score, beam in zip(*(each[mask].tolist() for each in ends), strict=True):
                found[i].append((score, _trace([step[i] for step in steps[:count]], beam, cut)))
        spoiled = [Trace.of([], [torch.nan, torch.nan], cut=False)]
        return [
            [t for _, t in sorted(each, key=lambda s: -s[0])] if each and not spoilt else spoiled
            for each, spoilt in zip(found, broken, strict=True)
        ]


def _trace(
    steps: Sequence[tuple[list[list[int]], list[list[float]]]], beam: int, cut: bool
) -> Trace:
    """The fill whose last token is ``beam``'s at the last of a reference's steps."""
    tokens: list[int] = []
    sums = [0.0] * len(steps[0][1][0])
    for packed, scores in reversed(steps):
        token, parent = packed[beam]
        tokens.append(token)
        sums = [total + each for total, each in zip(sums, scores[beam], strict=True)]
        beam = parent
    return Trace.of(tokens[::-1], [total / len(tokens) for total in sums], cut=cut)


@dataclass(frozen=True, slots=True)
class _Beams:
    """The beams of the live references, best first, ``[live, B]``.

    ``sums`` are total log-probabilities, -inf for a beam that does not exist; ``parents`` the beams
    they go on from; ``scores`` the log-probabilities of their last tokens, ``[live, B, kinds]``.
    """

    sums: Tensor
    tokens: Tensor
    parents: Tensor
    scores: Tensor

    def keep(self, live: Tensor) -> "_Beams":
        """Those of some references."""
        return _Beams(self.sums[live], self.tokens[live], self.parents[live], self.scores[live])


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Beam search over the log-softmax of synchronized scores.

    A search ends when as many fills have ended as there are beams, or at the greatest length. Fills are
    ranked by the mean log-probability of what was written, the end included where there is one; without the
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
            state: a decoder at its start.
            limits: the allowed lengths of each reference's fills.
        """
        chooser = Chooser(self.synchronizer, self.stops, one_stop=True)
        states = state.start()
        device = states.device
        state.widen(self.width)
        bounds = torch.tensor([[each.shortest, each.longest] for each in limits], device=device)
        live = torch.arange(len(limits), device=device)
        # Before the first token all beams of a reference are the same one.
        sums = torch.zeros(len(limits), 1, device=device)
        found = torch.zeros(len(limits), dtype=torch.long, device=device)
        log = _Log(len(limits), device)
        step = 0
        while True:
            shortest, longest = bounds.unbind(-1)
            short = (shortest > step).repeat_interleave(sums.shape[1])
            scored = chooser.choose(state, states, short, lambda _, f: top(f, 2 * self.width))
            step += 1
            beams, ended = self._advance(scored, sums, live, step, log)
            last = longest <= step
            going = beams.sums > -torch.inf
            places = torch.arange(self.width, device=device).expand(going.shape)
            log.ends(live, going & last.unsqueeze(-1), beams.sums / step, places, cut=True)
            found = found + ended
            on = ~last & (found < self.width) & going[:, 0]
            alive = on.nonzero().squeeze(-1)
            if not len(alive):
                return log.traces()
            # A finished search stays in the batch without beams until the batch is compacted.
            beams.sums[~on] = -torch.inf
            if len(alive) <= COMPACT_AT * len(live):
                state.keep(alive)
                live, bounds, found, beams = (
                    live[alive], bounds[alive], found[alive], beams.keep(alive)
                )  # fmt: skip
            sums = beams.sums
            states = state.advance(beams.tokens, beams.parents if step > 1 else None)

    def _advance(
        self, scored: ScoredTokens, sums: Tensor, live: Tensor, step: int, log: _Log
    ) -> tuple[_Beams, Tensor]:
        """One token more on every beam, and how many fills of each reference ended, ``[live]``."""
        shape = *sums.shape, -1
        gains = scored.fused.view(shape)
        totals = gains + sums.unsqueeze(-1)
        # Tokens of a beam that does not exist are not candidates.
        totals = totals.masked_fill((sums == -torch.inf).unsqueeze(-1), -torch.inf).flatten(1)
        # One end per beam at most: 2B candidates hold B that go on.
        best = totals.topk(2 * self.width)
        log.broken[live] |= best.values.isnan().any(-1)
        tokens = scored.tokens.view(len(sums), -1).gather(1, best.indices)
        parents = best.indices // gains.shape[-1]
        possible = best.values > -torch.inf
        end = possible & (tokens == self.stops[0])
        ended = end & (torch.arange(2 * self.width, device=end.device) < self.width)
        log.ends(live, ended, best.values / step, parents, cut=False)
        going = possible & ~end
        order = torch.argsort(going.int(), dim=-1, descending=True, stable=True)[:, : self.width]
        places = best.indices.gather(1, order)
        beams = _Beams(
            best.values.gather(1, order).where(going.gather(1, order), -torch.inf),
            tokens.gather(1, order),
            parents.gather(1, order),
            torch.stack([kind.view(len(sums), -1).gather(1, places) for kind in scored.kinds], -1),
        )
        log.beams(live, beams)
        return beams, ended.sum(-1)
