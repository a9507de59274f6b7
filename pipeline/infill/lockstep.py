"""Synchronized infilling token by token (§3.2.2): what all models share that write twins in lockstep."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from pipeline.infill.base import Fill, Infiller
from pipeline.infill.beam_search import BeamSearch
from pipeline.infill.decoder import Lockstep
from pipeline.infill.decoding import Limits
from pipeline.infill.stepwise import Chooser, Draw, top, write
from pipeline.models.sampling import draw, uniform


@dataclass(frozen=True, slots=True)
class TwinInputs:
    """Token ids of S′(1) and, with synchronization, S′(2); fill lengths; key; hypotheses."""

    inputs: tuple[list[int], ...]
    limits: Limits
    key: str
    width: int

    @property
    def order(self) -> tuple[int, ...]:
        """Steps at most, then tokens to read."""
        return self.limits.longest, self.tokens

    @property
    def read(self) -> int:
        """Tokens of both twins."""
        return sum(map(len, self.inputs))

    @property
    def rows(self) -> int:
        """Twins times half the hypotheses, which share what the encoder read."""
        return len(self.inputs) * -(-self.width // 2)

    @property
    def tokens(self) -> int:
        """Tokens of the longer twin."""
        return max(map(len, self.inputs))


_Inputs = TypeVar("_Inputs", bound=TwinInputs)


class LockstepInfiller(Infiller[_Inputs]):
    """A language model that writes a fill token by token, the same for both twins.

    Each token is chosen by the synchronized scores given the tokens before it (Eq. 2), and a fill
    is between a third and three times as long as the reference span (§3.2.2). A sample, too, is
    drawn step by step; the N best come from a beam search over the same scores.

    Attributes:
        stops: tokens that end a fill.
    """

    stops: tuple[int, ...]

    @abstractmethod
    def _lockstep(self, sources: Sequence[_Inputs]) -> Lockstep:
        """A decoder at the start of the fills of these, which are in ascending order of ``tokens``."""

    @property
    def _width(self) -> int:
        """Hypotheses of each reference."""
        decoding = self.request.decoding
        return decoding.width if decoding.kind == "n-best" else decoding.fills

    @torch.inference_mode()
    def decode(self, batch: Sequence[_Inputs]) -> list[list[Fill]]:
        """Fills of each pair, all written in lockstep."""
        decoding, synchronizer = self.request.decoding, self.request.synchronizer
        # The decoder keeps references of similar length together.
        order = sorted(range(len(batch)), key=lambda i: batch[i].tokens)
        ordered = [batch[i] for i in order]
        limits = [source.limits for source in ordered]
        state = self._lockstep(ordered)
        if decoding.kind == "n-best":
            traces = BeamSearch(decoding.width, self.stops, synchronizer).run(state, limits)
        else:
            chooser = Chooser(synchronizer, self.stops)
            traces = write(state, limits, decoding.fills, chooser, self._drawer(ordered))
        fills: list[list[Fill]] = [[]] * len(batch)
        for i, found in zip(order, traces, strict=True):
            fills[i] = [self._finish(trace) for trace in found[: decoding.fills]]
        return fills

    def _drawer(self, sources: Sequence[TwinInputs]) -> Draw:
        decoding = self.request.decoding

        def draw_one(fused: Tensor, places: Sequence[tuple[int, int]], step: int) -> Tensor:
            numbers = [uniform(decoding.seed, sources[i].key, k, step) for i, k in places]
            uniforms = torch.tensor(numbers, dtype=torch.float64, device=fused.device)
            return draw(fused, uniforms.unsqueeze(-1), decoding.temperature, decoding.top_p)

        return (
            (lambda fused, _places, _step: top(fused, 1)) if decoding.kind == "greedy" else draw_one
        )
