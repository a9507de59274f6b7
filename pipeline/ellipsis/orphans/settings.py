"""Settings of ``conjoin orphans``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import (
    Settings,
)
from pipeline.text.unpacking import Size


class OrphansSettings(Settings):
    """Measure a parser's CoNLL-U against gold: orphans of ellipsis, UAS and LAS."""

    stage: ClassVar[str] = "orphans"
    arguments: ClassVar[tuple[str, ...]] = ("gold", "system")
    corpus_field: ClassVar[str] = ""

    gold: Path = Field(description="The right trees, in CoNLL-U, also packed; '-': standard input.")
    system: Path = Field(description="What the parser made of the same text, in CoNLL-U.")
    out: Path | None = Field(
        None, description="Write the figures, and counts by sentence, into this JSON file as well."
    )
    json_: bool = Field(False, description="Print one JSON object instead.")
    largest_unpacked: Size = Field(
        "64MiB",
        description="Refuse packed files that unpack to more together: 64MiB, 4GiB; the memory needed is "
        "some 25 times as much.",
    )
