"""Questions to a corpus in SQL: DuckDB over its Parquet files, in memory that does not grow with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from pipeline.ground.errors import InputError
from pipeline.mechanisms.release.layout import Shards

__all__ = ["engine", "rows_of"]

_MEMORY = "400MB"  # beyond this, sorts and groups go to a temporary folder


@contextmanager
def engine(memory: str = _MEMORY, threads: int = 2) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of its own that spills to a temporary folder, removed at the end.

    Raises:
        InputError: a file it was asked to read is not a readable Parquet file.
    """
    with TemporaryDirectory(prefix="conjoin-") as scratch, duckdb.connect() as database:
        database.execute(f"SET memory_limit = '{memory}'")
        database.execute(f"SET threads = {threads}")
        database.execute(f"SET temp_directory = '{scratch}'")
        database.execute("SET enable_progress_bar = false")
        try:
            yield database
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise InputError(f"cannot be read: {error}", remedy="get or make it again") from error


def rows_of(shards: Shards) -> str:
    """An SQL expression for all rows of a corpus, to stand after FROM.

    Beside the files' columns each row has ``reason`` (null if usable), ``file`` (the path) and
    ``place`` (its row in that file, from 0). Columns that some files lack are null there.
    """
    parts = ["SELECT NULL::VARCHAR AS reason WHERE false"]  # so that there always is such a column
    parts += [
        "SELECT * EXCLUDE (filename, file_row_number), filename AS file, file_row_number AS place "  # noqa: S608 - our own paths
        f"FROM read_parquet({_listed(files)}, union_by_name = true, filename = true, "
        "file_row_number = true)"
        for files in (shards.accepted, shards.rejects)
        if files
    ]
    return "(" + " UNION ALL BY NAME ".join(parts) + ")"


def _listed(files: Sequence[Path]) -> str:
    return "[" + ", ".join("'" + str(file).replace("'", "''") + "'" for file in files) + "]"
