"""Settings of ``conjoin plan``."""

from typing import ClassVar

from pydantic import Field

from pipeline.experiments.settings import GridSettings


class PlanSettings(GridSettings):
    """Print what an experiment will cost before it runs: cells, candidates, time, disk."""

    stage: ClassVar[str] = "plan"

    probe: bool = Field(
        True,
        description="Time a few seconds of training and generation where nothing was measured yet.",
    )
    write: bool = Field(
        False,
        description="Leave its cells in cells.yaml, and what it changes in params.yaml, for DVC alone.",
    )
