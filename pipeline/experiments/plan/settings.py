"""Settings of ``conjoin plan``."""

from typing import ClassVar

from pydantic import Field

from pipeline.experiments.settings import Grid


class Plan(Grid):
    """Print what a preset will cost before it runs: cells, candidates, time, disk."""

    stage: ClassVar[str] = "plan"
    arguments: ClassVar[tuple[str, ...]] = ("preset",)

    probe: bool = Field(
        True,
        description="Time a few seconds of training and generation where nothing was measured yet.",
    )
