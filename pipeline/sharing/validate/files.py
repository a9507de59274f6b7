"""The files of a corpus that may be broken: whether they are those of its lists, and their rows.

Unlike ``layout.find_shards`` and ``parquet.read_batches`` this goes on where something is wrong, and says
so: Parquet files may be anything, and are read as far as they can be.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.documents import parse_json, read_document_text, read_json
from pipeline.core.errors import InputError
from pipeline.core.files import leads_out, require_regular, sha256_of
from pipeline.core.parquet import LATER, MANIFEST, RECORDS, require_columns
from pipeline.core.schema import CANDIDATES, REJECTS
from pipeline.corpus.candidate_checks import Fault
from pipeline.corpus.layout import Shards, find_shards, lying_in
from pipeline.corpus.manifest import CHECKSUMS, manifest_faults, read_sums
from pipeline.corpus.rows import (
    RELEASED,
    RELEASED_REJECTS,
    STAND_OFF,
    STAND_OFF_REJECTS,
    TREE_COLUMNS,
    WITH_TREES,
)
from pipeline.corpus.validity.checks import BATCH
from pipeline.release.kinds.known import kind_of
from pipeline.sharing.validate.kinds import columns_of_kind
from pipeline.sharing.validate.violations import Violations

_DOCUMENTS = ("README.md", "LICENSE", "CITATION.cff", "croissant.json")


def take_stock(place: Path, found: Violations) -> Shards:
    """The shards of a corpus, as ``find_shards`` finds them where all is well.

    Raises:
        InputError: there is nothing to check.
    """
    if not place.is_dir():
        return find_shards(place)  # a file, or nothing
    manifest = _manifest(place / MANIFEST, found)
    shards = lying_in(place, manifest, split="")
    if not shards.accepted and not shards.rejects and manifest is None:
        return find_shards(place)  # which says what may be named
    if (place / RECORDS).is_dir() and not (place / MANIFEST).exists():
        found.add(
            "generation not finished",
            MANIFEST,
            "run again what made it (`conjoin generate`, `harvest`)",
        )
    released = shards.kind != "candidates"
    for fault in manifest_faults(manifest, released=released) if manifest is not None else ():
        wrong = "manifest incomplete" if fault.missing else "manifest unreadable"
        found.add(wrong, MANIFEST, fault.what)
    return shards


def _manifest(path: Path, found: Violations) -> Mapping[str, Any] | None:
    if not os.path.lexists(path):
        return None
    try:
        manifest = read_json(path, object, remedy="")
    except InputError as error:
        found.add("manifest unreadable", MANIFEST, str(error).removeprefix(f"{path}: "))
        return None
    if not isinstance(manifest, dict):
        found.add("manifest unreadable", MANIFEST, "not an object")
        return None
    return manifest


def readable_sum(path: Path) -> str | None:
    """SHA-256 of a file in hex digits; None where there is no file that can be read."""
    try:
        return sha256_of(path) if path.is_file() else None
    except (OSError, InputError):
        return None


SumOf = Callable[[Path], str | None]
"""``readable_sum``, remembered: files are long."""


def check_files(shards: Shards, sum_of: SumOf, found: Violations) -> None:
    """Hold a folder's files against ``SHA256SUMS``, and a release against what belongs into one."""
    if shards.kind == "file":
        return
    place = shards.place
    if shards.kind != "candidates":
        for name in (MANIFEST, CHECKSUMS):
            if not (place / name).is_file():
                found.add("file missing", name, "every release has it")
        for name in _DOCUMENTS:
            _check_document(place / name, found)
    _check_entries(shards, found)
    if (place / CHECKSUMS).is_file():
        _check_sums(place, sum_of, found)


def _check_entries(shards: Shards, found: Violations) -> None:
    """What lies in the folder is a file or a folder; a release's links stay in it, and no other shards do."""
    released = shards.kind != "candidates"
    own = {*shards.accepted, *shards.rejects}
    for path, name in _entries(shards.place):
        if path.is_symlink() and released and leads_out(shards.place, path):
            found.add("link out of the corpus", name, "it leads to what is none of the corpus")
        elif not path.is_file() and not path.is_dir():
            found.add("not a regular file", name, "nothing can be read from it")
        elif released and path.suffix == ".parquet" and path.is_file() and path not in own:
            found.add("shard not in manifest", name, "it does not lie where shards do")


def _entries(place: Path) -> Iterator[tuple[Path, str]]:
    """Everything below a folder and its name there, but for what git or a hub's client keeps beside it."""
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts):
            yield path, name


def _check_document(path: Path, found: Violations) -> None:
    if not path.is_file():
        found.add("document missing", path.name, "every release has it")
        return
    try:
        text = read_document_text(path)
        if not text.strip():
            found.add("document empty", path.name, "nothing stands in it")
        elif path.suffix == ".json":
            parse_json(text, remedy="")
    except InputError as error:
        found.add("document unreadable", path.name, str(error).removeprefix(f"{path}: "))


def _check_sums(place: Path, sum_of: SumOf, found: Violations) -> None:
    listed = set()
    try:
        lines = read_sums(place / CHECKSUMS)
    except InputError as error:
        found.add("unreadable file", CHECKSUMS, str(error).removeprefix(f"{place / CHECKSUMS}: "))
        return
    for line in lines:
        if line.name is None:
            what = f"line {line.number}: {line.text!r}"
            found.add("line of SHA256SUMS unreadable", CHECKSUMS, what)
            continue
        listed.add(line.name)
        actual = sum_of(place / line.name)
        if actual is None:
            found.add("file missing", line.name, "SHA256SUMS lists it")
        elif actual != line.sha256:
            found.add(
                "checksum differs", line.name, f"it is {actual}, SHA256SUMS has {line.sha256}"
            )
    for path, name in _entries(place):
        if path.is_file() and name != CHECKSUMS and name not in listed:
            found.add("file not in SHA256SUMS", name, "nothing says what it should hold")


_BUFFER = 2**20  # bytes; see ``pipeline.core.parquet``


@dataclass(frozen=True, slots=True)
class Reading:
    """A Parquet file whose footer can be read.

    Attributes:
        path: the file.
        name: its name in the corpus.
        schema: what it should hold; without the columns of ``LATER`` that it lacks.
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
            self.path.absolute(),
            buffer_size=_BUFFER,
            pre_buffer=False,
            page_checksum_verification=True,
        ) as file:
            yield from file.iter_batches(BATCH, columns=list(self.columns), use_threads=False)

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
        require_regular(path)
        with pq.ParquetFile(path.absolute()) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            metadata = file.metadata.metadata or {}
    except Exception as error:  # damaged footers fail in many ways
        found.add("unreadable file", name, f"not a Parquet file: {error}")
        return None
    rejects = "reason" in schema.names if shards.kind == "file" else path in shards.rejects
    missing = LATER - set(schema.names)
    wanted = pa.schema(f for f in _schema(shards, schema, rejects) if f.name not in missing)
    columns = []
    for each in wanted:
        if each.name not in schema.names:
            found.add("missing column", name, f"no column {each.name!r}")
            continue
        if schema.names.count(each.name) > 1:
            found.add("unexpected column", name, f"column {each.name!r} more than once")
            continue
        try:
            require_columns(schema, pa.schema([each]), name)
            columns.append(each.name)
        except InputError:
            what = f"column {each.name!r} is {schema.field(each.name).type}, not {each.type}"
            found.add("wrong column type", name, what)
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
    if (kind := kind_of(shards)) is not None:
        return columns_of_kind(kind, shards, found, rejects=rejects)
    bare = shards.kind == "file" and "words" not in found.names and "fill_words" in found.names
    if bare or shards.kind == "stand-off":
        return STAND_OFF_REJECTS if rejects else STAND_OFF
    # Only what `generate` wrote knows its run from the manifest alone.
    if not rejects and set(TREE_COLUMNS.names) & set(found.names):
        return WITH_TREES
    if shards.kind == "release" or "generation" in found.names:
        return RELEASED_REJECTS if rejects else RELEASED
    return REJECTS if rejects else CANDIDATES
