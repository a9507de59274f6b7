"""Parquet files with explicit schemas: written whole or not at all, read as streams.

conjoin's own files are read as rows (``read_rows``); files that may come from another writer as
batches of bounded size with the columns that are wanted (``read_batches``).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.core.errors import InputError
from pipeline.core.files import atomic, require_regular
from pipeline.core.types import COLUMNS

MANIFEST = "manifest.json"
"""File of a folder of shards that is written when all of them stand."""

LATER = frozenset(each.name for each in COLUMNS if each.since > 1)
"""Columns that files may lack, because earlier versions did not write them: all null there."""

RECORDS = ".units"
"""Subfolder of a folder of shards with the commit records of its units."""

COMPLETIONS = "completions"
"""How the files there begin with what a language model behind an address answered, unit by unit."""

FINGERPRINT = "conjoin.fingerprint"
"""Key in the footer of a shard: what its run made it of. One that is made of all shards has the manifest's
SHA-256 there."""

_ROW_GROUP = 4096
"""Rows that are read together: a worker that needs a part of a file reads little more than that."""

_AT_ONCE = 16 * _ROW_GROUP
"""Rows that are in memory together where a file is written: whole groups."""


def write_rows(
    path: Path,
    schema: pa.Schema,
    rows: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, str] | None = None,
) -> int:
    """Write rows to one Parquet file atomically; returns how many. Memory does not grow with them.

    ``metadata`` goes into the schema metadata of the file footer (``pq.read_schema`` shows it).

    Raises:
        InputError: a row does not fit the schema, or the folder cannot be written to.
    """
    kept = schema if metadata is None else schema.with_metadata(dict(metadata))
    source, count = iter(rows), 0
    with atomic(path) as temporary, pq.ParquetWriter(temporary, kept, compression="zstd") as writer:
        while part := [dict(row) for row in islice(source, _AT_ONCE)]:
            try:
                table = pa.Table.from_pylist(part, schema=kept)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise InputError(f"a row does not fit the schema: {error}", path=path) from error
            writer.write_table(table, _ROW_GROUP)
            count += len(part)
    return count  # of none there is no group: `datasets` reads none without rows


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table to one Parquet file atomically; without rows it has no group, either.

    Raises:
        InputError: the folder cannot be written to.
    """
    with (
        atomic(path) as temporary,
        pq.ParquetWriter(temporary, table.schema, compression="zstd") as writer,
    ):
        if table.num_rows:
            writer.write_table(table, _ROW_GROUP)


def read_rows(path: Path, schema: pa.Schema, rows: range | None = None) -> Iterator[dict[str, Any]]:
    """Stream the rows of one Parquet file as dictionaries.

    Args:
        path: the file.
        schema: what it must hold; a column that may have nulls there may be one without any in the file.
        rows: which of its rows, consecutive; None: all. Row groups without them are not read.

    Raises:
        InputError: the file is missing, damaged, or has another schema.
    """
    with opened(path) as file:
        if wrong := _differences(file.schema_arrow, schema):
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


def _differences(found: pa.Schema, wanted: pa.Schema) -> list[pa.Field]:
    """The fields of either that the other has not; none where ``found`` may be read as ``wanted``."""
    if found.names == wanted.names:
        # An earlier version may have written as required what may be null by now.
        found = pa.schema(
            one.with_nullable(other.nullable) if other.nullable else one
            for one, other in zip(found, wanted, strict=True)
        )
    if found.equals(wanted):
        return []
    return sorted(set(wanted) ^ set(found), key=str)


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[pq.ParquetFile]:
    """A Parquet file for reading; what is wrong with it, also later on, becomes an ``InputError``.

    Nothing is read ahead: what is, pyarrow keeps until the last row, and in the end the whole file.

    Args:
        path: the file.
        options: of ``pq.ParquetFile``.
    """
    require_regular(path)
    try:
        # Relative names may look like a home folder (~) or an address (file:), and would be taken for one.
        with pq.ParquetFile(path.absolute(), pre_buffer=False, **options) as file:
            yield file
    except FileNotFoundError as error:
        raise InputError(
            "no such file", path=path, remedy="run the stage that writes it"
        ) from error
    except UnicodeEncodeError as error:
        raise InputError(
            "a name that is not UTF-8", path=repr(str(path)), remedy="give it another name"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"not a readable Parquet file: {error}",
            path=path,
            remedy="download or generate it again",
        ) from error


def read_schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file and the metadata of its footer; no more of it is read.

    Raises:
        InputError: the file is missing, no regular file, or damaged.
    """
    with opened(path) as file:
        return file.schema_arrow


def fingerprint_in(path: Path) -> str | None:
    """What a run wrote into the footer of a file of its own; None: it is none of a run."""
    try:
        found = (read_schema(path).metadata or {}).get(FINGERPRINT.encode())
    except InputError:
        return None
    return None if found is None else str(found.decode(errors="replace"))


def row_count(path: Path) -> int:
    """How many rows the footer of a Parquet file says it has.

    Raises:
        InputError: as ``read_schema``.
    """
    with opened(path) as file:
        return int(file.metadata.num_rows)


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


_BUFFER = 2**20
"""Bytes read at once of a column; without a buffer a whole row group would be, however large."""


def read_batches(path: Path, schema: pa.Schema, size: int = 4096) -> Iterator[pa.RecordBatch]:
    """Stream the columns of ``schema`` of a Parquet file, at most ``size`` rows at once.

    What the file has besides is not read; a column of ``LATER`` that it lacks is null. Memory depends
    neither on the file nor on its row groups.

    Raises:
        InputError: the file is missing or damaged, or ``select_like`` finds other columns.
    """
    with opened(path, buffer_size=_BUFFER) as file:
        require_columns(file.schema_arrow, schema, path)
        for batch in file.iter_batches(size, columns=schema.names, use_threads=False):
            yield select_like(batch, schema, path)


def regroup(batches: Iterable[pa.RecordBatch], sizes: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of these sizes; the last is smaller where the rows are used up.

    Each is copied into one piece, so that how the rows came makes no difference to what is written.
    """
    source, rest = iter(batches), list[pa.RecordBatch]()
    for size in sizes:
        parts, wanted = list[pa.RecordBatch](), size
        while wanted and (batch := rest.pop() if rest else next(source, None)) is not None:
            parts.append(batch.slice(0, wanted))
            rest += [batch.slice(wanted)] if len(batch) > wanted else []
            wanted -= len(parts[-1])
        if wanted == size:
            return
        yield pa.concat_batches(parts)


def select_like(batch: pa.RecordBatch, schema: pa.Schema, place: Path | str) -> pa.RecordBatch:
    """The columns of a schema, in its types, of a batch that may have others besides.

    Other writers' integers and offsets have another width, their list elements another name, and
    all their columns may be null: that makes no difference. A column of ``LATER`` that is not there
    comes out null.

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
        columns = [_column(batch, field) for field in schema]
    except pa.ArrowInvalid as error:
        raise InputError(f"a value does not fit its column: {error}", path=place) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    kind, there = field.type, field.name in batch.schema.names
    column = batch.column(field.name) if there else pa.nulls(len(batch), kind)
    if not (pa.types.is_struct(kind) and column.null_count):
        return column.cast(kind)
    # Where a struct is null, so may its fields be; if they may not be null, nobody casts or writes that.
    valid = np.asarray(column.is_valid())
    blank = pa.array([{f.name: "" if pa.types.is_string(f.type) else 0 for f in kind}], kind)
    rows = pa.concat_arrays([column.drop_null().cast(kind), blank])
    parts = rows.take(pa.array(np.where(valid, np.cumsum(valid) - 1, len(rows) - 1))).flatten()
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=pa.array(~valid))


ABOUT_ROWS = "`conjoin validate` says in which rows"
"""The remedy for rows that are damaged."""


def require_text(batch: pa.RecordBatch, place: Path | str) -> pa.RecordBatch:
    """The batch, if its text is UTF-8, which other writers do not see to.

    Raises:
        InputError: it is not.
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError("text that is not UTF-8", path=place, remedy=ABOUT_ROWS) from error
    return batch


def column_names(path: Path) -> list[str]:
    """The columns of a Parquet file; none if it cannot be read, which ``read_batches`` will say."""
    try:
        return list(read_schema(path).names)
    except InputError:
        return []


def value_counts(column: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """How many rows have each text of a column."""
    return {str(each["values"]): each["counts"] for each in pc.value_counts(column).to_pylist()}


def require_columns(found: pa.Schema, wanted: pa.Schema, place: Path | str) -> None:
    """Check that a file has the wanted columns but those of ``LATER``, of types that read as theirs.

    Raises:
        InputError: one is missing or of another kind.
    """
    remedy = "these are not rows that conjoin wrote, or another version of it did"
    for field in wanted:
        index = found.get_field_index(field.name)
        if index < 0 and field.name in LATER:
            continue
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
        wants = {field.name: field.type for field in wanted}
        return names.keys() == wants.keys() and all(_alike(names[n], wants[n]) for n in wants)
    for same in (kinds.is_integer, kinds.is_floating):
        if same(wanted):
            return bool(same(found))
    if kinds.is_string(wanted):
        return bool(kinds.is_string(found) or kinds.is_large_string(found))
    return bool(found.equals(wanted))
