"""The output layer of a T5: scores over the vocabulary in fp32, whatever the weights are in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


class Head:
    """Scores of the next token from the decoder's states.

    Args:
        layer: the model's output layer.
    """

    def __init__(self, layer: Any) -> None:
        weight: Tensor = layer.weight
        # bf16 scores tie at the top in a few percent of steps: the output layer's are in fp32.
        self._narrow = weight.dtype == torch.bfloat16
        if self._narrow and not weight.is_cuda:
            weight = weight.T.float().contiguous().T  # laid out as the product reads it
        self._weight = weight if weight.is_cuda else weight.float()
        self._bias: Tensor | None = getattr(layer, "bias", None)
        self._buffer = torch.zeros(0, device=weight.device)
        self.vocabulary = len(weight)

    def __call__(self, states: Tensor) -> Tensor:
        """Scores ``[rows, V]`` from states ``[rows, d_model]``; valid until the next call."""
        if self._weight.dtype != torch.float32:
            found = torch.mm(states, self._weight.T, out_dtype=torch.float32)
        else:
            # A fresh buffer of this size would cost page faults at every step.
            if len(self._buffer) < len(states):
                shape = len(states), self.vocabulary
                self._buffer = torch.empty(shape, device=states.device)
            with _products_of_bf16(self._narrow):
                found = torch.mm(states.float(), self._weight.T, out=self._buffer[: len(states)])
        return found if self._bias is None else found.add_(self._bias)


@contextmanager
def _products_of_bf16(narrow: bool) -> Iterator[None]:
    """Let a CPU that can multiply bf16 numbers and add them up in fp32 do so.

    Of numbers that came from bf16, states and weights both, nothing is rounded that was not before.
    """
    if not narrow:
        yield
        return
    backend: Any = torch.backends.mkldnn  # whose stubs lack this
    was = backend.matmul.fp32_precision
    backend.matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        backend.matmul.fp32_precision = was
