"""Weight decay where it belongs: on matrices, not on biases and layer norms."""

from typing import Any

from torch import nn

__all__ = ["decay_groups"]


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups for AdamW (the paper does not say; this is the field's practice)."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
