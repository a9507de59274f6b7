"""Settings of ``conjoin repro``."""

from typing import ClassVar

from pipeline.experiments.settings import Grid


class Repro(Grid):
    """Run `dvc repro` with several cells at a time, and time every stage."""

    stage: ClassVar[str] = "repro"
