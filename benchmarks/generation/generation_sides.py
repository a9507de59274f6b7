"""The two sides of the generation benchmark: the authors' way, and conjoin's engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteria,
    StoppingCriteriaList,
)

from pipeline.infill import BertInfiller, Decoding, Infiller, InfillRequest, T5Infiller
from pipeline.infill.base import EncodedReference
from pipeline.infill.decoding import Limits
from pipeline.infill.synchronize import Synchronizer
from pipeline.models.tokenizers import token_batch

__all__ = ["AUTHORS_BATCH", "OurBert", "OurT5", "authors_bert", "authors_t5", "ours", "task_of"]

AUTHORS_BATCH = 20


class _AsNumbers:
    """Fills as token ids: random weights write no text."""

    def _text(self, tokens: Sequence[int]) -> tuple[str, str | None]:
        return " ".join(map(str, tokens)), None


class OurT5(_AsNumbers, T5Infiller):
    """conjoin's engine for T5."""

    def force(self, source: Any, length: int) -> Any:
        """The source with a fill of exactly this length."""
        return replace(source, limits=Limits(length, length))

    @property
    def sentinel(self) -> int:
        """What the model writes before a fill."""
        return self._prompt[-1]


class OurBert(_AsNumbers, BertInfiller):
    """conjoin's engine for BERT."""


def ours(
    infiller: Infiller[Any], sources: Sequence[EncodedReference], batches: Sequence[Sequence[int]]
) -> list[str]:
    """Fills of all sources by conjoin's engine, in conjoin's batches."""
    fills = [""] * len(sources)
    for batch in batches:
        decoded = infiller.decode([sources[i] for i in batch])
        for i, found in zip(batch, decoded, strict=True):
            fills[i] = found[0].text
    return fills


class _Synchronized(LogitsProcessor):
    """Both halves of the batch get the minimum of the two; fills neither end early nor begin late.

    The first token must be the sentinel: a trained model writes it by itself.
    """

    def __init__(self, sentinel: int, stops: list[int], *, normalized: bool) -> None:
        self._sentinel, self._stops, self._normalized = sentinel, stops, normalized

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores ``[rows, V]`` of S′(1), then of S′(2)."""
        append, prepend = scores.chunk(2)
        joint = torch.minimum(append, prepend)
        if self._normalized:
            joint = joint.log_softmax(-1)
        if input_ids.shape[1] == 1:
            joint = torch.full_like(joint, -torch.inf)
            joint[:, self._sentinel] = 0
        joint[:, self._stops] = -torch.inf
        return torch.cat([joint, joint])


class _Lengths(StoppingCriteria):
    """Each row stops at its own length, as fills do at the paper's limit."""

    def __init__(self, lengths: Tensor) -> None:
        self._lengths = lengths

    def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:
        """Which rows have as many tokens as they may."""
        width = len(input_ids) // len(self._lengths)
        return self._lengths.repeat_interleave(width) + 2 <= input_ids.shape[1]


@torch.inference_mode()
def authors_t5(
    model: PreTrainedModel,
    sources: Sequence[Any],
    ours: OurT5,
    beams: int,
    *,
    normalized: bool = False,
) -> list[str]:
    """Fills by ``generate``, batches in input order.

    With ``normalized`` the joint scores are made log-probabilities again before they are added up,
    which conjoin's beam search does and the authors' does not.
    """
    fills: list[str] = []
    for start in range(0, len(sources), AUTHORS_BATCH):
        batch = sources[start : start + AUTHORS_BATCH]
        rows = [source.inputs[part] for part in range(2) for source in batch]
        ids, mask = token_batch(rows, int(ours.tokenizer.pad_token_id), model.device)
        lengths = [source.limits.longest for source in batch]
        written = model.generate(  # type: ignore[operator]
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=max(lengths) + 1,
            num_beams=beams,
            do_sample=False,
            early_stopping=beams > 1,
            logits_processor=LogitsProcessorList(
                [_Synchronized(ours.sentinel, list(ours.stops), normalized=normalized)]
            ),
            stopping_criteria=StoppingCriteriaList(
                [_Lengths(torch.tensor(lengths * 2, device=model.device))]
            ),
        )
        for row, length in zip(written.tolist(), lengths, strict=False):
            fills.append(" ".join(map(str, row[2 : 2 + length])))
    return fills


@torch.inference_mode()
def authors_bert(model: PreTrainedModel, sources: Sequence[Any], mask_id: int) -> list[str]:
    """Fills by one forward pass over padded batches in input order, all positions scored."""
    fills: list[str] = []
    for start in range(0, len(sources), AUTHORS_BATCH):
        batch = sources[start : start + AUTHORS_BATCH]
        ids, mask = token_batch([source.ids for source in batch], 0, model.device)
        types, _ = token_batch([source.types for source in batch], 0, model.device)
        logits = model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits
        for row, scores in zip(ids, logits, strict=True):
            append, prepend = scores[row == mask_id].chunk(2)
            fills.append(" ".join(map(str, torch.minimum(append, prepend).argmax(-1).tolist())))
    return fills


def task_of(beams: int) -> InfillRequest:
    """Greedy, or a beam search over log-probabilities as in ``generate``."""
    if beams == 1:
        return InfillRequest()
    return InfillRequest(
        "and", Synchronizer("min", "logprobs"), True, Decoding("n-best", 1, beams=beams)
    )
