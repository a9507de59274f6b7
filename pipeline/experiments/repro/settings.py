"""Settings of ``conjoin repro``."""

from typing import ClassVar

from pipeline.experiments.settings import Grid


class Repro(Grid):
    """Run an experiment: `dvc repro` with several cells at a time, every stage timed."""

    stage: ClassVar[str] = "repro"
