"""What lies in a corpus folder: names that stages share, and the trees, as ``preparse`` wrote them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.documents import Count, FileName, read_json
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.parquet import MANIFEST, read_rows
from pipeline.core.schema import TREES
from pipeline.core.types import SourceSentence

SENTENCES_FILE = "sentences.parquet"
"""The sentences of all splits, as ``ingest`` read them: the file by which a corpus folder is known."""

TREES_FOLDER = "trees"
"""Folder of trees that ``preparse`` writes and ``generate`` reads."""

COORDINATED_FOLDER = "coordinated"
"""Folder with trees of sentences that hold a coordinator: ``pretrain`` reads it."""


def corpus_around(place: Path) -> Path | None:
    """The nearest corpus folder at or above ``place``; None if there is none."""
    folders = (place, *place.parents)
    return next((folder for folder in folders if (folder / SENTENCES_FILE).is_file()), None)


class _Shard(TypedDict):
    file: FileName
    rows: Count
    sha256: str


class _Inputs(TypedDict):
    sentences: str


class _Seeds(TypedDict):
    """Which sentences are U, in the words of preparse's settings."""

    min_words: Count
    limit: Count | None


class TreesManifest(TypedDict):
    """What is read of ``manifest.json`` in a folder of trees."""

    shards: list[_Shard]
    inputs: _Inputs
    settings: NotRequired[dict[str, object]]


class SeedsManifest(TypedDict):
    """The same, of the trees of U."""

    settings: _Seeds


@dataclass(frozen=True, slots=True)
class TreeRows:
    """The rows of all shards of trees, numbered consecutively."""

    shards: tuple[Path, ...]
    counts: tuple[int, ...]

    def __len__(self) -> int:
        """Trees in all."""
        return sum(self.counts)

    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str]]:
        """Sentence and bracketing of some consecutive rows.

        Raises:
            InputError: a shard is missing, damaged or has another schema.
        """
        first = 0
        for path, count in zip(self.shards, self.counts, strict=True):
            part = range(max(rows.start - first, 0), min(rows.stop - first, count))
            first += count
            for row in read_rows(path, TREES, part) if part else ():
                yield (
                    SourceSentence(row["sentence_id"], tuple(row["words"]), row["license"]),
                    row["tree"],
                )


def find_trees(folder: Path, sentences: Path) -> TreeRows:
    """The trees of a corpus.

    Raises:
        InputError: preparse has not run or was interrupted, its shards are damaged, or the trees are
            of other sentences than the corpus has now.
    """
    manifest: TreesManifest = read_json(
        folder / MANIFEST, TreesManifest, remedy="run `conjoin preparse` first"
    )
    shards = [each for each in manifest["shards"] if each["file"].startswith("trees-")]
    for shard in shards:
        if not (path := folder / shard["file"]).is_file() or sha256_of(path) != shard["sha256"]:
            raise InputError(
                "missing, or not as preparse wrote it",
                path=path,
                remedy="run `conjoin preparse` again",
            )
    if manifest["inputs"]["sentences"] != sha256_of(sentences):
        raise InputError(
            "trees of other sentences than the corpus has now",
            path=folder,
            remedy="run `conjoin preparse` again",
        )
    if not sum(shard["rows"] for shard in shards):
        raise InputError("no trees", path=folder, remedy="check what preparse printed")
    paths = [folder / shard["file"] for shard in shards]
    return TreeRows(tuple(paths), tuple(shard["rows"] for shard in shards))
