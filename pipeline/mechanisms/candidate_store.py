"""Candidates as training reads them: copied once into a memory-mapped file, with their order.

A store is a folder in the cache of `datasets`, ``conjoin/<source>/<key>/``, whose key changes with
the source's files. It holds ``candidates.arrow`` (an Arrow stream of large batches, uncompressed),
the numbers ``rows`` and ``ends`` (see ``candidate_index``), and ``card.json``. Whoever needs it first
builds it, others wait; it is shared by all runs, and removed when its source has another key.
"""

import mmap
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock, Timeout

from pipeline.ground.console import Meter
from pipeline.ground.errors import InputError
from pipeline.ground.files import digest_of, read_json, write_json
from pipeline.mechanisms.candidate_check import check, content_keys, sentence_keys
from pipeline.mechanisms.candidate_index import INDEX, IndexBuilder
from pipeline.mechanisms.sources import COLUMNS, Source, Unreachable

__all__ = ["CandidateStore", "cache_folder", "open_store"]

_FORMAT = 1
"""Counts up when a store is written or checked in another way, so that older ones are not read."""

_BATCH = 2**15
"""Rows of a record batch: few enough to copy in little memory; many, for each costs 10 KB to open."""

_TABLE = "candidates.arrow"
_FILES = (_TABLE, "rows", "ends")
_SCHEMA = pa.schema([field for field in COLUMNS if field.name != "sentence_id"])


def cache_folder() -> Path:
    """Where stores are kept: in the cache of `datasets`, wherever the environment puts it now."""
    given = os.environ
    home = given.get("HF_HOME") or os.path.join(
        given.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    place = given.get("HF_DATASETS_CACHE") or os.path.join(home, "datasets")
    return Path(place).expanduser() / "conjoin"


class CandidateStore:
    """A store that is open: candidates by row, and the order of rows.

    Pages of the mapped files count as memory of the process until they are let go: see ``let_go``.

    Args:
        folder: the store.

    Attributes:
        card: ``rows``, ``sentences``, ``labels`` (rows per label) and ``digest``.
        rows: the row at each place of the order, shape (rows,).
        ends: the place after the last row of each sentence, shape (sentences,).

    Raises:
        FileNotFoundError: it is not there, or not whole.
    """

    def __init__(self, folder: Path) -> None:
        import datasets

        self.card = read_json(folder / "card.json") if (folder / "card.json").is_file() else {}
        sizes = {name: (folder / name).stat().st_size for name in _FILES}
        if sizes != self.card.get("bytes"):
            raise FileNotFoundError(folder)
        self._maps = {name: _mapped(folder / name) for name in _FILES}
        self.rows = np.frombuffer(self._maps["rows"], INDEX)
        self.ends = np.frombuffer(self._maps["ends"], INDEX)
        table = pa.ipc.open_stream(pa.py_buffer(self._maps[_TABLE])).read_all()
        # Without a fingerprint given, datasets would make one of all that is in the table.
        self._dataset = datasets.Dataset(
            datasets.table.InMemoryTable(table), fingerprint=self.card["digest"][:16]
        )
        self.let_go()

    def __getitem__(self, row: int) -> dict[str, Any]:
        """The candidate of a row."""
        found: dict[str, Any] = self._dataset[row]
        return found

    def let_go(self) -> None:
        """Give back the pages read so far, which stay in the system's cache and can be read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps.values():
                mapped.madvise(mmap.MADV_DONTNEED)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def open_store(source: Source) -> CandidateStore:
    """The store of a source, built now if there is none for its present state.

    Raises:
        InputError: the source has no candidates, cannot be reached or read, a candidate is at fault,
            or there is no room or right to keep a copy.
    """
    home = cache_folder() / digest_of(source.identity)[:16]
    try:
        key = digest_of([_FORMAT, source.key()])[:16]
    except Unreachable as error:
        return _without_network(home, error)
    if store := _opened(home / key):
        return store
    with _writing(home), _locked(home, source):
        if store := _opened(home / key):  # another process was faster
            return store
        _build(source, home, key)
        return CandidateStore(home / key)


def _opened(folder: Path) -> CandidateStore | None:
    try:
        return CandidateStore(folder)
    except FileNotFoundError:
        return None


def _without_network(home: Path, error: Unreachable) -> CandidateStore:
    for card in sorted(home.glob("[!.]*/card.json")):
        if store := _opened(card.parent):
            print(f"{error}; using the copy made before", file=sys.stderr, flush=True)
            return store
    raise error


@contextmanager
def _writing(home: Path) -> Iterator[None]:
    """What goes wrong with the cache becomes one line that says where and what to do."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(
            f"cannot keep a copy of the candidates in the cache: {error.strerror or error}",
            path=home, remedy="set HF_DATASETS_CACHE to a folder with room that can be written to",
        ) from error  # fmt: skip


@contextmanager
def _locked(home: Path, source: Source) -> Iterator[None]:
    lock = FileLock(home / ".lock")
    try:
        lock.acquire(timeout=0.2)
    except Timeout:
        name = source.identity
        print(f"waiting for another run that copies {name}", file=sys.stderr, flush=True)
        lock.acquire()
    except NotImplementedError as error:
        raise OSError("files cannot be locked here") from error
    try:
        yield
    finally:
        lock.release()


def _build(source: Source, home: Path, key: str) -> None:
    """Write a store under a temporary name, rename it, and remove all others of its source."""
    for left in home.glob(".*.tmp"):  # of processes that were killed, for the lock is ours
        shutil.rmtree(left)
    before = source.key()
    temporary = home / f".{key}.tmp"
    temporary.mkdir()
    try:
        write_json(temporary / "card.json", _fill(source, temporary))
        if source.key() != before:
            raise InputError(
                "the candidates changed while they were copied",
                path=source.identity, remedy="let generate finish and run the same command again",
            )  # fmt: skip
        shutil.rmtree(home / key, ignore_errors=True)
        os.replace(temporary, home / key)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for other in home.glob("[!.]*"):
        if other.name != key:  # a run that still reads it keeps the file until it ends
            shutil.rmtree(other, ignore_errors=True)


def _fill(source: Source, folder: Path) -> dict[str, Any]:
    """Write the files of a store; returns its card."""
    index, labels = IndexBuilder(folder), Counter[str]()
    total = source.rows()
    with (
        pa.OSFile(str(folder / _TABLE), "wb") as sink,
        pa.ipc.new_stream(sink, _SCHEMA) as writer,
        Meter(f"copy {source.identity}", total) as meter,
    ):
        for batch in _gathered(source):
            index.add(sentence_keys(batch), content_keys(batch))
            for counted in pc.value_counts(batch.column("label")).to_pylist():
                labels[counted["values"]] += counted["counts"]
            writer.write_batch(batch.select(_SCHEMA.names))
            meter.at(labels.total())
    if not labels:
        raise InputError(
            "no candidates here", path=source.identity, remedy="its files hold no rows"
        )
    sentences, digest = index.finish()
    for name in _FILES:
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
    return {
        "source": source.identity,
        "rows": labels.total(),
        "sentences": sentences,
        "labels": dict(sorted(labels.items())),
        "digest": digest,
        "bytes": {name: (folder / name).stat().st_size for name in _FILES},
    }


def _gathered(source: Source) -> Iterator[pa.RecordBatch]:
    """The checked rows of a source in batches of ``_BATCH``, however small its own are."""
    waiting: list[pa.RecordBatch] = []
    for place, first, batch in source.pieces():
        check(batch, place, first)
        waiting.append(batch)
        if sum(map(len, waiting)) >= _BATCH:
            yield pa.concat_batches(waiting)
            waiting.clear()
    if waiting:
        yield pa.concat_batches(waiting)
