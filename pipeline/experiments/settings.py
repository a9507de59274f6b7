"""Which cells of dvc.yaml: what ``repro`` and ``plan`` share."""

import os
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import (
    MOST_PROCESSES,
    Settings,
)


class GridSettings(Settings):
    """Which cells: those of an experiment, on its corpora or on others, with more over it."""

    corpus_field: ClassVar[str] = ""  # it has no section of its own in params.yaml
    arguments: ClassVar[tuple[str, ...]] = ("experiment",)

    experiment: str = Field(
        "",
        description="An experiment: table2, table3, figure4, gum-cpu, genia and whatever else lies in "
        "experiments/, or a file; unset: default, which `dvc repro` runs.",
    )
    corpus: list[str] = Field([], description="Corpora to run on; unset: those of the experiment.")
    set: list[str] = Field(
        [],
        description="For this run, KEY=VALUE over a list of the experiment, as seeds=[0], or over "
        "params.yaml, as train.world.steps=100; the files are put back afterwards.",
    )
    skip: str = Field(
        "",
        description="Leave out cells whose name or command matches this regular expression, "
        "e.g. '--seed [12]'.",
    )
    jobs: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=MOST_PROCESSES,
        description="Cells at a time.",
    )
