"""Rows that stand twice, by their ids and by the hashes of their content."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from pipeline.corpus.engine import fetched
from pipeline.corpus.novelty import DROPPED, REPEATED

FILE = 2**40
"""Numbers of rows that each file has to itself."""

SPLIT_WORD = "fill begins inside a word"
"""The reason of rejects whose fill was cut off before its first word: the words alone do not show that."""

Doubled = tuple[str, tuple[int, int], tuple[int, int]]
"""What a row repeats of an earlier one; file and row of both, in numbers from 0."""


class Seen:
    """Ids and contents of all rows so far, 128 bits of each, in a database that spills to the disk.

    Args:
        database: an empty one of ``corpus.engine``.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        database.execute("CREATE TABLE seen (number BIGINT, id UHUGEINT, content UHUGEINT)")
        database.execute("CREATE TABLE refused (number BIGINT, id UHUGEINT)")

    def add(self, batch: pa.RecordBatch, file: int) -> None:
        """Take rows in.

        Args:
            batch: rows with ``candidate_id``, ``place`` (their number in the file) and, if the words
                are there, ``due``.
            file: number of the file.
        """
        content = "md5_number(due)" if "due" in batch.schema.names else "NULL"
        self._database.register("batch", pa.Table.from_batches([batch]))
        self._database.execute(
            f"INSERT INTO seen SELECT $first + place, md5_number(candidate_id), {content} FROM batch",  # noqa: S608 - ours
            {"first": file * FILE},
        )
        self._database.unregister("batch")

    def add_rejects(self, batch: pa.RecordBatch, file: int) -> None:
        """Take rejects in, which contradict a candidate of their id unless they only repeat its words.

        Args:
            batch: rows with ``candidate_id`` and ``place``; without ``reason`` nothing is taken in.
            file: number of the file.
        """
        if "reason" not in batch.schema.names:
            return
        self._database.register("batch", pa.Table.from_batches([batch]))
        self._database.execute(
            "INSERT INTO refused SELECT $first + place, md5_number(candidate_id) FROM batch "
            "WHERE NOT list_contains($echoes, reason)",
            {"first": file * FILE, "echoes": _ECHOES},
        )
        self._database.unregister("batch")

    def contradictions(self) -> Iterator[Doubled]:
        """Rejects whose id a candidate has."""
        found = self._database.execute(
            "SELECT refused.number, min(seen.number) FROM refused JOIN seen USING (id) "
            "GROUP BY refused.number ORDER BY refused.number"
        )
        for number, first in fetched(found):
            yield "candidate and reject", divmod(number, FILE), divmod(first, FILE)

    def doubles(self) -> Iterator[Doubled]:
        """Rows whose id, or content under another id, stands in an earlier row."""
        yield from self._repeats("id", "count(*) > 1", _SAME_ID, "true")
        # Where every id is that of its content, equal contents have equal ids.
        if self._database.execute("SELECT 1 FROM seen WHERE id <> content LIMIT 1").fetchone():
            other = "min(id) <> max(id)", "'duplicate content'", "seen.id <> known.id"
            yield from self._repeats("content", *other)

    def _repeats(self, key: str, twice: str, kind: str, condition: str) -> Iterator[Doubled]:
        found = self._database.execute(
            f"""WITH firsts AS (
                SELECT {key}, min(number) AS first FROM seen GROUP BY {key} HAVING {twice}
            )
            SELECT {kind}, seen.number, first FROM seen JOIN firsts USING ({key})
            JOIN seen AS known ON known.number = first
            WHERE seen.number > first AND {condition} ORDER BY seen.number"""  # noqa: S608 - ours
        )
        for name, number, first in fetched(found):
            yield name, divmod(number, FILE), divmod(first, FILE)


_ECHOES = [REPEATED, DROPPED, SPLIT_WORD]
"""Reasons that do not speak of the words, and so do not contradict a candidate that has them."""

_SAME_ID = "CASE WHEN seen.content = known.content THEN 'duplicate row' ELSE 'duplicate id' END"
