"""Which rows of several corpora are new, and which say again what an earlier row says.

A 128-bit key of every row goes into a table of DuckDB, which keeps on disk what does not fit its
memory; what stays in Python's is a byte a row.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from pipeline.ground.errors import InputError
from pipeline.mechanisms.sharing.content import CONTENT, REFUSAL
from pipeline.mechanisms.sharing.engine import engine
from pipeline.mechanisms.sharing.layout import Shards

__all__ = ["Novelty", "find_novelty"]

_FETCHED = 100_000  # row numbers at once


@dataclass(frozen=True, slots=True)
class Novelty:
    """Which rows to keep: the first of each content, in the order of the corpora and their files.

    Attributes:
        accepted: for every usable candidate whether it is new, shape (rows of all corpora,).
        rejects: the same for the rejects.
    """

    accepted: npt.NDArray[np.bool_]
    rejects: npt.NDArray[np.bool_]


def find_novelty(corpora: Sequence[Shards]) -> Novelty:
    """Find the first row of each content.

    A reject is equal to another reject, never to a candidate, if their content, reference, fill and
    reason are.

    Raises:
        InputError: a file is damaged, or two rows have the same id and not the same content.
    """
    files = [
        [file for shards in corpora for file in shards.accepted],
        [file for shards in corpora for file in shards.rejects],
    ]
    begins = [list(_begins(part)) for part in files]
    with engine(files=files[0] + files[1]) as database:
        database.execute(
            "CREATE TEMP TABLE seen (rejected BOOL, row BIGINT, id UHUGEINT, content UHUGEINT, "
            "refusal UHUGEINT)"
        )
        for rejected in (False, True):
            for file, begin in zip(files[rejected], begins[rejected], strict=False):
                database.execute(
                    f"""INSERT INTO seen SELECT ?, ? + file_row_number, md5_number(candidate_id),
                    {CONTENT}, {REFUSAL if rejected else 0}
                    FROM read_parquet(?, file_row_number = true)""",  # noqa: S608 - our own keys
                    [rejected, begin, str(file)],
                )
        _refuse_clash(database, files, begins)
        masks = [np.zeros(part[-1], dtype=bool) for part in begins]
        found = database.execute(
            "SELECT rejected, min(row) FROM seen GROUP BY rejected, content, refusal"
        )
        while rows := found.fetchmany(_FETCHED):
            for rejected in (False, True):
                masks[rejected][[row for refused, row in rows if refused == rejected]] = True
    return Novelty(*masks)


def _begins(files: Sequence[Path]) -> Iterator[int]:
    """The number of the first row of each file, and of one beyond the last."""
    begin = 0
    for file in files:
        yield begin
        begin += pq.read_metadata(file).num_rows
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
        "SELECT candidate_id FROM read_parquet(?, file_row_number = true) WHERE file_row_number = ?",
        [str(first), at],
    ).fetchall()
    raise InputError(
        f"row {there} (from 0) has the id {name} of row {at} of {first}, but not its content",
        path=second, remedy="one of them is damaged: run `conjoin validate` on both",
    )  # fmt: skip
