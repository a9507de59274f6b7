"""Text infilling with a model of any family (§3.2): ``families`` has one module for each."""

from typing import Any

import torch

from pipeline.core.device import best_device, keep_few_kernels, warn_of_slow_bf16
from pipeline.core.errors import ModelError
from pipeline.core.settings import DecodingSettings
from pipeline.infill.attested import Ranker
from pipeline.infill.base import Fill, Infiller, InfillRequest
from pipeline.infill.batching import fill
from pipeline.infill.decoding import Decoding
from pipeline.infill.families.known import FAMILIES, load_language_model
from pipeline.infill.masked_lm import BertInfiller
from pipeline.infill.rankings.known import ranking_called
from pipeline.infill.seq2seq import T5Infiller
from pipeline.infill.synchronize import Synchronizer

__all__ = [
    "BertInfiller",
    "Decoding",
    "Fill",
    "InfillRequest",
    "Infiller",
    "T5Infiller",
    "fill",
    "load_infiller",
    "load_ranker",
    "request_of",
]


def load_infiller(
    lm: str,
    where: str,
    request: InfillRequest,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Infiller[Any]:
    """The Infiller of a model family.

    Args:
        lm: the name of the family.
        where: what to hand to ``from_pretrained``.
        request: coordinator, synchronization and decoding.
        dtype: number format of the weights.
        device: where the model runs; None: the GPU if there is one.

    Raises:
        ModelError: the checkpoint lacks a mask token or sentinels, cannot be loaded, or cannot be asked so.
    """
    device = device or best_device()
    if dtype == torch.bfloat16:
        keep_few_kernels()
        warn_of_slow_bf16(device)
    model, tokenizer = load_language_model(lm, where, dtype)
    FAMILIES[lm].check_request(tokenizer, request)
    try:
        model.to(device)  # type: ignore[arg-type]
        return FAMILIES[lm].infiller(model, tokenizer, request)
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"{where!r} does not fit into the memory of {device}",
            remedy="use --dtype bfloat16, or a device with more memory",
        ) from error


def load_ranker(
    lm: str,
    where: str,
    request: InfillRequest,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Ranker[Any]:
    """The Ranker of a model family: see ``load_infiller``."""
    return FAMILIES[lm].ranker(load_infiller(lm, where, request, dtype=dtype, device=device))


def request_of(settings: DecodingSettings) -> InfillRequest:
    """What the settings of ``generate`` or ``fill`` ask of a model.

    Raises:
        SettingsError: the decoding cannot give so many fills, or there is no such ranking.
    """
    fields = {"temperature", "top_p", "beams", "seed"}
    decoding = Decoding(settings.decoding, settings.n, **settings.model_dump(include=fields))
    synchronizer = Synchronizer(settings.synchronize, settings.scores)
    ranking = None if settings.ranking is None else ranking_called(settings.ranking)
    return InfillRequest(
        settings.coordinator, synchronizer, settings.sync, decoding, ranking, settings.prompt
    )
