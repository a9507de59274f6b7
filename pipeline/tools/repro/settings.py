"""Settings of ``conjoin repro`` and ``conjoin plan``."""

import os
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import Settings


class Grid(Settings):
    """Which cells of dvc.yaml: params.yaml as it stands, or with a preset and more over it."""

    corpus_field: ClassVar[str] = ""  # it has no section of its own in params.yaml

    preset: str = Field(
        "",
        description="A grid of section presets of params.yaml: table2, table3, figure4, genia or "
        "genia-cpu; unset: the grid at its top level.",
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
        default_factory=lambda: os.cpu_count() or 1, ge=1, description="Cells at a time."
    )


class Repro(Grid):
    """Run `dvc repro` with several cells at a time, and time every stage."""

    stage: ClassVar[str] = "repro"


class Plan(Grid):
    """Print what a preset will cost before it runs: cells, candidates, time, disk."""

    stage: ClassVar[str] = "plan"
    arguments: ClassVar[tuple[str, ...]] = ("preset",)

    probe: bool = Field(
        True,
        description="Time a few seconds of training and generation where nothing was measured yet.",
    )
