"""SQL queries over a corpus's Parquet files with DuckDB, in bounded memory."""

import os
import re
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.files import require_regular
from pipeline.core.parquet import column_names, opened, read_schema, require_columns
from pipeline.corpus.layout import Shards

# Beyond this, sorts and groups go to a temporary folder. With four times as much they are no faster
# (three million rows, benchmarks/sharing/memory_by_rows.py), and take it.
_MEMORY = "100MB"
_FILE = re.compile(r"""["']([^"'\n]+\.parquet)["']""")
_PREFIX = re.compile(r"""^[\w ]*Error: (Failed to read file "[^"]*": )?""")
_GLOB = re.compile(r"[*?\[]")
_NO_FILE = re.compile("^~|:")  # a home folder, or an address
_ESCAPED = re.compile(r"\[([*?\[])\]")
_LONGEST = (
    160  # characters of what DuckDB says: its messages continue with suggestions and line numbers
)


@contextmanager
def engine(
    memory: str = _MEMORY, threads: int = 2, files: Sequence[Path] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of its own that spills to a temporary folder, removed at the end.

    Args:
        memory: what it may hold at once, in DuckDB's notation.
        threads: processor threads it may use.
        files: what it will read, looked through for the damaged one where DuckDB does not name it.

    Raises:
        InputError: a file it was asked to read is damaged or has other columns than asked for, or
            the disk has no room for what does not fit the memory, or the temporary folder has a
            name below which DuckDB cannot write.
    """
    with TemporaryDirectory(prefix="conjoin-") as scratch, duckdb.connect() as database:
        if set("\\?") & set(
            scratch
        ):  # DuckDB takes the one for a slash, and looks for options after the other
            raise InputError(
                "a temporary folder with a backslash or question mark in its path cannot be used",
                path=Path(scratch).parent, remedy="set TMPDIR to another folder",
            )  # fmt: skip
        database.execute(f"SET memory_limit = '{memory}'")
        database.execute(f"SET threads = {threads}")
        database.execute(f"SET temp_directory = {quoted(scratch)}")
        database.execute("SET enable_progress_bar = false")
        try:
            yield database
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"more than {memory} of memory is needed, and it could not be put on disk in {scratch}",
                remedy="free space there, or set TMPDIR to another folder",
            ) from error
        except duckdb.Error as error:
            raise _refusal(error, files) from error


@contextmanager
def sealed(threads: int = 2) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database for SQL of others: it opens no file, and knows nothing here but what is registered.

    Args:
        threads: processor threads it may use.
    """
    closed = dict.fromkeys(
        (
            "enable_external_access", "autoinstall_known_extensions", "autoload_known_extensions",
            "python_enable_replacements",
        ),
        "false",
    )  # fmt: skip
    config: dict[str, Any] = {
        **closed, "memory_limit": _MEMORY, "threads": threads, "temp_directory": "",
    }  # fmt: skip
    with duckdb.connect(config=config) as database:
        database.execute("SET lock_configuration = true")
        yield database


def _refusal(error: duckdb.Error, files: Sequence[Path]) -> InputError:
    """What DuckDB says, on one short line that names the file."""
    text = _ESCAPED.sub(r"\1", str(error).strip())
    file = _FILE.search(text)
    what = _PREFIX.sub("", text.splitlines()[0])[:_LONGEST]
    return InputError(
        f"cannot be read: {what}", path=file.group(1) if file else _damaged(files),
        remedy="download or generate it again",
    )  # fmt: skip


def _damaged(files: Sequence[Path]) -> Path | None:
    for path in files:
        try:
            with opened(path) as file:
                for _ in file.iter_batches():
                    pass
        except InputError:
            return path
    return None


def quoted(text: str) -> str:
    """A text as SQL has it in a statement that takes no parameters."""
    return "'" + text.replace("'", "''") + "'"


def parquet(*files: Path) -> str:
    """An SQL expression for the rows of Parquet files, to stand after FROM; nothing else opens them in SQL.

    Beside the files' columns each row has ``filename`` and ``file_row_number`` (from 0). Columns that some
    files lack are null there. Nothing in a path has a meaning: ``*`` and ``[`` find no other files, and a
    folder named ``a=1`` gives no column.

    Raises:
        InputError: a file is a pipe or a device, or no pattern means its path alone, or two of its columns
            have one name in SQL, so that the one would be read for the other.
    """
    for file in files:
        _require_distinct(file)
    paths = ", ".join(quoted(_pattern(file)) for file in files)
    return (
        f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false, filename = true, "
        "file_row_number = true)"
    )


def _require_distinct(file: Path) -> None:
    """SQL does not tell ``License`` from ``license``; everything else here does."""
    try:
        found = read_schema(file)
    except InputError:
        return  # whoever reads it says what is wrong with it
    names = [name.lower() for name in (*found.names, "filename", "file_row_number")]
    for name in found.names:
        if names.count(name.lower()) > 1:
            raise InputError(
                f"column {name!r} has the name of another but for its case", path=file,
                remedy="take one of them out",
            )  # fmt: skip


def _pattern(file: Path) -> str:
    """The pattern by which DuckDB, which takes every path for one, finds this very file."""
    require_regular(file)
    path = str(file)
    if "\\" in path and _GLOB.search(path):  # in a pattern it parts folders, as on Windows
        raise InputError(
            "a path with a backslash and one of *?[ cannot be opened in SQL", path=file,
            remedy="give the folder or file another name",
        )  # fmt: skip
    if not file.is_absolute() and _NO_FILE.search(file.parts[0]):
        path = os.path.abspath(file)
    return _GLOB.sub(r"[\g<0>]", path)


def fetched(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """The rows of a result, of which only some thousands are in memory at once."""
    while rows := result.fetchmany(4096):
        yield from rows


def rows_of(shards: Shards) -> str:
    """An SQL expression for all rows of a corpus, to stand after FROM.

    Beside the files' columns each row has ``reason`` (null if usable), ``file`` (the path) and
    ``place`` (its row in that file, from 0). Columns that some files lack are null there.

    Raises:
        InputError: as ``parquet``; or a column of a file says what only its place may say: ``file``,
            ``place``, or ``reason`` among a folder's usable candidates.
    """
    added = {"file", "place"}
    for files, names in ((shards.accepted, added | {"reason"}), (shards.rejects, added)):
        for file in files if shards.kind != "file" else ():
            _require_without(file, names)
    parts = ["SELECT NULL::VARCHAR AS reason WHERE false"]  # so that there always is such a column
    parts += [
        f"SELECT * RENAME (filename AS file, file_row_number AS place) FROM {parquet(*files)}"  # noqa: S608 - our own paths
        for files in (shards.accepted, shards.rejects)
        if files
    ]
    return "(" + " UNION ALL BY NAME ".join(parts) + ")"


def _require_without(file: Path, names: Set[str]) -> None:
    found = [name for name in column_names(file) if name.lower() in names]
    if found:
        raise InputError(
            f"column {found[0]!r} is none of these files'", path=file, remedy="take it out"
        )


def columns_of(shards: Shards, wanted: pa.Schema, optional: Sequence[str] = ()) -> frozenset[str]:
    """The columns that every file of a corpus has; no more than the files' footers is read.

    Args:
        shards: the corpus.
        wanted: columns the files must have, with types that read as these.
        optional: names of those of them that a file may lack.

    Raises:
        InputError: a file is damaged, lacks a column, or has one of another kind; it is named.
    """
    common: frozenset[str] | None = None
    for path in (*shards.accepted, *shards.rejects):
        found = read_schema(path)
        names = frozenset(found.names)
        require_columns(
            found, pa.schema(f for f in wanted if f.name in names or f.name not in optional), path
        )
        common = names if common is None else common & names
    return common or frozenset()
