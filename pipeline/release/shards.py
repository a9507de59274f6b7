"""The Parquet shards of a release: the same rows give the same bytes, and any prefix can be read alone.

The order of a release: a seeded shuffle that depends on a row's id alone, of any number of rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import blake2b
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts
from pipeline.core.parquet import regroup, select_like
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.engine import engine

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
    sizes = [(index + 1) * rows // count - index * rows // count for index in range(count)]
    groups = [[min(_ROW_GROUP, n - at) for at in range(0, n, _ROW_GROUP)] for n in sizes]
    feed = regroup(batches, chain(*groups, repeat(_ROW_GROUP)))
    entries, digests = [], []
    for index in range(count):
        name = f"{FOLDERS[config]}/train-{index:05d}-of-{count:05d}.parquet"
        digest = _write(folder / name, schema, islice(feed, len(groups[index])))
        facts = FileFacts.of(folder / name, digest.rows)
        digests.append(digest)
        entries.append({"file": name, "config": config, **asdict(facts), "digest": digest.hex()})
    whole = RowDigest.united(digests)
    found = whole.rows + sum(map(len, feed))
    if found != rows:
        raise InputError(
            f"{found:,} rows came of {rows:,}",
            path=folder, remedy="nobody must write into the corpus meanwhile: run the command again",
        )  # fmt: skip
    return entries, whole


def _write(path: Path, schema: pa.Schema, groups: Iterable[pa.RecordBatch]) -> RowDigest:
    digest = RowDigest()
    path.parent.mkdir(exist_ok=True)
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        write_page_index=True,
        use_content_defined_chunking=True,
    ) as writer:
        for group in groups:
            digest.add(group)
            writer.write_batch(group, row_group_size=_ROW_GROUP)
    return digest


SOURCE = pa.field("source", pa.list_(pa.string()))
"""The words of a row's source sentence; null where the source does not have it."""

_BATCH = 16_384
_THEN = ("candidate_id", "label", "generation", "fill", "score", "score_append", "score_prepend")
"""What orders rows with the same id: several empty fills of one reference have the same content."""


def key(seed: int, candidate_id: str) -> bytes:
    """What rows are sorted by, as bytes: the 16-byte BLAKE2b of ``seed:candidate_id``."""
    return blake2b(f"{seed}:{candidate_id}".encode(), digest_size=16).digest()


@contextmanager
def shuffled(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, seed: int, source: Path | None = None
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Rows in the order of a release; memory does not grow with them.

    Args:
        batches: rows of ``schema``, in any order.
        schema: their columns.
        seed: of the order.
        source: a ``sentences.parquet``; given, the rows get the column ``SOURCE``.

    Raises:
        InputError: ``batches`` does, or ``source`` cannot be read.
    """
    with TemporaryDirectory(prefix="conjoin-") as scratch:
        path = Path(scratch) / "rows.parquet"
        keyed = schema.append(pa.field("shuffle", pa.binary(16), nullable=False))
        with pq.ParquetWriter(path, keyed, compression="zstd") as writer:
            for batch in batches:
                ids = batch.column("candidate_id").to_pylist()
                keys = pa.array([key(seed, each) for each in ids], pa.binary(16))
                writer.write_batch(pa.RecordBatch.from_arrays([*batch.columns, keys], schema=keyed))
        with _joined([path], source, ["shuffle", *_THEN], schema) as rows:
            yield rows


@contextmanager
def with_source(
    files: Iterable[Path], schema: pa.Schema, source: Path
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The rows of some Parquet files as they stand there, with the column ``SOURCE``.

    Raises:
        InputError: a file cannot be read.
    """
    with _joined(list(files), source, ["file_index", "file_row_number"], schema) as rows:
        yield rows


@contextmanager
def _joined(
    files: list[Path], source: Path | None, order: Sequence[str], schema: pa.Schema
) -> Iterator[Iterator[pa.RecordBatch]]:
    wanted = schema if source is None else schema.append(SOURCE)
    columns = ", ".join(f'r."{name}"' for name in schema.names)
    rows = "read_parquet($files, file_row_number = true)"
    given: dict[str, object] = {"files": [str(path) for path in files]}
    if source is not None:
        columns += ", s.words AS source"
        rows += " r LEFT JOIN read_parquet($source) s USING (sentence_id)"
        given["source"] = str(source)
    else:
        rows += " r"
    with engine() as database:
        query = f"SELECT {columns} FROM {rows} ORDER BY {', '.join(f'r.{name}' for name in order)}"  # noqa: S608 - our own names
        reader: Any = database.sql(query, params=given).to_arrow_reader(_BATCH)
        yield _typed(reader, wanted, files[0])


def _typed(
    reader: Iterable[pa.RecordBatch], schema: pa.Schema, place: Path
) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        if len(batch):
            yield select_like(batch, schema, place)
