"""Candidates as training reads them: copied once into a memory-mapped file, with their order.

A store is a folder with ``candidates.arrow`` (an Arrow stream of large batches, uncompressed),
``card.json`` and, as plain 64-bit numbers, the order in which candidates are drawn: ``rows`` has the
row at each place, ``ends`` the place after the last row of each sentence, ``keys`` that sentence's key.
The order is a function of what candidates are, not of where they lie: they are sorted by (key of the
sentence, key of the content, score, row), so a corpus in other shards or in another order of rows has the
same order, except among equal rows, which are interchangeable.

Stores lie in the cache of `datasets` as ``conjoin/<location>/<key>/``, built by the run that needs one
first and shared by all. The key changes with the location's files; the store of the former key is then
removed.
"""

import mmap
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.cache import cache_folder, cached, if_whole
from pipeline.core.console import Meter, tell
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, write_json
from pipeline.core.parquet import regroup, value_counts
from pipeline.corpus.content import sentence_keys
from pipeline.tasks.protocol import CandidateRows
from pipeline.train.candidate_location import SCORE, CandidateLocation, UnreachableError

INDEX = np.dtype("<i8")
"""Type of the numbers in the files ``rows`` and ``ends``; those of ``keys`` have no sign."""

_BUCKETS = 256
_RECORD = np.dtype([("sentence", "<u8"), ("content", "<u8"), ("row", "<i8"), ("score", "<u4")])


class IndexBuilder:
    """Sorts keys into three files: ``rows``, where each sentence ``ends`` among them, and its ``keys``.

    Sorted out of core: keys go to one of 256 files by the sentence's first bits, and each file is
    sorted in memory, at 28 bytes a candidate: 1 MB for 10 million candidates, 0.1 GB for a billion.

    Args:
        folder: where the files go; temporary ones beside them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._rows = folder, 0

    def add(
        self,
        sentences: npt.NDArray[np.uint64],
        contents: npt.NDArray[np.uint64],
        scores: npt.NDArray[np.float32],
    ) -> None:
        """Take the keys and scores (NaN: none) of the next rows, all of shape (rows,)."""
        records = np.empty(len(sentences), _RECORD)
        records["sentence"], records["content"] = sentences, contents
        known = np.where(np.isnan(scores), np.float32(np.nan), scores)  # one NaN of the many
        records["score"] = known.astype("<f4").view("<u4")
        records["row"] = np.arange(self._rows, self._rows + len(records))
        self._rows += len(records)
        bucket = (sentences // np.uint64(2**64 // _BUCKETS)).astype(np.int64)
        records = records[np.argsort(bucket, kind="stable")]
        ends = np.cumsum(np.bincount(bucket, minlength=_BUCKETS))
        for number in np.unique(bucket):
            begin = ends[number - 1] if number else 0
            with self._bucket(int(number)).open("ab") as file:
                file.write(records[begin : ends[number]].tobytes())

    def finish(self) -> tuple[int, str]:
        """Write the files.

        Returns:
            How many sentences there are, and the hex SHA-256 of the sorted keys: two sources with the
            same digest have the same draws.
        """
        digest, sentences, before = sha256(), 0, 0
        with (
            (self._folder / "rows").open("wb") as rows,
            (self._folder / "ends").open("wb") as ends,
            (self._folder / "keys").open("wb") as own,
        ):
            for path in filter(Path.exists, map(self._bucket, range(_BUCKETS))):
                found = np.fromfile(path, _RECORD)
                path.unlink()
                keys = (found["row"], found["score"], found["content"], found["sentence"])
                found = found[np.lexsort(keys)]
                digest.update(np.stack([found["sentence"], found["content"]], axis=1).tobytes())
                rows.write(found["row"].astype(INDEX).tobytes())
                changes = np.flatnonzero(found["sentence"][1:] != found["sentence"][:-1]) + 1
                last = np.append(changes, len(found)) + before
                ends.write(last.astype(INDEX).tobytes())
                own.write(found["sentence"][np.append(changes, len(found)) - 1].tobytes())
                before += len(found)
                sentences += len(last)
        return sentences, digest.hexdigest()

    def _bucket(self, number: int) -> Path:
        return self._folder / f"bucket-{number:03d}"


FORMAT = 6
"""Counts up when a store is written or checked in another way, so that older ones are not read."""

_BATCH = 2**14
"""Rows of a record batch: few enough to copy in little memory; many, for each costs 10 KB to open."""

_TABLE = "candidates.arrow"
_FILES = (_TABLE, "rows", "ends", "keys")


class CandidateStore:
    """A store that is open: candidates by row, and the order of rows.

    Pages of the mapped files count as memory of the process until ``let_go`` gives them back.

    Args:
        folder: the store.
        schema: of its table.

    Attributes:
        card: ``rows``, ``sentences``, ``labels`` (rows per label), ``digest``.
        rows: the row at each place of the order, shape (rows,).
        ends: the place after the last row of each sentence, shape (sentences,).
        keys: of the sentences, in ascending order, shape (sentences,).

    Raises:
        FileNotFoundError: it is not there, or not whole.
    """

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        import datasets  # noqa: PLC0415 - takes a second, and many who import this read no candidate

        self.card = read_json(folder / "card.json") if (folder / "card.json").is_file() else {}
        sizes = {name: (folder / name).stat().st_size for name in _FILES}
        if sizes != self.card.get("bytes"):
            raise FileNotFoundError(folder)
        self._maps = {name: _mapped(folder / name) for name in _FILES}
        self.rows = np.frombuffer(self._maps["rows"], INDEX)
        self.ends = np.frombuffer(self._maps["ends"], INDEX)
        self.keys = np.frombuffer(self._maps["keys"], "<u8")
        table = pa.Table.from_batches(self._batches(), schema)
        # Without a fingerprint given, datasets would make one of all that is in the table.
        self._dataset = datasets.Dataset(
            datasets.table.InMemoryTable(table), fingerprint=self.card["digest"][:16]
        )
        self.let_go()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in pa.ipc.open_stream(pa.py_buffer(self._maps[_TABLE])):
            self.let_go()  # of the page with its header, and what the system mapped around it
            yield batch

    def __getitem__(self, row: int) -> dict[str, Any]:
        """The candidate of a row."""
        found: dict[str, Any] = self._dataset[row]
        return found

    def places_of(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Which sentences have one of these keys, in ascending order."""
        keys = np.unique(keys)
        found = np.searchsorted(self.keys, keys)
        there = found < len(self.keys)
        there[there] = self.keys[found[there]] == keys[there]
        return found[there].astype(np.int64)

    def let_go(self) -> None:
        """Give back the pages read so far, which stay in the system's cache and can be read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps.values():
                mapped.madvise(mmap.MADV_DONTNEED)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def write_store(
    location: CandidateLocation, rows: CandidateRows[Any], folder: Path, wanted: Sequence[str] = ()
) -> None:
    """Check all candidates of a source and copy them.

    Args:
        location: the candidates.
        rows: how the task reads them.
        folder: an empty folder.
        wanted: copy only those with one of these labels; none: all.

    Raises:
        InputError: there are none, or none with one of the labels; they cannot be read; one is at
            fault.
    """
    index, labels = IndexBuilder(folder), Counter[str]()
    total = location.rows()
    with (
        pa.OSFile(str(folder / _TABLE), "wb") as sink,
        pa.ipc.new_stream(sink, rows.kept) as writer,
        Meter(f"copy {location.identity}", total) as meter,
    ):
        for batch in regroup(_checked(location, rows), repeat(_BATCH)):
            labels.update(value_counts(batch.column("label")))
            kept = batch
            if wanted:
                kept = batch.filter(pc.is_in(batch.column("label"), pa.array(wanted)))
            scores = kept.column("score").to_numpy(zero_copy_only=False).astype(np.float32)
            index.add(sentence_keys(kept), rows.keys(kept), scores)
            writer.write_batch(kept.select(rows.kept.names).cast(rows.kept))
            meter.at(labels.total())
            pa.default_memory_pool().release_unused()
    if not labels:
        raise InputError(
            "no candidates here", path=location.identity, remedy="its files hold no rows"
        )
    if missing := [label for label in wanted if label not in labels]:
        raise InputError(
            f"no candidate has the label {missing[0]!r}; there are: {', '.join(sorted(labels))}",
            path=location.identity,
            remedy="name other --labels",
        )
    labels = Counter({label: labels[label] for label in wanted}) if wanted else labels
    sentences, digest = index.finish()
    for name in _FILES:
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
    card = {
        "source": location.identity,
        "rows": labels.total(),
        "sentences": sentences,
        "labels": dict(sorted(labels.items())),
        "digest": digest,
        "bytes": {name: (folder / name).stat().st_size for name in _FILES},
    }
    write_json(folder / "card.json", card)


def _checked(location: CandidateLocation, rows: CandidateRows[Any]) -> Iterator[pa.RecordBatch]:
    for file, first, batch in location.pieces():
        rows.check(batch.select([*rows.columns.names, SCORE.name]), file, first)
        yield batch


def open_store(
    location: CandidateLocation, rows: CandidateRows[Any], labels: Sequence[str] = ()
) -> CandidateStore:
    """The store of a source, built now if there is none for its present state.

    Args:
        location: the candidates.
        rows: how the task reads them.
        labels: keep only those with one of these; none: all.

    Raises:
        InputError: the source has no candidates, cannot be reached or read, a candidate is at fault,
            or there is no room or right to keep a copy.
    """
    chosen = sorted(set(labels))

    def opened(folder: Path) -> CandidateStore:
        return CandidateStore(folder, rows.kept)

    name = digest_of([location.identity, chosen] if chosen else location.identity)[:16]
    home = cache_folder() / name
    try:
        key = digest_of([FORMAT, rows.kept.names, location.key()])[:16]
    except UnreachableError as error:
        for card in sorted(home.glob("[!.]*/card.json")):
            if store := if_whole(opened, card.parent):
                tell(f"{error}; using the copy made before")
                return store
        raise

    def build(folder: Path) -> None:
        before = location.key()
        write_store(location, rows, folder, chosen)
        if location.key() != before:
            raise InputError(
                "the candidates changed while they were copied",
                path=location.identity, remedy="let generate finish and run the same command again",
            )  # fmt: skip

    return cached(home, key, what="a copy of the candidates", opened=opened, build=build)
