"""Settings of ``conjoin rehydrate``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import Settings


class RehydrateSettings(Settings):
    """Rebuild a stand-off release with the text of its source."""

    stage: ClassVar[str] = "rehydrate"
    arguments: ClassVar[tuple[str, ...]] = ("release",)
    corpus_field: ClassVar[str] = "release"

    release: Path = Field(description="Folder of a stand-off release.")
    source: Path = Field(
        description="The source as `conjoin ingest` wrote it: a corpus folder or its sentences.parquet."
    )
    out: Path = Field(
        description="Folder of the rebuilt release; one that stands there is replaced."
    )
