"""The control: every twin is its example again, so nothing but the size of a batch differs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pipeline.tasks.augmentation import Material


class Copies:
    """Twins with the same words (the paper's Baseline (2x))."""

    takes: ClassVar[frozenset[str]] = frozenset()
    facts: Mapping[str, Any]

    def __init__(self, material: Material[Any]) -> None:
        self._twins = [replace(each.example, twin=True) for each in material.labelled]
        self.facts, self.note = {}, ""

    def twins(self, epoch: int) -> list[Any]:
        """The same in every epoch."""
        return self._twins
