"""Which rows of several corpora say what an earlier one says.

Rows are compared by a 128-bit key of each in a table of DuckDB, which keeps on disk what does not fit its
memory; Python keeps a byte a row.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.parquet import row_count
from pipeline.corpus.engine import CONTENT, REFUSAL, engine, fetched, parquet
from pipeline.corpus.layout import Shards

_MEMORY = "64MB"  # of the table of keys, which has 57 bytes a row

DROPPED = "same content as an earlier row"
"""Why a row is left out that says what an earlier one says."""


def find_novelty(
    corpora: Sequence[Shards], among: npt.NDArray[np.bool_] | None = None
) -> list[npt.NDArray[np.bool_]]:
    """Finds the first row of each content, in the order of the corpora and their files.

    A reject is equal to another reject, never to a candidate, if their content, reference, fill and
    reason are.

    Args:
        corpora: whose rows are compared.
        among: the usable candidates that are, shape (rows of all corpora,); the others are not new, nor is
            any compared with them. None: all.

    Returns:
        For every usable candidate whether it is new, shape (rows of all corpora,); the same for the
        rejects.

    Raises:
        InputError: a file is damaged, or two rows have the same id and not the same content.
    """
    files = [
        [file for shards in corpora for file in shards.accepted],
        [file for shards in corpora for file in shards.rejects],
    ]
    begins = [list(_begins(part)) for part in files]
    with engine(_MEMORY, files=files[0] + files[1]) as database:
        database.execute(
            "CREATE TEMP TABLE seen (rejected BOOL, row BIGINT, id UHUGEINT, content UHUGEINT, "
            "refusal UHUGEINT)"
        )
        for rejected in (False, True):
            for file, begin in zip(files[rejected], begins[rejected], strict=False):
                database.execute(
                    f"""INSERT INTO seen SELECT ?, ? + file_row_number, md5_number(candidate_id),
                    {CONTENT}, {REFUSAL if rejected else 0}
                    FROM {parquet(file)}""",  # noqa: S608 - our own keys and paths
                    [rejected, begin],
                )
        _refuse_clash(database, files, begins)
        masks = [np.zeros(part[-1], dtype=bool) for part in begins]
        if among is not None:
            database.register("among", pa.table({"row": np.flatnonzero(among)}))
            database.execute(
                "DELETE FROM seen WHERE NOT rejected AND row NOT IN (SELECT row FROM among)"
            )
        found = database.execute(
            "SELECT rejected, min(row) FROM seen GROUP BY rejected, content, refusal"
        )
        for rejected, row in fetched(found):
            masks[rejected][row] = True
    return masks


def _begins(files: Sequence[Path]) -> Iterator[int]:
    """The number of the first row of each file, and of one beyond the last."""
    begin = 0
    for file in files:
        yield begin
        begin += row_count(file)
    yield begin


def _refuse_clash(
    database: duckdb.DuckDBPyConnection, files: Sequence[Sequence[Path]], begins: list[list[int]]
) -> None:
    """Ids are hashes of content, so equal ids with another content are damage or forgery."""
    rows = database.execute(
        """SELECT rejected, row, content FROM seen WHERE id = (
            SELECT id FROM seen GROUP BY id HAVING min(content) <> max(content)
            ORDER BY min(rejected), min(row) LIMIT 1
        ) ORDER BY rejected, row"""
    ).fetchall()
    if not rows:
        return
    other = next(row for row in rows if row[2] != rows[0][2])
    places = []
    for rejected, row, _ in (rows[0], other):
        index = bisect_right(begins[rejected], row) - 1
        places.append((files[rejected][index], row - begins[rejected][index]))
    (first, at), (second, there) = places
    ((name,),) = database.execute(
        f"SELECT candidate_id FROM {parquet(first)} WHERE file_row_number = ?",  # noqa: S608 - our own path
        [at],
    ).fetchall()
    raise InputError(
        f"row {there} (from 0) has the id {name} of row {at} of {first}, but not its content",
        path=second, remedy="one of them is damaged: run `conjoin validate` on both",
    )  # fmt: skip
