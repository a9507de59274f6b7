"""What commands have in common that take a corpus of candidates from anywhere."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import (
    Settings,
)


class PlaceSettings(Settings):
    """What commands have in common that take a corpus of candidates from anywhere."""

    arguments: ClassVar[tuple[str, ...]] = ("place",)
    corpus_field: ClassVar[str] = "place"

    place: Path = Field(description="Folder of candidates, release, or a Parquet file of either.")
