"""What training needs beside torch: groups for weight decay, averaged weights, evaluation mode."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn


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


_Model = TypeVar("_Model", bound=nn.Module)


class Average(Generic[_Model]):
    """The exponential moving average of a model's weights over its updates, bias-corrected.

    It scores more steadily than the weights after the last update.

    After update t it is Σ β^(t-s) w_s / Σ β^(t-s) over s = 1 … t, so the weights before the first
    update do not count, and early averages are not drawn to zero.

    Args:
        model: the model that is trained; buffers are taken as constant.
        decay: β, in [0, 1).
        shared: parts of the model that need no copy, such as its tokenizer.

    Attributes:
        model: a copy in evaluation mode whose weights are the average.
    """

    def __init__(self, model: _Model, decay: float, *shared: object) -> None:
        self.model = copy.deepcopy(model, {id(part): part for part in shared})
        self.model.eval().requires_grad_(False)
        self._source, self._decay = model, decay
        self._power = 1.0  # β^t

    @property
    def state(self) -> tuple[dict[str, Tensor], float]:
        """What ``restore`` needs: the averaged weights and β^t."""
        return dict(self.model.state_dict()), self._power

    def restore(self, weights: Mapping[str, Tensor], power: float) -> None:
        """Go on from a ``state``."""
        self.model.load_state_dict(weights)
        self._power = power

    def update(self) -> None:
        """Take the weights of the model as they are after an update."""
        self._power *= self._decay
        share = (1 - self._decay) / (1 - self._power)
        with torch.no_grad():
            weights = zip(self.model.parameters(), self._source.parameters(), strict=True)
            for mean, weight in weights:
                mean.lerp_(weight, share)


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
