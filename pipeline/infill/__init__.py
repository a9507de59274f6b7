"""Text infilling: one protocol, one module per model family (§3.2)."""

from typing import Any

import torch

from pipeline.core.device import best_device
from pipeline.core.errors import ModelError
from pipeline.core.settings import DecodingSettings, Family
from pipeline.infill.attested import Ranker
from pipeline.infill.base import Fill, Infiller, Task
from pipeline.infill.batching import fill
from pipeline.infill.decoding import Decoding
from pipeline.infill.masked_lm import BertInfiller
from pipeline.infill.masked_ranker import BertRanker
from pipeline.infill.seq2seq import T5Infiller
from pipeline.infill.seq2seq_ranker import T5Ranker
from pipeline.infill.synchronize import Synchronizer
from pipeline.models.language_models import load_language_model, warn_of_slow_bf16

__all__ = [
    "BertInfiller",
    "Decoding",
    "Fill",
    "Infiller",
    "T5Infiller",
    "Task",
    "fill",
    "load_infiller",
    "load_ranker",
    "task_of",
]


def load_infiller(
    lm: Family,
    where: str,
    task: Task,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Infiller[Any]:
    """The Infiller of a model family.

    Args:
        lm: the family: masked LM or encoder-decoder with sentinels.
        where: what to hand to ``from_pretrained``.
        task: coordinator, synchronization and decoding.
        dtype: number format of the weights.
        device: where the model runs; None: the GPU if there is one.

    Raises:
        ModelError: the checkpoint lacks a mask token or sentinels, or cannot be loaded.
    """
    device = device or best_device()
    warn_of_slow_bf16(dtype, device)
    model, tokenizer = load_language_model(lm, where, dtype)
    try:
        model.to(device)  # type: ignore[arg-type]
        return (BertInfiller if lm == "bert" else T5Infiller)(model, tokenizer, task)
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"{where!r} does not fit into the memory of {device}",
            remedy="use --dtype bfloat16, or a device with more memory",
        ) from error


def load_ranker(
    lm: Family,
    where: str,
    task: Task,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Ranker[Any]:
    """The Ranker of a model family: see ``load_infiller``."""
    infiller = load_infiller(lm, where, task, dtype=dtype, device=device)
    return BertRanker(infiller) if lm == "bert" else T5Ranker(infiller)


def task_of(settings: DecodingSettings) -> Task:
    """The task that the settings of ``generate`` or ``fill`` describe.

    Raises:
        SettingsError: the decoding cannot give so many fills.
    """
    fields = {"temperature", "top_p", "beams", "seed"}
    decoding = Decoding(settings.decoding, settings.n, **settings.model_dump(include=fields))
    synchronizer = Synchronizer(settings.synchronize, settings.scores)
    return Task(settings.coordinator, synchronizer, settings.sync, decoding)
