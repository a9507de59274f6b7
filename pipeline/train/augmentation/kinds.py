"""The kinds of augmentation.

A new kind is a module beside ``copies``, a line in ``_EVERY_TASK`` (or in its task's ``augmentations``) and
its name among the choices of ``augment`` in ``settings.py``.
"""

from collections.abc import Mapping
from typing import Any

from pipeline.tasks.augmentation import Augmentation
from pipeline.tasks.known import TASKS
from pipeline.tasks.protocol import Task
from pipeline.train.augmentation.copies import Copies
from pipeline.train.augmentation.fills import Fills
from pipeline.train.augmentation.masks import Masks

_EVERY_TASK: Mapping[str, type[Augmentation[Any]]] = {
    "copy": Copies, "mask": Masks, "fill": Fills,
}  # fmt: skip

SETTINGS = frozenset({"augment"}).union(
    *(kind.takes for kind in _EVERY_TASK.values()),
    *(kind.takes for task in TASKS.values() for kind in task.augmentations.values()),
)
"""The settings of ``train`` that have to do with augmentation."""


def kinds_of(task: Task[Any]) -> Mapping[str, type[Augmentation[Any]]]:
    """The kinds that a task has, by name."""
    return {**_EVERY_TASK, **task.augmentations}
