"""The processes that train one predictor together, and the number format they compute in.

They share the work of a batch, never its composition: every process draws the same candidates and
examples, encodes its part of them, and gets what the others made of theirs. So Algorithm 1 examines
and accepts in the order of one process, and its recipe (N_batch, learning rate, steps) is that of one
process, however many GPUs there are. Sums come in another order, which changes the last digits.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar, cast

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn

from pipeline.core.device import products_in, warn_of_slow_bf16
from pipeline.core.settings import Precision

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """This process as one of ``world`` that train together.

    Attributes:
        rank: its number, from 0.
        world: how many there are.
        device: where it computes.
        precision: ``bf16``: matrix products in bfloat16, weights and sums in float32.
    """

    rank: int
    world: int
    device: torch.device
    precision: Precision = "no"

    @classmethod
    def gather(cls, rank: int, world: int, device: torch.device, precision: Precision) -> Self:
        """The group of a process that was launched, or of one that works alone.

        Raises:
            SettingsError: the GPU has no bfloat16.
        """
        products_in(precision, device)  # refused before an hour of other work
        if precision == "bf16" and rank == 0:
            warn_of_slow_bf16(device)
        return cls(rank, world, device, precision)

    def alone(self) -> Self:
        """The same process, for work that every process does by itself."""
        return replace(self, rank=0, world=1)

    @property
    def first(self) -> bool:
        """Whether this process writes files and messages for the group."""
        return self.rank == 0

    def share(self, items: Sequence[_T]) -> Sequence[_T]:
        """This process's part: every ``world``-th item from ``rank`` on."""
        return items[self.rank :: self.world]

    def collect(self, own: Sequence[_T], count: int) -> list[_T]:
        """The parts of all processes, ``count`` items in their order; every process gets them."""
        if self.world == 1:
            return list(own)
        whole: list[Any] = [None] * count
        for rank, part in enumerate(gather_object([list(own)])):
            whole[rank :: self.world] = part
        return whole

    def total(self, value: Tensor) -> Tensor:
        """The sum of a number over all processes."""
        if self.world == 1:
            return value
        return cast(Tensor, _accelerator().reduce(value, "sum"))

    def autocast(self) -> AbstractContextManager[Any]:
        """A block whose matrix products are in the group's number format."""
        return products_in(self.precision, self.device)

    def wrap(self, model: nn.Module) -> Callable[..., Any]:
        """The model's forward; gradients of its result are averaged over all processes (DDP)."""
        if self.world == 1:
            return model
        return cast(Callable[..., Any], _accelerator().prepare_model(model))


def _accelerator() -> Accelerator:
    # Of accelerate's state of this process; the number format is set in ``autocast``.
    return Accelerator(cpu=not torch.cuda.is_available())
