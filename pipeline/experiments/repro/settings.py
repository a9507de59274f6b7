"""Settings of ``conjoin repro``."""

from typing import ClassVar

from pipeline.experiments.settings import GridSettings


class ReproSettings(GridSettings):
    """Run an experiment: `dvc repro` with several cells at a time, every stage timed."""

    stage: ClassVar[str] = "repro"
