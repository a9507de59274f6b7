"""Ids that are hashes of content, computed for whole batches, and rows that stand twice.

The id of a candidate is that of ``candidates.make_candidate``: the beginning of the SHA-256 of the
canonical JSON of ``[sentence_id, words, coordinator, [reference, *conjuncts]]``.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus.digest import raw_texts

IDENTITY = ("sentence_id", "words", "coordinator", "conjuncts", "reference")
"""The columns of which an id is the hash."""

_SIZE = 12  # bytes of an id, 24 hex digits
_FLUSH = 65_536  # rows that go into the database at once


def content_digests(batch: pa.RecordBatch) -> bytes:
    """What the ids of the rows should be: 12 bytes of each.

    Args:
        batch: rows without nulls in the columns of ``IDENTITY``.
    """
    spans = batch.column("conjuncts")
    parts = [
        "[", _json(batch.column("sentence_id")),
        ",[", pc.binary_join(_like(batch.column("words"), _json), ","),
        "],", batch.column("coordinator").cast(pa.string()),
        ",[", _span(batch.column("reference")),
        pc.binary_join(_like(spans, lambda flat: pc.binary_join_element_wise("", _span(flat), ",")), ""),
        "]]",
    ]  # fmt: skip
    texts = pc.binary_join_element_wise(*parts, "")
    return b"".join([hashlib.sha256(text).digest()[:_SIZE] for text in raw_texts(texts)])


def hex_ids(digests: bytes) -> pa.StringArray:
    """Digests as ids are written."""
    count = len(digests) // _SIZE
    ends = np.arange(count + 1, dtype=np.int32) * (2 * _SIZE)
    return pa.StringArray.from_buffers(
        count, pa.py_buffer(ends), pa.py_buffer(digests.hex().encode())
    )


def _like(lists: pa.ListArray, change: Callable[[pa.Array], pa.Array]) -> pa.ListArray:
    """The lists with other elements."""
    ends = np.concatenate([[0], np.cumsum(np.asarray(pc.list_value_length(lists)))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), change(pc.list_flatten(lists)))


def _span(spans: pa.StructArray) -> pa.StringArray:
    ends = (pc.struct_field(spans, name).cast(pa.string()) for name in ("start", "end"))
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(*ends, ","), "]", "")


def _json(strings: pa.StringArray) -> pa.StringArray:
    """Each string as JSON: words repeat, so each is written once."""
    codes = pc.dictionary_encode(strings)
    written = list(map(encode_basestring, codes.dictionary.to_pylist()))
    return pa.array(written, pa.string()).take(codes.indices)


@dataclass(frozen=True, slots=True)
class Twin:
    """A row that repeats an earlier one; files are numbers, rows count from 0."""

    kind: str
    file: int
    row: int
    first_file: int
    first_row: int


class Seen:
    """Ids and contents of all rows so far: a few in memory, many in a database that spills to the disk.

    Args:
        connect: opens the database, if it comes to that.
    """

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._connect = connect
        self._database: duckdb.DuckDBPyConnection | None = None
        self._parts: list[pa.Table] = []
        self._waiting = 0
        self._alien = False

    def add(
        self, ids: pa.StringArray, contents: bytes | None, file: int, rows: npt.NDArray[np.int64]
    ) -> None:
        """Take rows in.

        Args:
            ids: their ids.
            contents: their ``content_digests``; None where the words are not there.
            file: number of the file.
            rows: of that file.
        """
        keys = _keys(ids)
        content = pa.nulls(len(ids), pa.binary()) if contents is None else _fixed(contents)
        self._alien |= contents is not None and not pc.all(pc.equal(keys, content)).as_py()
        files = pa.array(np.full(len(ids), file), pa.int32())
        part = pa.table([keys, content, files, pa.array(rows)], ["id", "content", "file", "place"])
        self._parts.append(part)
        self._waiting += len(ids)
        if self._waiting >= _FLUSH:
            self._flush()

    def twins(self) -> Iterator[Twin]:
        """Rows whose id, or content under another id, stands in an earlier row."""
        if self._database is None and self._waiting == self._distinct() and not self._alien:
            return
        database = self._flush()
        yield from _twins(database, _SAME_ID)
        if self._alien:  # where every id is that of its content, equal contents have equal ids
            yield from _twins(database, _SAME_CONTENT)

    def _distinct(self) -> int:
        """Different ids among the rows in memory."""
        ids = [part.column("id") for part in self._parts]
        chunks = [chunk for column in ids for chunk in column.chunks]
        return int(pc.count_distinct(pa.chunked_array(chunks, pa.binary())).as_py())

    def _flush(self) -> duckdb.DuckDBPyConnection:
        if self._database is None:
            self._database = self._connect()
            self._database.execute(_TABLE)
        if self._parts:
            self._database.register("part", pa.concat_tables(self._parts))
            self._database.execute("INSERT INTO seen SELECT * FROM part")
            self._database.unregister("part")
        self._parts, self._waiting = [], 0
        return self._database


def _twins(database: duckdb.DuckDBPyConnection, query: str) -> Iterator[Twin]:
    found = database.execute(query)
    while rows := found.fetchmany(4096):
        yield from (Twin(*row) for row in rows)


_TABLE = "CREATE TABLE seen (id BLOB, content BLOB, file INTEGER, place BIGINT)"

_SAME_ID = """
WITH twice AS (SELECT id FROM seen GROUP BY id HAVING count(*) > 1),
ranked AS (
    SELECT id, content, file, place, row_number() OVER w AS number, first_value(content) OVER w AS known,
           first_value(file) OVER w AS first_file, first_value(place) OVER w AS first_place
    FROM seen SEMI JOIN twice USING (id)
    WINDOW w AS (PARTITION BY id ORDER BY file, place)
)
SELECT CASE WHEN content = known THEN 'duplicate row' ELSE 'duplicate id' END,
       file, place, first_file, first_place
FROM ranked WHERE number > 1 ORDER BY file, place
"""

_SAME_CONTENT = """
WITH twice AS (
    SELECT content FROM seen WHERE content IS NOT NULL GROUP BY content HAVING count(DISTINCT id) > 1
),
ranked AS (
    SELECT id, file, place, first_value(id) OVER w AS known,
           first_value(file) OVER w AS first_file, first_value(place) OVER w AS first_place
    FROM seen SEMI JOIN twice USING (content)
    WINDOW w AS (PARTITION BY content ORDER BY file, place)
)
SELECT 'duplicate content', file, place, first_file, first_place
FROM ranked WHERE id != known ORDER BY file, place
"""


def _keys(ids: pa.StringArray) -> pa.Array:
    """Ids as bytes, half as long where they are what ids should be: 1,000,000 take little room."""
    if pc.all(pc.match_substring_regex(ids, "^[0-9a-f]{24}$")).as_py():
        return _fixed(bytes.fromhex("".join(ids.to_pylist())))
    keys = [_key(each) for each in ids.to_pylist()]
    return pa.array(keys, pa.binary())


def _key(candidate_id: str) -> bytes:
    if len(candidate_id) == 2 * _SIZE and not set(candidate_id) - set("0123456789abcdef"):
        return bytes.fromhex(candidate_id)
    plain = candidate_id.encode()
    return plain if len(plain) != _SIZE else plain + b"\0"  # never equal to a short form


def _fixed(digests: bytes) -> pa.Array:
    count = len(digests) // _SIZE
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(_SIZE), count, [None, pa.py_buffer(digests)]
    )
    return fixed.cast(pa.binary())
