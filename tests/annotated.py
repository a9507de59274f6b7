"""Raw text with coordinators as a corpus, for the tests of annotation."""

from pathlib import Path

from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest

TEXT = [
    "The old men and women left .",
    "She sold lamps , chairs and tables .",
    "He came and then went .",
    "But nobody called .",
    "They read or slept , and we left .",
    *(f"Cat {number} and dog {number} sleep ." for number in range(20)),
]
"""Sentences, of which the fourth has no coordinator between words."""


def corpus_of(folder: Path) -> Path:
    """The text, ingested into ``folder/mine``."""
    (folder / "raw.txt").write_text("".join(f"{line}\n" for line in TEXT))
    source = folder / "raw.txt"
    ingest(IngestSettings(reader="text", source=source, out=folder / "mine", license="CC0-1.0"))
    return folder / "mine"
