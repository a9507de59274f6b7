"""The control: every variant is its example again, so nothing but the size of a batch differs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pipeline.tasks.augmentation import Material


class Copies:
    """Variants with the same words (the paper's Baseline (2x))."""

    takes: ClassVar[frozenset[str]] = frozenset()
    facts: Mapping[str, Any]

    def __init__(self, material: Material[Any]) -> None:
        self._variants = [replace(each.example, variant=True) for each in material.labelled]
        self.facts, self.note = {}, ""

    def variants(self, epoch: int) -> list[Any]:
        """The same in every epoch."""
        return self._variants
