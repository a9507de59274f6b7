"""Settings of ``conjoin stats``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.sharing.place import PlaceSettings


class StatsSettings(PlaceSettings):
    """Count a corpus by label, coordinator, length, reason and score."""

    stage: ClassVar[str] = "stats"
    every_task: ClassVar[bool] = False

    reference: Path | None = Field(
        None,
        description="Treebank to compare with: a corpus folder or its sentences.parquet; unset: the "
        "nearest folder above PLACE that has one.",
    )
    json_: bool = Field(False, description="Print one JSON object instead.")
