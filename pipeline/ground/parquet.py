"""Parquet files with explicit schemas: written whole or not at all, read as streams of rows."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.errors import InputError
from pipeline.ground.files import atomic

__all__ = ["MANIFEST", "RECORDS", "read_rows", "write_rows", "write_table"]

MANIFEST = "manifest.json"
"""File of a folder of shards that is written when all of them stand."""

RECORDS = ".units"
"""Subfolder of a folder of shards with the commit records of its units."""

_ROW_GROUP = 4096
"""Rows that are read together: a worker that needs a part of a file reads little more than that."""


def write_rows(
    path: Path,
    schema: pa.Schema,
    rows: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, str] | None = None,
) -> int:
    """Write rows to one Parquet file atomically; returns how many.

    ``metadata`` goes into the schema metadata of the file footer (``pq.read_schema`` shows it).

    Raises:
        InputError: a row does not fit the schema, or the folder cannot be written to.
    """
    try:
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"a row does not fit the schema: {error}", path=path) from error
    write_table(path, table if metadata is None else table.replace_schema_metadata(dict(metadata)))
    return int(table.num_rows)


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table to one Parquet file atomically.

    Raises:
        InputError: the folder cannot be written to.
    """
    with atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", row_group_size=_ROW_GROUP)


def read_rows(path: Path, schema: pa.Schema, rows: range | None = None) -> Iterator[dict[str, Any]]:
    """Stream the rows of one Parquet file as dictionaries.

    Args:
        path: the file.
        schema: what it must hold.
        rows: which of its rows, consecutive; None: all. Row groups without them are not read.

    Raises:
        InputError: the file is missing, damaged, or has another schema.
    """
    try:
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema):
                wrong = sorted(set(schema) ^ set(file.schema_arrow), key=str)
                names = ", ".join(dict.fromkeys(f.name for f in wrong))
                raise InputError(
                    f"another schema than conjoin writes (differs in: {names})",
                    path=path,
                    remedy="make the file again with this version",
                )
            wanted = range(file.metadata.num_rows) if rows is None else rows
            first, groups = _groups(file.metadata, wanted)
            for batch in file.iter_batches(row_groups=groups):
                part = range(max(wanted.start - first, 0), min(wanted.stop - first, len(batch)))
                yield from batch.slice(part.start, len(part)).to_pylist()
                first += len(batch)
    except FileNotFoundError as error:
        raise InputError(
            "no such file", path=path, remedy="run the stage that writes it"
        ) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}", path=path) from error


def _groups(metadata: pq.FileMetaData, wanted: range) -> tuple[int, list[int]]:
    """The row groups that hold some of the rows, and the row at which the first of them begins."""
    begin = first = 0
    groups: list[int] = []
    for group in range(metadata.num_row_groups):
        end = begin + metadata.row_group(group).num_rows
        if begin < wanted.stop and wanted.start < end:
            first = first if groups else begin
            groups.append(group)
        begin = end
    return first, groups
