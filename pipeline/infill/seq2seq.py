"""Synchronized infilling with an encoder-decoder LM (§3.2.2): twins decoded in lockstep."""

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.types import Reference
from pipeline.infill.base import TOO_LONG, InfillRequest
from pipeline.infill.decoder import Lockstep, ModelLockstep
from pipeline.infill.decoding import Limits, key_of
from pipeline.infill.forcing import Forcing
from pipeline.infill.lockstep import LockstepInfiller, TwinInputs
from pipeline.infill.model_forcing import ModelForcing
from pipeline.infill.t5_decoder import T5Lockstep, Weights, is_t5
from pipeline.infill.t5_forcing import T5Forcing
from pipeline.models.language_models import sentinels


class T5Infiller(LockstepInfiller[TwinInputs]):
    """Decodes a fill after ``<extra_id_0>`` until the next sentinel."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> None:
        super().__init__(model, tokenizer, request)
        marks = sentinels(tokenizer)
        self._mask, (first, second) = marks.text, marks.ids[:2]
        self._prompt = [int(model.config.decoder_start_token_id), first]
        stops = {second, tokenizer.eos_token_id} - {None}
        self.stops = tuple(sorted(stops))
        self._weights = Weights.of(model) if is_t5(model) else None

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[TwinInputs | str]:
        texts = self._twins(references, self._mask, [1] * len(references))
        parts = [[each.ids for each in self._tokenized(part)] for part in texts]
        return [
            TOO_LONG
            if max(map(len, inputs)) > self.limit
            else TwinInputs(inputs, Limits.around(count), key_of(reference), self._width)
            for reference, count, inputs in zip(
                references, counts, zip(*parts, strict=True), strict=True
            )
        ]

    def _lockstep(self, sources: Sequence[TwinInputs]) -> Lockstep:
        pad, inputs = int(self.tokenizer.pad_token_id), [source.inputs for source in sources]
        if self._weights is None:
            return ModelLockstep(self.model, inputs, self._prompt, pad)
        return T5Lockstep(self._weights, inputs, self._prompt, pad)

    def forcing(self, sources: Sequence[TwinInputs]) -> Forcing[Any]:
        """A decoder of given fills of these, which are in ascending order of ``tokens``."""
        pad, inputs = int(self.tokenizer.pad_token_id), [source.inputs for source in sources]
        if self._weights is None:
            return ModelForcing(self.model, inputs, self._prompt, pad)
        return T5Forcing(self._weights, inputs, self._prompt, pad)
