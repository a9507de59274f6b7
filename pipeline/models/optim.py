"""What training needs beside torch: groups for weight decay, averaged weights, evaluation mode."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups for AdamW: matrices decay, biases and layer norms do not.

    The paper does not say; this is the field's practice.
    """
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed what is drawn on a device, as ``torch.manual_seed`` does for all kinds of device.

    Where there is no GPU that notes a stack trace for each kind it knows, for a later start: a
    millisecond every time, kept for good.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode (no dropout) inside the block; then every module in the mode it was in."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
