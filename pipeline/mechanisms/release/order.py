"""The order of a release: a seeded shuffle that depends on a row's id alone, of any number of rows."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.batches import select_like
from pipeline.mechanisms.sharing.engine import engine

__all__ = ["SOURCE", "key", "shuffled", "with_source"]

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
