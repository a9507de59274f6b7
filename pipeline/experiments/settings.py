"""Which cells of dvc.yaml: what ``repro`` and ``plan`` share."""

import os
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import (
    MOST_PROCESSES,
    Settings,
)


class Grid(Settings):
    """Which cells of dvc.yaml: params.yaml as it stands, or with a preset and more over it."""

    corpus_field: ClassVar[str] = ""  # it has no section of its own in params.yaml

    preset: str = Field(
        "",
        description="A grid of section presets of params.yaml: table2, table3, figure4, gum-cpu, "
        "genia, genia-cpu or augment; unset: the grid at its top level.",
    )
    corpus: list[str] = Field([], description="Corpora to run on; unset: those of params.yaml.")
    set: list[str] = Field(
        [],
        description="For this run, KEY=VALUE over params.yaml, e.g. train.world.steps=100; as the "
        "pipeline sees it, like `dvc exp run -S`, but params.yaml is put back afterwards.",
    )
    skip: str = Field(
        "",
        description="Leave out cells whose command matches this regular expression, "
        "e.g. '--seed [12]'.",
    )
    jobs: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=MOST_PROCESSES,
        description="Cells at a time.",
    )
