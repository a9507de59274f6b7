"""The names of what lies in a corpus folder, whichever stage wrote it."""

from dataclasses import dataclass
from pathlib import Path

SENTENCES_FILE = "sentences.parquet"
"""The file by which a corpus folder is known."""


@dataclass(frozen=True, slots=True)
class CorpusFolder:
    """A folder that ``conjoin ingest`` wrote, and later stages add to.

    Attributes:
        place: the folder.
    """

    place: Path

    @property
    def sentences(self) -> Path:
        """The sentences of all splits, as ``ingest`` read them."""
        return self.place / SENTENCES_FILE

    @property
    def trees(self) -> Path:
        """Folder of trees that ``preparse`` writes and ``generate`` reads."""
        return self.place / "trees"

    @classmethod
    def around(cls, place: Path) -> "CorpusFolder | None":
        """The nearest corpus folder at or above ``place``; None if there is none."""
        folders = map(cls, (place, *place.parents))
        return next((folder for folder in folders if folder.sentences.is_file()), None)
