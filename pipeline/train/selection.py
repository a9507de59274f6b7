"""Which weights become the predictor: those of the best validation (§5.1), or by another rule.

A rule is a class here, a line in ``SELECTIONS`` and its name among the choices of ``select`` in
``settings.py``. Whatever the rule, the weights are those that are validated:
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pipeline.train.optimizer import Schedule
from pipeline.train.validation import Validation


class WeightSelection(ABC):
    """The choice among the weights at the validations of a run.

    Args:
        schedule: the run's steps, warm steps and patience.

    Attributes:
        step: the update of the weights chosen so far; 0 before there are any.
        found: what validation said of them.
        stalled: whether training may end before all steps are made.
        needs_loss: whether it cannot do without a validation loss.
        validates: whether the chosen weights are those of a validation, so that ``found`` is theirs.
    """

    needs_loss: ClassVar[bool] = False
    validates: ClassVar[bool] = True

    def __init__(self, schedule: Schedule) -> None:
        self.step, self.found, self.stalled = 0, Validation(-1.0, None), False
        self._schedule = schedule
        self._weights: dict[str, Tensor] = {}

    @abstractmethod
    def look(self, step: int, found: Validation, model: nn.Module) -> None:
        """Take note of a validation after ``step`` updates and of the weights that were validated."""

    @abstractmethod
    def describe(self, figure: str) -> str:
        """What was chosen, in words; ``figure`` is the task's name of its figure."""

    @property
    def weights(self) -> dict[str, Tensor]:
        """The chosen weights, by the names of ``state_dict``."""
        return self._weights

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The part of its state that is tensors."""
        return self._weights

    @property
    def state(self) -> dict[str, Any]:
        """The rest of its state; JSON can hold it."""
        found = [self.found.accuracy, self.found.loss]
        return {"step": self.step, "found": found, "stalled": self.stalled}

    def restore(self, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Go on from ``tensors`` and a ``state``."""
        self._weights = dict(tensors)
        self.step, self.found = state["step"], Validation(*state["found"])
        self.stalled = state["stalled"]

    def _take(self, step: int, found: Validation, model: nn.Module) -> None:
        self.step, self.found = step, found
        self._weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}

    def _passed(self, step: int, improved: int) -> bool:
        """Whether patience is at an end; steps within ``warm_steps`` are not counted as passed.

        §5.1: "for 1,000 steps after the initial 1,000 steps".
        """
        return step - max(improved, self._schedule.warm_steps) >= self._schedule.patience


class BestAccuracy(WeightSelection):
    """The best validation accuracy, the earliest of equals, warm steps included: the paper's rule."""

    def look(self, step: int, found: Validation, model: nn.Module) -> None:
        """Keep the weights if the accuracy is higher than any before."""
        if found.accuracy > self.found.accuracy:
            self._take(step, found, model)
        self.stalled = self._passed(step, self.step)

    def describe(self, figure: str) -> str:
        """What was chosen, in words; ``figure`` is the task's name of its figure."""
        return f"best validation {figure} {self.found.accuracy:.4f} at step {self.step}"


class LeastLoss(WeightSelection):
    """The least validation loss, the latest of equals; patience waits for a lower one."""

    needs_loss: ClassVar[bool] = True

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule)
        self._improved = 0

    def look(self, step: int, found: Validation, model: nn.Module) -> None:
        """Keep the weights if no loss before is lower."""
        assert found.loss is not None  # noqa: S101 - read_data has refused such validation sentences
        least = self.found.loss
        if least is None or found.loss < least:
            self._improved = step
        if least is None or found.loss <= least:
            self._take(step, found, model)
        self.stalled = self._passed(step, self._improved)

    def describe(self, figure: str) -> str:
        """What was chosen, in words; ``figure`` is the task's name of its figure."""
        return (
            f"validation {figure} {self.found.accuracy:.4f} at step {self.step}, "
            f"that of the least validation loss ({self.found.loss:.4f})"
        )

    @property
    def state(self) -> dict[str, Any]:
        """With the step of the last lower loss."""
        return {**super().state, "improved": self._improved}

    def restore(self, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Go on from ``tensors`` and a ``state``."""
        super().restore(tensors, state)
        self._improved = state["improved"]


class LastWeights(WeightSelection):
    """The weights after the last update; no criterion, so patience does not apply."""

    def look(self, step: int, found: Validation, model: nn.Module) -> None:
        """Keep the weights if these are the last."""
        if step == self._schedule.steps:
            self._take(step, found, model)

    def describe(self, figure: str) -> str:
        """What was chosen, in words; ``figure`` is the task's name of its figure."""
        return f"validation {figure} {self.found.accuracy:.4f} at the last step, {self.step}"


class MeanWeights(WeightSelection):
    """The mean of the weights at the validations in the second half of the updates after line 1.

    Stochastic weight averaging (Izmailov et al. 2018): the mean of weights from along the way lies in
    a flatter place than any of them. Taken are validations at step > warm + (steps - warm) / 2, and the
    last in any case. Sums are float64; what is no floating-point number is the last's. Patience does not
    apply.
    """

    validates: ClassVar[bool] = False

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule)
        self._steps: list[int] = []
        self._sums: dict[str, Tensor] = {}
        self._types: dict[str, torch.dtype] = {}

    def look(self, step: int, found: Validation, model: nn.Module) -> None:
        """Add the weights to the sum if it is time."""
        steps, warm = self._schedule.steps, self._schedule.warm_steps
        if 2 * step <= steps + warm and step < steps:
            return
        self.step, self.found = step, found
        self._steps.append(step)
        for name, value in model.state_dict().items():
            here = value.detach().cpu()
            if not here.is_floating_point():
                self._sums[name] = here.clone()
            elif name in self._sums:
                self._sums[name] += here.double()
            else:
                self._sums[name] = here.double().clone()
            self._types[name] = here.dtype

    def describe(self, figure: str) -> str:
        """What was chosen, in words; ``figure`` is the task's name of its figure."""
        count, first = len(self._steps), self._steps[0]
        return (
            f"validation {figure} {self.found.accuracy:.4f} of the mean of the weights at {count} "
            f"validation{'' if count == 1 else 's'}, steps {first} to {self.step}"
        )

    @property
    def weights(self) -> dict[str, Tensor]:
        """The means, each in the type of the weight."""
        count = len(self._steps)
        return {
            name: (value / count).to(self._types[name]) if value.is_floating_point() else value
            for name, value in self._sums.items()
        }

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The sums, in float64."""
        return self._sums

    @property
    def state(self) -> dict[str, Any]:
        """With the steps summed, and the weights' own types."""
        types = {name: str(kind).removeprefix("torch.") for name, kind in self._types.items()}
        return {**super().state, "steps": self._steps, "types": types}

    def restore(self, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Go on from ``tensors`` and a ``state``."""
        super().restore({}, state)
        self._sums = {name: value.cpu() for name, value in tensors.items()}
        self._steps = list(state["steps"])
        self._types = {name: getattr(torch, kind) for name, kind in state["types"].items()}


SELECTIONS: dict[str, type[WeightSelection]] = {
    "accuracy": BestAccuracy, "loss": LeastLoss, "last": LastWeights, "average": MeanWeights,
}  # fmt: skip
