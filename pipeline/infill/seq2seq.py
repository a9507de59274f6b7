"""Synchronized infilling with an encoder-decoder LM (§3.2.2): twins decoded in lockstep."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.types import Reference
from pipeline.infill.base import TOO_LONG, Fill, Infiller, InfillRequest
from pipeline.infill.beam_search import BeamSearch
from pipeline.infill.decoder import Lockstep, ModelLockstep
from pipeline.infill.decoding import Limits, key_of
from pipeline.infill.forcing import Forcing
from pipeline.infill.model_forcing import ModelForcing
from pipeline.infill.stepwise import Chooser, Draw, top, write
from pipeline.infill.t5_decoder import T5Lockstep, Weights, is_t5
from pipeline.infill.t5_forcing import T5Forcing
from pipeline.models.language_models import sentinels
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


class LockstepInfiller(Infiller[TwinInputs]):
    """An encoder-decoder that writes a fill token by token, the same for both twins.

    Each token is chosen by the synchronized scores given the tokens before it (Eq. 2), and a fill
    is between a third and three times as long as the reference span (§3.2.2). A sample, too, is
    drawn step by step; the N best come from a beam search over the same scores.

    Attributes:
        mask: what stands for the fill in a text.
        stops: tokens that end a fill.
    """

    mask: str
    stops: tuple[int, ...]

    @abstractmethod
    def _lockstep(self, sources: Sequence[Sequence[list[int]]]) -> Lockstep:
        """A decoder at the start of the fills of these inputs."""

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[TwinInputs | str]:
        texts = self._twins(references, self.mask, [1] * len(references))
        parts = [[each.ids for each in self._tokenized(part)] for part in texts]
        decoding = self.request.decoding
        width = decoding.width if decoding.kind == "n-best" else decoding.fills
        return [
            TOO_LONG
            if max(map(len, inputs)) > self._limit
            else TwinInputs(inputs, Limits.around(count), key_of(reference), width)
            for reference, count, inputs in zip(
                references, counts, zip(*parts, strict=True), strict=True
            )
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[TwinInputs]) -> list[list[Fill]]:
        """Fills of each pair, all written in lockstep."""
        decoding, synchronizer = self.request.decoding, self.request.synchronizer
        # The decoder keeps references of similar length together.
        order = sorted(range(len(batch)), key=lambda i: batch[i].tokens)
        ordered = [batch[i] for i in order]
        limits = [source.limits for source in ordered]
        state = self._lockstep([source.inputs for source in ordered])
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


class T5Infiller(LockstepInfiller):
    """Decodes a fill after ``<extra_id_0>`` until the next sentinel."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> None:
        super().__init__(model, tokenizer, request)
        marks = sentinels(tokenizer)
        self.mask, (first, second) = marks.text, marks.ids[:2]
        self._prompt = [int(model.config.decoder_start_token_id), first]
        stops = {second, tokenizer.eos_token_id} - {None}
        self.stops = tuple(sorted(stops))
        self._weights = Weights.of(model) if is_t5(model) else None

    def _lockstep(self, sources: Sequence[Sequence[list[int]]]) -> Lockstep:
        pad = int(self.tokenizer.pad_token_id)
        if self._weights is None:
            return ModelLockstep(self.model, sources, self._prompt, pad)
        return T5Lockstep(self._weights, sources, self._prompt, pad)

    def forcing(self, sources: Sequence[TwinInputs]) -> Forcing[Any]:
        """A decoder of given fills of these, which are in ascending order of ``tokens``."""
        pad, inputs = int(self.tokenizer.pad_token_id), [source.inputs for source in sources]
        if self._weights is None:
            return ModelForcing(self.model, inputs, self._prompt, pad)
        return T5Forcing(self._weights, inputs, self._prompt, pad)
