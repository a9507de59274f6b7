"""What ``--candidates`` may name: a corpus folder, a release folder, a dataset of the hub."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from pipeline.core.annotation import Annotation, place_name, recorded, unknown
from pipeline.core.candidates import candidate_shards
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.parquet import (
    MANIFEST,
    column_names,
    read_batches,
    read_schema,
    row_count,
    select_like,
)
from pipeline.core.schema import CANDIDATES
from pipeline.corpus.checked import open_candidates

SCORE = CANDIDATES.field("score")
"""The language model's score, which it reads where there is one: datasets made elsewhere may lack it."""

Piece = tuple[str, int, pa.RecordBatch]
"""A file (or dataset) of candidates, the row of it where the batch begins, and the batch."""

_BATCH = 4096  # rows
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?", re.ASCII)
_KINDS = (
    "name a corpus folder (candidates-*.parquet), a release folder (data/train-*.parquet) "
    "or a dataset of the hub (owner/name or owner/name@revision)"
)


class UnreachableError(InputError):
    """The hub does not answer, so the dataset's present revision is not known."""


class CandidateLocation(Protocol):
    """Candidates somewhere, in an order of their own."""

    identity: str
    """The same for the same place, from wherever it is named."""

    def key(self) -> str:
        """Digest that changes whenever the candidates may have changed.

        Raises:
            InputError: there are none, or they cannot be reached (``UnreachableError``).
        """

    def rows(self) -> int:
        """How many candidates there are; 0 if that is not known beforehand."""

    def pieces(self) -> Iterator[Piece]:
        """All candidates, with the columns asked for and then ``SCORE``, null where there is none."""


def find_location(source: str | Path, columns: pa.Schema) -> CandidateLocation:
    """The location of a name; ``columns`` are read of each candidate.

    A name of the hub is taken for a mistyped folder if its owner is a folder here; with a revision
    (``owner/name@main``) it never is.

    Raises:
        InputError: there is no such folder, and it cannot be a name on the hub.
    """
    if Path(source).is_dir():
        return _Folder(Path(source), columns)
    mistyped = "@" not in str(source) and Path(source).parent.is_dir()
    if isinstance(source, str) and _HUB_NAME.fullmatch(source) and not mistyped:
        return _Hub(source, columns)
    raise InputError("no such folder of candidates", path=source, remedy=_KINDS)


def annotation_of_candidates(source: str | Path) -> Annotation:
    """What people had annotated for candidates; not known where nothing beside them says it.

    Args:
        source: as for ``find_location``.

    Raises:
        InputError: their manifest is damaged.
    """
    folder = Path(source)
    if not folder.is_dir():
        return unknown(str(source))
    path = folder / MANIFEST
    manifest: CandidatesManifest = read_json(path, CandidatesManifest) if path.is_file() else {}
    return recorded(manifest, place_name(folder))


def _columns(schema: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """What to read of a file: with the score, if it has one (of a column of nulls some know no type)."""
    index = schema.get_field_index(SCORE.name)
    absent = index < 0 or pa.types.is_null(schema.field(index).type)
    return wanted if absent else wanted.append(SCORE)


def _with_score(batch: pa.RecordBatch) -> pa.RecordBatch:
    if SCORE.name in batch.schema.names:
        return batch
    return batch.append_column(SCORE, pa.nulls(len(batch), SCORE.type))


class _Folder:
    def __init__(self, folder: Path, columns: pa.Schema) -> None:
        self._folder, self._columns = folder, columns
        self.identity = str(folder.resolve())

    def key(self) -> str:
        shards = candidate_shards(self._folder)
        if not shards:
            raise InputError(
                "no candidates here",
                path=self._folder,
                remedy=f"run `conjoin generate`, or {_KINDS}",
            )
        if _is_stand_off(self._folder, shards[0]):
            raise InputError(
                "a stand-off release, which leaves its sentences' words out", path=self._folder,
                remedy="rebuild it with `conjoin rehydrate` first",
            )  # fmt: skip
        manifest = self._folder / MANIFEST  # by which the shards are judged when they are read
        files = [*shards, *([manifest] if manifest.is_file() else [])]
        names = (path.relative_to(self._folder).as_posix() for path in files)
        states = (path.stat() for path in files)
        return digest_of(
            [[n, s.st_size, s.st_mtime_ns] for n, s in zip(names, states, strict=True)]
        )

    def rows(self) -> int:
        shards = candidate_shards(self._folder)
        try:
            return sum(map(row_count, shards))
        except InputError:
            return 0  # reading the file will raise what is wrong with it

    def pieces(self) -> Iterator[Piece]:
        for path in open_candidates(self._folder):
            first = 0
            for batch in read_batches(path, _columns(read_schema(path), self._columns), _BATCH):
                yield str(path), first, _with_score(batch)
                first += len(batch)


def _is_stand_off(folder: Path, shard: Path) -> bool:
    """Whether a folder is a release without text: its columns say so, or of other tasks its manifest."""
    if "fill_words" in column_names(shard):
        return True
    path = folder / MANIFEST
    manifest: Any = read_json(path, object) if path.is_file() else None
    return isinstance(manifest, dict) and bool(manifest.get("stand_off"))


class _Hub:
    """The training split of a dataset on the hub, read file by file as it comes over the network."""

    def __init__(self, name: str, columns: pa.Schema) -> None:
        self._columns = columns
        self.identity = f"hub:{name}"
        self._name = name
        self._repository, _, revision = name.partition("@")
        self._revision = revision or None

    def key(self) -> str:
        import datasets  # noqa: PLC0415 - takes a second, and many who import this read no candidate

        what = "neither a folder here, nor can the hub be reached to look for a dataset"
        try:
            builder = datasets.load_dataset_builder(self._repository, revision=self._revision)
        except ConnectionError as error:
            raise UnreachableError(what, path=self._name, remedy=_KINDS) from error
        except Exception as error:  # of many libraries, down to HTTP and YAML
            what = f"neither a folder here nor a dataset of the hub that can be read: {error}"
            raise InputError(what, path=self._name, remedy=_KINDS) from error
        return digest_of([builder.hash])

    def rows(self) -> int:
        return 0

    def pieces(self) -> Iterator[Piece]:
        import datasets  # noqa: PLC0415 - as above

        first = 0
        try:
            stream = datasets.load_dataset(
                self._repository, revision=self._revision, split="train", streaming=True
            )
            for table in stream.with_format("arrow").iter(_BATCH):
                for batch in table.to_batches():
                    yield (
                        self._name,
                        first,
                        _with_score(
                            select_like(batch, _columns(batch.schema, self._columns), self._name)
                        ),
                    )
                    first += len(batch)
        except InputError:
            raise
        except Exception as error:  # as above
            raise InputError(
                f"cannot be read from the hub beyond row {first}: {error}",
                path=self._name, remedy="run the same command again",
            ) from error  # fmt: skip
