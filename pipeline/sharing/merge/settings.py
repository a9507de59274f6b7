"""Settings of ``conjoin merge``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import OWN_USE_HELP, Settings


class MergeSettings(Settings):
    """Unite corpora into one folder of candidates, without duplicates."""

    stage: ClassVar[str] = "merge"
    every_task: ClassVar[bool] = False
    place_fields: ClassVar[tuple[str, ...]] = ("places",)
    arguments: ClassVar[tuple[str, ...]] = ("places",)
    corpus_field: ClassVar[str] = "out"

    places: list[Path] = Field(
        description="Two or more folders of candidates or releases; of equal rows the first counts."
    )
    out: Path = Field(description="Folder for the united corpus; it must not hold another.")
    own_use: bool = Field(False, description=f"out, outside their corpus folder: {OWN_USE_HELP}")
