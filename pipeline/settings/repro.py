"""Settings of ``conjoin repro``."""

import os
from typing import ClassVar

from pydantic import Field

from pipeline.settings.base import Settings

__all__ = ["Repro"]


class Repro(Settings):
    """Run the cells of dvc.yaml like ``dvc repro``, several at a time, and time them."""

    stage: ClassVar[str] = "repro"
    summary: ClassVar[str] = "Run `dvc repro` with several cells at a time, and time every stage."

    jobs: int = Field(
        default_factory=lambda: os.cpu_count() or 1, ge=1, description="Cells at a time."
    )
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
