"""Which rows of several corpora say what another one says.

Rows are compared by a 128-bit key of each in a table of DuckDB, which keeps on disk what does not fit its
memory; Python keeps a byte a row.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.parquet import row_count
from pipeline.corpus.content import CONTENT, REFUSAL
from pipeline.corpus.engine import engine, fetched, parquet, quoted
from pipeline.corpus.layout import Shards

_MEMORY = "192MB"  # of the table of keys, 57 bytes a row: ten million rows need over 64 to be grouped on disk

DROPPED = "same content as an earlier row"
"""Why a row is left out that says what an earlier one says."""

CONTRADICTED = "same content as a candidate"
"""Why a reject is left out whose content somebody found usable."""

REPEATED = "fill repeated"
"""The reason of rejects that ``generate`` found equal to a candidate beside them: they contradict none."""


class Contents:
    """What all rows of several corpora say, as keys in a database.

    A row is named by its place among all candidates, or all rejects, of the corpora in their order. Masks
    of them have the shape (rows,).

    Attributes:
        candidates: how many usable candidates there are.
        rejects: how many rejects.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection, candidates: int, rejects: int) -> None:
        self.candidates, self.rejects = candidates, rejects
        self._database = database

    def first_candidates(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """The first of each content among some candidates."""
        return self._first(False, among)

    def first_rejects(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """The first of each content among some rejects.

        Those without a structure, which have no sentence of their own, are distinguished by their reference,
        fill and reason too.
        """
        return self._first(True, among)

    def contradicted(self, candidates: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which rejects have the content of one of some candidates, but those repeated in generation."""
        return self._like(f"rejected AND refusal <> {_REPEATED}", self.rejects, candidates)

    def like(self, candidates: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which candidates have the content of one of some candidates, they themselves among them."""
        return self._like("NOT rejected", self.candidates, candidates)

    def _first(self, rejected: bool, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        with self._chosen(rejected, among):
            return self._mask("SELECT min(row) FROM chosen GROUP BY content, refusal", len(among))

    def _like(
        self, which: str, rows: int, candidates: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        with self._chosen(False, candidates):
            query = (
                f"SELECT row FROM seen WHERE {which} AND content IN (SELECT content FROM chosen)"  # noqa: S608
            )
            return self._mask(query, rows)

    def _mask(self, query: str, rows: int) -> npt.NDArray[np.bool_]:
        mask = np.zeros(rows, dtype=bool)
        for (row,) in fetched(self._database.execute(query)):
            mask[row] = True
        return mask

    @contextmanager
    def _chosen(self, rejected: bool, among: npt.NDArray[np.bool_]) -> Iterator[None]:
        """A table of what some rows say: two joins in one query want memory at once that none can spill."""
        self._database.register("among", pa.table({"row": np.flatnonzero(among)}))
        some = "" if among.all() else "AND row IN (SELECT row FROM among)"
        self._database.execute(
            "CREATE TEMP TABLE chosen AS SELECT row, content, refusal FROM seen "  # noqa: S608 - ours
            f"WHERE rejected = {rejected} {some}"
        )
        yield
        self._database.execute("DROP TABLE chosen")
        self._database.unregister("among")


_REPEATED = "1::UHUGEINT"
_OWN = (
    f"CASE WHEN reason = {quoted(REPEATED)} THEN {_REPEATED} WHEN len(conjuncts) > 0 THEN 0 "
    f"ELSE {REFUSAL} END"
)
"""Key of what tells rejects of one content apart."""


@contextmanager
def contents(corpora: Sequence[Shards]) -> Iterator[Contents]:
    """What the rows of some corpora say; kept, as far as it is too much for memory, on disk.

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
                    {CONTENT}, {_OWN if rejected else 0}
                    FROM {parquet(file)}""",  # noqa: S608 - our own keys and paths
                    [rejected, begin],
                )
        _refuse_clash(database, files, begins)
        yield Contents(database, *(part[-1] for part in begins))


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
