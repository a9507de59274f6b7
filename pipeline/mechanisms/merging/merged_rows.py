"""Rows of several corpora in shards of a folder: those that are new, in the order of the corpora."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.batches import value_counts
from pipeline.ground.console import Meter
from pipeline.ground.errors import InputError
from pipeline.ground.files import sha256_of
from pipeline.mechanisms.sharing.digest import RowDigest

__all__ = ["MergedRows", "Read"]

_GROUP = 10_000  # rows of a row group; they are in memory at once
_GROUPS = 20  # of a shard


@dataclass(frozen=True, slots=True)
class Read:
    """Rows that were read: how many, how many of them were kept, and their row digest."""

    rows: int
    kept: int
    digest: str


class MergedRows:
    """One kind of rows (candidates, or rejects) of several corpora.

    Args:
        name: what the files' names begin with.
        schema: the columns.
        new: which of all rows to keep, in the order of the corpora, shape (rows,).

    Attributes:
        inputs: what was read of each corpus.
        whole: what was written; all of it is kept.
        shards: what a manifest says of each file.
        generations: rows written by the run that made them.
        reasons: rejects written by their reason.
    """

    def __init__(self, name: str, schema: pa.Schema, new: npt.NDArray[np.bool_]) -> None:
        self._name, self._schema, self._new = name, schema, new
        self.inputs: list[Read] = []
        self.whole = Read(0, 0, RowDigest().hex())
        self.shards: list[dict[str, Any]] = []
        self.generations: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    def write(
        self, folder: Path, corpora: Iterable[Iterable[pa.RecordBatch]], meter: Meter
    ) -> None:
        """Write the new rows; a file without any if there are none.

        Args:
            folder: where the files go.
            corpora: the rows of each corpus.
            meter: is told of every row read.

        Raises:
            InputError: as the reading of the corpora; or one of them has more rows than ``new``.
        """
        groups = _regrouped(self._new_rows(corpora, meter), self._schema)
        count = max(-(-int(self._new.sum()) // (_GROUP * _GROUPS)), 1)
        digests = []
        for index in range(count):
            path = folder / f"{self._name}-{index:05d}-of-{count:05d}.parquet"
            digests.append(self._write_shard(path, islice(groups, _GROUPS)))
        next(groups, None)  # reads what is left of the corpora: rows that are not new
        digest = RowDigest.united(digests)
        self.whole = Read(digest.rows, digest.rows, digest.hex())

    def _new_rows(
        self, corpora: Iterable[Iterable[pa.RecordBatch]], meter: Meter
    ) -> Iterator[pa.RecordBatch]:
        begin = 0
        for batches in corpora:
            digest, kept = RowDigest(), 0
            for batch in batches:
                digest.add(batch)
                new = self._new[begin : begin + len(batch)]
                begin += len(batch)
                if len(new) < len(batch):
                    raise InputError("a corpus grew while it was read", remedy="merge again")
                kept += int(new.sum())
                yield batch.filter(pa.array(new))
                meter.advance(len(batch))
            self.inputs.append(Read(digest.rows, kept, digest.hex()))

    def _write_shard(self, path: Path, tables: Iterable[pa.Table]) -> RowDigest:
        digest = RowDigest()
        with pq.ParquetWriter(path, self._schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table, row_group_size=_GROUP)
                for batch in table.to_batches():
                    digest.add(batch)
                self.generations.update(value_counts(table["generation"]))
                if "reason" in table.column_names:
                    self.reasons.update(value_counts(table["reason"]))
        self.shards.append(
            {
                "file": path.name,
                "rows": digest.rows,
                "bytes": path.stat().st_size,
                "sha256": sha256_of(path),
                "digest": digest.hex(),
            }
        )
        return digest


def _regrouped(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in tables of ``_GROUP`` rows, so that files do not tell how they were read."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        while rows >= _GROUP:
            table = pa.Table.from_batches(waiting, schema)
            yield table.slice(0, _GROUP).combine_chunks()
            waiting, rows = table.slice(_GROUP).to_batches(), rows - _GROUP
    if rows:
        yield pa.Table.from_batches(waiting, schema).combine_chunks()
