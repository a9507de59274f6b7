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

Mask = npt.NDArray[np.bool_]

DROPPED = "same content as an earlier row"
"""Why a row is left out that says what an earlier one says."""


def find_novelty(
    corpora: Sequence[Shards],
    among: Mask | None = None,
    rejects: Mask | None = None,
    left_out: Mask | None = None,
) -> tuple[Mask, Mask]:
    """Finds the first row of each content, in the order of the corpora and their files.

    What a candidate says, no reject says beside it; of rejects one says the same as another, for whatever
    reason, if their content, reference and fill are equal.

    Args:
        corpora: whose rows are compared.
        among: the usable candidates that are, shape (rows of all corpora,); the others are not new, nor is
            any compared with them. None: all.
        rejects: the same of the rejects.
        left_out: usable candidates that become rejects, behind those that there are; none of ``among``.
            None: none.

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
            "refusal UHUGEINT, becomes VARCHAR)"
        )
        for rejected in (False, True):
            for file, begin in zip(files[rejected], begins[rejected], strict=False):
                database.execute(
                    f"""INSERT INTO seen SELECT ?, ? + file_row_number, md5_number(candidate_id),
                    {CONTENT}, {REFUSAL}, ?
                    FROM {parquet(file)}""",  # noqa: S608 - our own keys and paths
                    [rejected, begin, "reject" if rejected else "candidate"],
                )
        _refuse_clash(database, files, begins)
        if left_out is not None:
            _of_rows(database, "UPDATE seen SET becomes = 'left out'", "IN", False, left_out)
            among = left_out if among is None else among | left_out
        for rejected, mask in ((False, among), (True, rejects)):
            if mask is not None:
                _of_rows(database, "DELETE FROM seen", "NOT IN", rejected, mask)
        masks = np.zeros(begins[0][-1], dtype=bool), np.zeros(begins[1][-1], dtype=bool)
        found = database.execute(
            """SELECT false, min(row) FROM seen WHERE becomes = 'candidate' GROUP BY content UNION ALL
            SELECT bool_or(rejected), coalesce(min(row) FILTER (rejected), min(row)) FROM seen
            ANTI JOIN (SELECT content FROM seen WHERE becomes = 'candidate') AS said USING (content)
            GROUP BY content, refusal"""
        )
        for rejected, row in fetched(found):
            masks[rejected][row] = True
    return masks


def _of_rows(
    database: duckdb.DuckDBPyConnection, change: str, sign: str, rejected: bool, rows: Mask
) -> None:
    """Change what is known of the candidates, or the rejects, that are IN or NOT IN some rows."""
    database.register("rows", pa.table({"row": np.flatnonzero(rows)}))
    database.execute(
        f"{change} WHERE rejected = $rejected AND row {sign} (SELECT row FROM rows)",  # noqa: S608 - ours
        {"rejected": rejected},
    )
    database.unregister("rows")


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
