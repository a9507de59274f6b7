"""Columns of Parquet files that may come from another writer, in batches of bounded size."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.ground.errors import InputError

__all__ = ["column_names", "read_batches", "require_columns", "select_like", "value_counts"]

_BUFFER = 2**20
"""Bytes read at once of a column; without a buffer a whole row group would be, however large."""


def read_batches(path: Path, schema: pa.Schema, size: int = 4096) -> Iterator[pa.RecordBatch]:
    """Stream the columns of ``schema`` of a Parquet file, at most ``size`` rows at once.

    What the file has besides is not read. Memory depends neither on the file nor on its row groups.

    Raises:
        InputError: the file is missing or damaged, or ``select_like`` finds other columns.
    """
    try:
        with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            require_columns(file.schema_arrow, schema, path)
            for batch in file.iter_batches(size, columns=schema.names, use_threads=False):
                yield select_like(batch, schema, path)
    except FileNotFoundError as error:
        raise InputError(
            "no such file", path=path, remedy="run the stage that writes it"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"not a readable Parquet file: {error}", path=path, remedy="get or make it again"
        ) from error


def select_like(batch: pa.RecordBatch, schema: pa.Schema, place: Path | str) -> pa.RecordBatch:
    """The columns of a schema, in its types, of a batch that may have others besides.

    Other writers' integers and offsets have another width, their list elements another name, and
    all their columns may be null: that makes no difference.

    Args:
        batch: any rows.
        schema: the columns wanted.
        place: the file or dataset the rows are of, for the message.

    Raises:
        InputError: a column is missing or of another kind (a string for a number), or a number is
            too large for its type.
    """
    require_columns(batch.schema, schema, place)
    try:
        columns = [batch.column(field.name).cast(field.type) for field in schema]
    except pa.ArrowInvalid as error:
        raise InputError(f"a value does not fit its column: {error}", path=place) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def column_names(path: Path) -> list[str]:
    """The columns of a Parquet file; none if it cannot be read, which ``read_batches`` will say."""
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return []


def value_counts(column: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """How many rows have each text of a column."""
    return {str(each["values"]): each["counts"] for each in pc.value_counts(column).to_pylist()}


def require_columns(found: pa.Schema, wanted: pa.Schema, place: Path | str) -> None:
    """Hold the columns of a file against those wanted.

    Raises:
        InputError: one is missing or of another kind.
    """
    remedy = "these are not rows that conjoin wrote, or another version of it did"
    for field in wanted:
        index = found.get_field_index(field.name)
        if index < 0:
            raise InputError(f"column {field.name!r} is missing", path=place, remedy=remedy)
        kind = found.field(index).type
        if not _alike(kind, field.type):
            raise InputError(
                f"column {field.name!r} is {kind}, not {field.type}", path=place, remedy=remedy
            )


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type can be read as the other without another meaning."""
    kinds = pa.types
    if kinds.is_dictionary(found):
        return _alike(found.value_type, wanted)
    if kinds.is_list(wanted):
        lists = kinds.is_list(found) or kinds.is_large_list(found)
        return lists and _alike(found.value_type, wanted.value_type)
    if kinds.is_struct(wanted):
        names = {field.name: field.type for field in found} if kinds.is_struct(found) else {}
        return all(f.name in names and _alike(names[f.name], f.type) for f in wanted)
    for same in (kinds.is_integer, kinds.is_floating):
        if same(wanted):
            return bool(same(found))
    if kinds.is_string(wanted):
        return bool(kinds.is_string(found) or kinds.is_large_string(found))
    return bool(found.equals(wanted))
