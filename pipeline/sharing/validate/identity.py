"""Ids that are hashes of content, computed for whole batches, and rows that stand twice.

The id of a candidate is that of ``core.types.candidate_id``: the beginning of the SHA-256 of the
canonical JSON of ``[sentence_id, words, coordinator, [reference, *conjuncts]]``.
"""

import hashlib
from collections.abc import Iterator
from json.encoder import encode_basestring

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus.digest import raw_texts, span_texts, with_elements
from pipeline.corpus.engine import fetched
from pipeline.corpus.novelty import DROPPED, REPEATED

FILE = 2**40
"""Numbers of rows that each file has to itself."""

SPLIT_WORD = "fill begins inside a word"
"""The reason of rejects whose fill was cut off before its first word: the words alone do not show that."""

IDENTITY = ("sentence_id", "words", "coordinator", "conjuncts", "reference")
"""The columns of which an id is the hash."""


def content_ids(batch: pa.RecordBatch) -> pa.StringArray:
    """What the ids of the rows should be, by their content: 24 hex digits of each.

    Args:
        batch: rows without nulls in the columns of ``IDENTITY``.
    """
    parts = [
        "[", _json(batch.column("sentence_id")),
        ",[", pc.binary_join(with_elements(batch.column("words"), _json), ","),
        "],", batch.column("coordinator").cast(pa.string()),
        ",[", _span(batch.column("reference")),
        pc.binary_join(with_elements(batch.column("conjuncts"), lambda spans: _span(spans, ",")), ""),
        "]]",
    ]  # fmt: skip
    texts = pc.binary_join_element_wise(*parts, "")
    return pa.array(
        [hashlib.sha256(text).hexdigest()[:24] for text in raw_texts(texts)], pa.string()
    )


def _span(spans: pa.StructArray, before: str = "") -> pa.StringArray:
    return pc.binary_join_element_wise(f"{before}[", span_texts(spans, ","), "]", "")


def _json(strings: pa.StringArray) -> pa.StringArray:
    """Each string as JSON: words repeat, so each is written once."""
    codes = pc.dictionary_encode(strings)
    written = list(map(encode_basestring, codes.dictionary.to_pylist()))
    return pa.array(written, pa.string()).take(codes.indices)


Twin = tuple[str, tuple[int, int], tuple[int, int]]
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

    def contradictions(self) -> Iterator[Twin]:
        """Rejects whose id a candidate has."""
        found = self._database.execute(
            "SELECT refused.number, min(seen.number) FROM refused JOIN seen USING (id) "
            "GROUP BY refused.number ORDER BY refused.number"
        )
        for number, first in fetched(found):
            yield "candidate and reject", divmod(number, FILE), divmod(first, FILE)

    def twins(self) -> Iterator[Twin]:
        """Rows whose id, or content under another id, stands in an earlier row."""
        yield from self._repeats("id", "count(*) > 1", _SAME_ID, "true")
        # Where every id is that of its content, equal contents have equal ids.
        if self._database.execute("SELECT 1 FROM seen WHERE id <> content LIMIT 1").fetchone():
            other = "min(id) <> max(id)", "'duplicate content'", "seen.id <> known.id"
            yield from self._repeats("content", *other)

    def _repeats(self, key: str, twice: str, kind: str, condition: str) -> Iterator[Twin]:
        found = self._database.execute(
            f"""WITH firsts AS (
                SELECT {key}, min(number) AS first FROM seen GROUP BY {key} HAVING {twice}
            )
            SELECT {kind}, seen.number, first FROM seen JOIN firsts USING ({key})
            JOIN seen AS known ON known.number = first
            WHERE seen.number > first AND {condition} ORDER BY seen.number"""  # noqa: S608 - ours
        )
        for told, number, first in fetched(found):
            yield told, divmod(number, FILE), divmod(first, FILE)


_ECHOES = [REPEATED, DROPPED, SPLIT_WORD]
"""Reasons that do not speak of the words, and so do not contradict a candidate that has them."""

_SAME_ID = "CASE WHEN seen.content = known.content THEN 'duplicate row' ELSE 'duplicate id' END"
