"""Text infilling: one protocol, one module per model family (§3.2)."""

from typing import Literal

import torch

from pipeline.mechanisms.infill.base import Fill, Infiller
from pipeline.mechanisms.infill.bert import BertInfiller
from pipeline.mechanisms.infill.t5 import T5Infiller
from pipeline.mechanisms.sync import Synchronizer

__all__ = ["BertInfiller", "Fill", "Infiller", "T5Infiller", "load_infiller"]


def load_infiller(
    lm: Literal["bert", "t5"],
    where: str,
    *,
    coordinator: str,
    synchronizer: Synchronizer,
    sync: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> Infiller:
    """The Infiller of a model family.

    Args:
        lm: the family: masked LM or encoder-decoder with sentinels.
        where: what to hand to ``from_pretrained``.
        coordinator: the word that links the conjuncts.
        synchronizer: f of Eq. 1 and 2.
        sync: False fills S′(1) alone.
        dtype: number format of the weights.
        device: where the model runs.

    Raises:
        ModelError: the checkpoint lacks a mask token or sentinels, or cannot be loaded.
    """
    family = BertInfiller if lm == "bert" else T5Infiller
    return family.load(where, coordinator, synchronizer, sync=sync, dtype=dtype, device=device)
