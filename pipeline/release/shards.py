"""The Parquet shards of a release: the same rows give the same bytes, and any prefix can be read alone.

Their order is a seeded shuffle that depends on a row's id alone, of any number of rows.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.cards.candidates import Config, ReleasedShard
from pipeline.core.errors import InputError
from pipeline.core.parquet import LATER, column_names, regroup, select_like
from pipeline.core.structures import MOST_CONJUNCTS
from pipeline.core.types import COLUMNS
from pipeline.corpus import rows
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.engine import engine, parquet
from pipeline.corpus.writing import write_shard

CONFIGS = {
    "train": ("default", "data"),
    "rejected": ("rejected", "rejected"),
}
"""What a manifest calls the configurations of a release, usable candidates and rejects: the name that
loaders know each by, and the folder of its shards."""

RELEASED = {"train": rows.RELEASED, "rejected": rows.RELEASED_REJECTS}
STAND_OFF = {"train": rows.STAND_OFF, "rejected": rows.STAND_OFF_REJECTS}
"""The columns of a configuration's rows, with their text and without it."""

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
) -> tuple[list[ReleasedShard], RowDigest]:
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
    sizes = [(index + 1) * rows // count - index * rows // count for index in range(count)]
    groups = [[min(_ROW_GROUP, n - at) for at in range(0, n, _ROW_GROUP)] for n in sizes]
    feed = regroup(batches, chain(*groups, repeat(_ROW_GROUP)))
    entries: list[ReleasedShard] = []
    digests = []
    for index in range(count):
        name = f"{CONFIGS[config][1]}/train-{index:05d}-of-{count:05d}.parquet"
        parts = islice(feed, len(groups[index]))
        (folder / name).parent.mkdir(exist_ok=True)
        digest, facts = write_shard(
            folder / name, schema, parts, write_page_index=True, use_content_defined_chunking=True
        )
        digests.append(digest)
        entries.append({
            "file": name, "config": cast(Config, config), "rows": digest.rows, "bytes": facts.bytes,
            "sha256": facts.sha256, "digest": digest.hex(),
        })  # fmt: skip
    whole = RowDigest.united(digests)
    found = whole.rows + sum(map(len, feed))
    if found != rows:
        raise InputError(
            f"{found:,} rows came of {rows:,}",
            path=folder, remedy="nobody must write into the corpus meanwhile: run the command again",
        )  # fmt: skip
    return entries, whole


SOURCE = pa.field("source", pa.list_(pa.string()))
"""The words of a row's source sentence; null where the source does not have it."""

DONATED = pa.field("donated", pa.list_(pa.string()))
"""The words of a row's donor; null where there is none, or the source does not have its sentence. Fewer
than the donor's span has if that reaches beyond its sentence."""

DONATED_MIDDLE = pa.field("donated_middle", pa.list_(pa.list_(pa.string())))
"""The same of its ``middle_donors``, in their order: no more than generation can have given it."""

_BATCH = 16_384
_THEN = (
    "candidate_id", "label", "generation", "fill", "score", "score_append", "score_prepend", "donor",
    "middle_donors",
)  # fmt: skip
"""What orders rows with the same id: several empty fills of one reference have the same content."""
_AT_LAST = [
    each.name for each in COLUMNS if each.since > 1 and each.digest and each.name not in _THEN
]
"""What came later orders them where nothing else does."""


def key(seed: int, candidate_id: str) -> bytes:
    """What rows are sorted by, as bytes: the 16-byte BLAKE2b of ``seed:candidate_id``."""
    return blake2b(f"{seed}:{candidate_id}".encode(), digest_size=16).digest()


@contextmanager
def stored(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[Path]:
    """A Parquet file of the rows, which lasts as long as the context."""
    with TemporaryDirectory(prefix="conjoin-") as scratch:
        path = Path(scratch) / "rows.parquet"
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        yield path


@contextmanager
def shuffled(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    seed: int,
    then: Sequence[str] = (*_THEN, *_AT_LAST),
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Rows in the order of a release; memory does not grow with them.

    Args:
        batches: rows of ``schema``, in any order; all are read when the context is entered.
        schema: their columns.
        seed: of the order.
        then: columns that order rows with the same id.

    Raises:
        InputError: ``batches`` does.
    """
    keyed = schema.append(pa.field("shuffle", pa.binary(16), nullable=False))

    def with_keys() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = batch.column("candidate_id").to_pylist()
            keys = pa.array([key(seed, each) for each in ids], pa.binary(16))
            yield pa.RecordBatch.from_arrays([*batch.columns, keys], schema=keyed)

    order = ", ".join(["shuffle", *(f'"{name}"' for name in then)])
    columns = ", ".join(f'"{name}"' for name in schema.names)
    rows = f"SELECT {columns} FROM part ORDER BY {order}"  # noqa: S608 - our own names
    with stored(with_keys(), keyed) as path, engine(_SORTING) as database:

        def ordered() -> Generator[pa.RecordBatch]:
            for part in _parts(path):
                database.register("part", part)
                yield from _typed(database.sql(rows), schema, path)

        with closing(ordered()) as found:
            yield found


_SORTING = "400MB"
"""What a part may need to be sorted: DuckDB keeps its rows in memory, whatever it may put on disk."""

_TOGETHER = 1 << 17
"""Rows that are sorted in one part."""

_WAITING = 1 << 15
"""Rows that wait for their part's file."""


def _parts(path: Path) -> Iterator[pa.Table]:
    """The rows of a file in the order of the first byte of their key; all together where there are few."""
    with (
        # Not `core.parquet.opened`: what goes wrong with a file of our own is the disk's fault.
        pq.ParquetFile(path, pre_buffer=False) as file,
        TemporaryDirectory(prefix="conjoin-") as scratch,
    ):
        if file.metadata.num_rows <= _TOGETHER:
            yield file.read()
            return
        parts = _ByFirstByte(Path(scratch), file.schema_arrow)
        for batch in file.iter_batches(_BATCH):
            parts.add(batch)
        yield from parts.read()


class _ByFirstByte:
    """Rows by the first byte of their key, a file each."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._paths = [folder / f"{byte:03}" for byte in range(256)]
        self._writers = [pa.ipc.new_stream(path, schema, options=options) for path in self._paths]
        self._waiting: list[list[pa.RecordBatch]] = [[] for _ in self._paths]
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Put each row of a batch with those of its part."""
        keys = np.frombuffer(b"".join(batch.column("shuffle").to_pylist()), np.uint8)[::16]
        order = np.argsort(keys, kind="stable")
        batch = batch.take(pa.array(order))
        bounds = np.searchsorted(keys[order], np.arange(257))
        for byte, waiting in enumerate(self._waiting):
            first, last = int(bounds[byte]), int(bounds[byte + 1])
            if first < last:
                waiting.append(batch.slice(first, last - first))
        self._rows += len(batch)
        if self._rows >= _WAITING:
            self._write()

    def _write(self) -> None:
        for waiting, writer in zip(self._waiting, self._writers, strict=True):
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting).combine_chunks())
                waiting.clear()
        self._rows = 0

    def read(self) -> Iterator[pa.Table]:
        """The parts, one after the other; there is nothing to add any more."""
        self._write()
        for writer in self._writers:
            writer.close()
        for path in self._paths:
            with pa.ipc.open_stream(path) as reader:
                yield reader.read_all()


@contextmanager
def with_source(
    files: Sequence[Path], schema: pa.Schema, source: Path
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The rows of some Parquet files as they stand there, with ``SOURCE`` and the ``DONATED`` columns.

    Args:
        files: at least one, with the columns of ``schema``; all of them lack those of ``LATER`` that
            the first lacks.
        schema: of the rows.
        source: a ``sentences.parquet``.

    Raises:
        InputError: a file cannot be read.
    """
    there = set(schema.names) - (LATER - set(column_names(files[0])))
    columns = ", ".join(f'r."{name}"' for name in schema.names if name in there)
    donated, join = "NULL::VARCHAR[]", ""
    if "donor" in there:
        donated = """d.words[r.donor."start" + 1 : r.donor."end"]"""
        join = f"LEFT JOIN {parquet(source)} d ON d.sentence_id = r.donor.sentence_id"
    with engine(files=(*files, source)) as database:
        middle = "NULL::VARCHAR[][]"
        if "middle_donors" in there and _any_middle(database, files):
            every = []
            for k in range(1, MOST_CONJUNCTS - 1):
                donor = f"r.middle_donors[{k}]"
                join += (
                    f" LEFT JOIN {parquet(source)} d{k} ON d{k}.sentence_id = {donor}.sentence_id"
                )
                every.append(f'd{k}.words[{donor}."start" + 1 : {donor}."end"]')
            middle = (
                "CASE WHEN len(r.middle_donors) > 0 THEN "
                f"[{', '.join(every)}][: len(r.middle_donors)] END"
            )
        rows = f"""SELECT {columns}, s.words AS source, {donated} AS donated,
            {middle} AS donated_middle
            FROM {parquet(*files)} r
            LEFT JOIN {parquet(source)} s ON s.sentence_id = r.sentence_id {join}
            ORDER BY r.file_index, r.file_row_number"""  # noqa: S608 - our own names
        whole = schema.append(SOURCE).append(DONATED).append(DONATED_MIDDLE)
        yield _typed(database.sql(rows), whole, files[0])


def _any_middle(database: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> bool:
    """Whether a row has such donors; few corpora do, and the others need not look for them."""
    asked = f"SELECT 1 FROM {parquet(*files)} WHERE len(middle_donors) > 0 LIMIT 1"  # noqa: S608 - ours
    return bool(database.execute(asked).fetchall())


def _typed(rows: Any, schema: pa.Schema, place: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a query with the exact types of a schema."""
    for batch in rows.to_arrow_reader(_BATCH):
        if len(batch):
            yield select_like(batch, schema, place)
