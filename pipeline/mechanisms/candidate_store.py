"""Candidates as training reads them: copied once into a memory-mapped file, with their order.

A store is a folder with ``candidates.arrow`` (an Arrow stream of large batches, uncompressed), the
numbers ``rows`` and ``ends`` (see ``candidate_index``), and ``card.json``.
"""

import mmap
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ground.console import Meter
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json, write_json
from pipeline.mechanisms.candidate_check import check, content_keys, sentence_keys
from pipeline.mechanisms.candidate_index import INDEX, IndexBuilder
from pipeline.mechanisms.sources import Source

__all__ = ["FORMAT", "CandidateStore", "write_store"]

FORMAT = 1
"""Counts up when a store is written or checked in another way, so that older ones are not read."""

_BATCH = 2**14
"""Rows of a record batch: few enough to copy in little memory; many, for each costs 10 KB to open."""

_TABLE = "candidates.arrow"
_FILES = (_TABLE, "rows", "ends")

# The types that `datasets` itself would give; any others it casts, which reads the whole file.
_SPAN = pa.struct([("start", pa.int32()), ("end", pa.int32())])
_SCHEMA = pa.schema(
    [
        ("candidate_id", pa.string()),
        ("words", pa.list_(pa.string())),
        ("coordinator", pa.int32()),
        ("conjuncts", pa.list_(_SPAN)),
        ("label", pa.string()),
    ]
)


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
        import datasets  # noqa: PLC0415 - takes a second, and many who import this read no candidate

        self.card = read_json(folder / "card.json") if (folder / "card.json").is_file() else {}
        sizes = {name: (folder / name).stat().st_size for name in _FILES}
        if sizes != self.card.get("bytes"):
            raise FileNotFoundError(folder)
        self._maps = {name: _mapped(folder / name) for name in _FILES}
        self.rows = np.frombuffer(self._maps["rows"], INDEX)
        self.ends = np.frombuffer(self._maps["ends"], INDEX)
        table = pa.Table.from_batches(self._batches(), _SCHEMA)
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

    def let_go(self) -> None:
        """Give back the pages read so far, which stay in the system's cache and can be read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps.values():
                mapped.madvise(mmap.MADV_DONTNEED)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def write_store(source: Source, folder: Path, wanted: Sequence[str] = ()) -> None:
    """Check all candidates of a source and copy them.

    Args:
        source: the candidates.
        folder: an empty folder.
        wanted: copy only those with one of these labels; none: all.

    Raises:
        InputError: there are none, or none with one of the labels; they cannot be read; one is at
            fault.
    """
    index, labels = IndexBuilder(folder), Counter[str]()
    total = source.rows()
    with (
        pa.OSFile(str(folder / _TABLE), "wb") as sink,
        pa.ipc.new_stream(sink, _SCHEMA) as writer,
        Meter(f"copy {source.identity}", total) as meter,
    ):
        for batch in _gathered(source):
            for counted in pc.value_counts(batch.column("label")).to_pylist():
                labels[counted["values"]] += counted["counts"]
            kept = batch
            if wanted:
                kept = batch.filter(pc.is_in(batch.column("label"), pa.array(wanted)))
            index.add(sentence_keys(kept), content_keys(kept))
            writer.write_batch(kept.select(_SCHEMA.names).cast(_SCHEMA))
            meter.at(labels.total())
            pa.default_memory_pool().release_unused()
    if not labels:
        raise InputError(
            "no candidates here", path=source.identity, remedy="its files hold no rows"
        )
    if missing := [label for label in wanted if label not in labels]:
        raise InputError(
            f"no candidate has the label {missing[0]!r}; there are: {', '.join(sorted(labels))}",
            path=source.identity,
            remedy="name other --labels",
        )
    labels = Counter({label: labels[label] for label in wanted}) if wanted else labels
    sentences, digest = index.finish()
    for name in _FILES:
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
    card = {
        "source": source.identity,
        "rows": labels.total(),
        "sentences": sentences,
        "labels": dict(sorted(labels.items())),
        "digest": digest,
        "bytes": {name: (folder / name).stat().st_size for name in _FILES},
    }
    write_json(folder / "card.json", card)


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
