"""The Parquet shards of a release: the same rows give the same bytes, and any prefix can be read alone."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.errors import InputError
from pipeline.mechanisms.commits import FileFacts
from pipeline.mechanisms.sharing.digest import RowDigest

__all__ = ["FOLDERS", "shard_count", "write_shards"]

FOLDERS = {"train": "data", "rejected": "rejected"}
"""Where the shards of a configuration lie in a release."""

_ROW_GROUP = 16_384
_PER_SHARD = 200_000


def shard_count(rows: int, wanted: int | None = None) -> int:
    """How many shards some rows get: as many as wanted, else one for every 200,000 begun.

    Raises:
        InputError: there are fewer rows than shards.
    """
    if wanted is not None and rows < wanted:
        raise InputError(
            f"{rows:,} usable candidates cannot fill {wanted:,} shards",
            remedy="ask for fewer with --shards, or leave it out",
        )
    return wanted or max(1, -(-rows // _PER_SHARD))


def write_shards(
    folder: Path,
    config: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    rows: int,
    count: int,
) -> tuple[list[dict[str, Any]], RowDigest]:
    """Write rows as ``count`` files whose sizes differ by a row at most.

    Args:
        folder: the release.
        config: ``train`` or ``rejected``.
        schema: of the rows.
        batches: the rows, in their order, however cut.
        rows: how many they are.
        count: of shards.

    Returns:
        What ``manifest.json`` says of each file, and the digest of all rows.

    Raises:
        InputError: the rows are not so many.
    """
    feed = _Feed(batches, schema)
    entries, digests = [], []
    for index in range(count):
        name = f"{FOLDERS[config]}/train-{index:05d}-of-{count:05d}.parquet"
        size = (index + 1) * rows // count - index * rows // count
        digest = _write(folder / name, feed, size)
        facts = FileFacts.of(folder / name, digest.rows)
        digests.append(digest)
        entries.append({"file": name, "config": config, **asdict(facts), "digest": digest.hex()})
    whole = RowDigest.united(digests)
    if whole.rows + feed.left() != rows:
        raise InputError(
            f"{whole.rows + feed.left():,} rows came of {rows:,}",
            path=folder, remedy="nobody must write into the corpus meanwhile: run the command again",
        )  # fmt: skip
    return entries, whole


def _write(path: Path, feed: "_Feed", rows: int) -> RowDigest:
    digest = RowDigest()
    path.parent.mkdir(exist_ok=True)
    with pq.ParquetWriter(
        path,
        feed.schema,
        compression="zstd",
        write_page_index=True,
        use_content_defined_chunking=True,
    ) as writer:
        for table in feed.take(rows):
            for batch in table.to_batches():
                digest.add(batch)
            writer.write_table(table, row_group_size=_ROW_GROUP)
    return digest


class _Feed:
    """Rows from batches of any size, in tables that hold a row group each."""

    def __init__(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
        self.schema = schema
        self._batches = iter(batches)
        self._rest: pa.RecordBatch | None = None

    def take(self, rows: int) -> Iterator[pa.Table]:
        """The next so many rows, or what is left of them."""
        while rows > 0:
            wanted = min(rows, _ROW_GROUP)
            parts = list(self._slices(wanted))
            if not parts:
                return
            # In one piece, so that how the rows came makes no difference to the bytes.
            table = pa.Table.from_batches(parts, self.schema).combine_chunks()
            rows -= table.num_rows
            yield table

    def left(self) -> int:
        """Count what nobody took."""
        return sum(len(part) for part in self._slices(2**62))

    def _slices(self, wanted: int) -> Iterator[pa.RecordBatch]:
        while wanted > 0:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            if batch is None:
                return
            part = batch.slice(0, wanted)
            self._rest = batch.slice(wanted) if len(batch) > wanted else None
            wanted -= len(part)
            yield part
