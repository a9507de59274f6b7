"""Parquet files that may be anything, read as far as they can be."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.batches import require_columns
from pipeline.ground.errors import InputError
from pipeline.ground.schema import CANDIDATES, REJECTS
from pipeline.mechanisms.candidate_check import Fault
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.rows import (
    RELEASED,
    RELEASED_REJECTS,
    STAND_OFF,
    STAND_OFF_REJECTS,
)
from pipeline.mechanisms.validation.violations import Violations

__all__ = ["Reading", "open_shard"]

_BATCH = 4096  # rows
_BUFFER = 2**20  # bytes; see ``pipeline.ground.batches``


@dataclass(frozen=True, slots=True)
class Reading:
    """A Parquet file whose footer can be read.

    Attributes:
        path: the file.
        name: its name in the corpus.
        schema: what it should hold.
        columns: those of the schema that it has, in types that can be read as the schema's.
        rejects: whether its rows are rejects.
        rows: how many rows its footer says it has.
        fingerprint: of the run that wrote it, if the footer says so.
    """

    path: Path
    name: str
    schema: pa.Schema
    columns: tuple[str, ...]
    rejects: bool
    rows: int
    fingerprint: str | None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, with ``columns`` as the file has them; raises whatever the decoder raises."""
        with pq.ParquetFile(
            self.path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        ) as file:
            yield from file.iter_batches(_BATCH, columns=list(self.columns), use_threads=False)

    def fitting(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[Fault], list[Fault]]:
        """A batch in the types of the schema, and the values that do not fit them.

        Returns:
            The batch, without columns that have numbers too large for their type; the faults of these;
            and those of rows with text that is not UTF-8, which must not be looked at.
        """
        columns, fields, large, alien = [], [], [], []
        for name in self.columns:
            field = self.schema.field(name)
            try:
                column = batch.column(name).cast(_loose(field.type))
            except pa.ArrowException as error:
                every = np.arange(len(batch))
                large.append(Fault("wrong column type", every, f"{name}: {error}"))
                continue
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                rows = np.array([i for i in range(len(column)) if not _is_valid(column[i : i + 1])])
                alien.append(Fault("text not UTF-8", rows.astype(np.int64), name))
            columns.append(column)
            fields.append(pa.field(name, column.type))
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)), large, alien


def _loose(kind: pa.DataType) -> pa.DataType:
    """The type with nulls allowed inside, which are counted instead."""
    if pa.types.is_list(kind):
        return pa.list_(_loose(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _loose(field.type)) for field in kind])
    return kind


def _is_valid(column: pa.Array) -> bool:
    try:
        # A copy of the row alone, since a slice is validated with all that lies around it.
        column.take(pa.array([0])).validate(full=True)
    except pa.ArrowException:
        return False
    return True


def open_shard(path: Path, shards: Shards, name: str, found: Violations) -> Reading | None:
    """Hold the columns of a file against the schema that it should have; None if it has none."""
    try:
        with pq.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            metadata = file.metadata.metadata or {}
    except Exception as error:  # damaged footers fail in many ways
        found.add("unreadable file", name, f"not a Parquet file: {error}")
        return None
    rejects = "reason" in schema.names if shards.kind == "file" else path in shards.rejects
    wanted = _schema(shards, schema, rejects)
    columns = []
    for field in wanted:
        if field.name not in schema.names:
            found.add("missing column", name, f"no column {field.name!r}")
            continue
        if schema.names.count(field.name) > 1:
            found.add("unexpected column", name, f"column {field.name!r} more than once")
            continue
        try:
            require_columns(schema, pa.schema([field]), name)
            columns.append(field.name)
        except InputError:
            told = f"column {field.name!r} is {schema.field(field.name).type}, not {field.type}"
            found.add("wrong column type", name, told)
    if shards.kind != "file":
        for extra in sorted(set(schema.names) - set(wanted.names)):
            found.add("unexpected column", name, f"column {extra!r} is in no schema of conjoin")
        shared = [each for each in schema.names if each in wanted.names]
        if len(set(shared)) == len(shared) and shared != [n for n in wanted.names if n in shared]:
            found.add("columns out of order", name, ", ".join(shared))
    fingerprint = metadata.get(b"conjoin.fingerprint")
    return Reading(
        path, name, wanted, tuple(columns), rejects, rows,
        None if fingerprint is None else fingerprint.decode("utf-8", "replace"),
    )  # fmt: skip


def _schema(shards: Shards, found: pa.Schema, rejects: bool) -> pa.Schema:
    bare = shards.kind == "file" and "words" not in found.names and "fill_words" in found.names
    if bare or shards.kind == "stand-off":
        return STAND_OFF_REJECTS if rejects else STAND_OFF
    # Only what `generate` wrote knows its run from the manifest alone.
    if shards.kind == "release" or "generation" in found.names:
        return RELEASED_REJECTS if rejects else RELEASED
    return REJECTS if rejects else CANDIDATES
