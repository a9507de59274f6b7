"""What the validation examples say of a model: how often it is right, and how sure of the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.figures import figure
from pipeline.tasks.protocol import Model
from pipeline.train.distributed import ProcessGroup


@dataclass(frozen=True, slots=True)
class Validation:
    """One look at the validation examples.

    Attributes:
        accuracy: the task's figure in [0, 1]; of coordination the share of coordinators whose outer
            boundary is predicted exactly. An instance that the model cannot score counts as wrong.
        loss: mean negative log-likelihood (natural logarithm) of the annotated answers that can be
            scored. The others have no likelihood under any weights, so they are left out of the mean;
            None where none can be scored.
    """

    accuracy: float
    loss: float | None


def validate(
    model: Model[Any], examples: Sequence[Any], group: ProcessGroup | None = None
) -> Validation:
    """Figure and loss from one pass over the examples, which a group shares."""
    group = group or ProcessGroup(0, 1, model.device)
    parts = group.collect([model.measure(group.share(examples))], group.world)
    scored, loss = sum(part.scored for part in parts), sum(part.loss for part in parts)
    return Validation(figure([part.counts for part in parts]), loss / scored if scored else None)
