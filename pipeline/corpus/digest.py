r"""The row digest of a corpus: which rows it has, however they are ordered, cut up or stored.

It is defined on values, not on files, so that it can be computed with any reader of Parquet
(docs/release.md has it in twenty lines of plain Python):

- a row is its columns in the order of the schema, joined by U+001E;
- a string is itself; an integer its decimal digits; a float32 the decimal digits of its 32 bits read
  as an unsigned integer; a span ``start-end``; a list its elements joined by U+001F; bytes their
  lower-case hex digits; null is ``\N``, and so is a span with a null in it;
- a donor is its sentence's id and its span, joined by U+001F; where it is null, or has a null in it, the
  row goes without this column, so that rows have the digest that they had before there was one; so it
  goes without ``middle_donors`` where it has none, and without ``gap``, which is its place and its span,
  joined by U+001F;
- the columns ``text`` and ``offsets`` are no part of a row: they say again what its words say;
- in strings, and in the elements of lists of strings, ``\`` is written ``\\``, U+001E ``\e`` and
  U+001F ``\f``;
- the digest of a set of rows is the sum of the SHA-256 of their texts in UTF-8, as big-endian
  integers, modulo 2²⁵⁶, as 64 hex digits.

A list with one empty string has the text of an empty list, and one with a null that of a null: two
things that `conjoin validate` finds in any corpus (``empty word``, ``null value``).

A sum does not care about order or shards, and those of shards add up to that of the corpus. It finds
accidents; against forgery stand the SHA-256 sums of the files.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.parquet import LATER
from pipeline.core.types import COLUMNS

_FIELD, _ELEMENT, _NULL = "\x1e", "\x1f", "\\N"
_MODULUS = 2**256
_APART = frozenset(each.name for each in COLUMNS if not each.digest)


class RowDigest:
    """Adds up the digests of rows.

    Attributes:
        rows: how many were added.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch; its columns and their order are part of what is digested."""
        sums = [hashlib.sha256(text).digest() for text in raw_texts(row_texts(batch))]
        # Added up in eight columns of 32 bits, because numbers of 256 bits are slow one by one.
        columns = np.frombuffer(b"".join(sums), dtype=">u4").reshape(-1, 8).sum(0, dtype=np.uint64)
        total = sum(int(part) << 32 * place for place, part in enumerate(columns[::-1]))
        self._sum = (self._sum + total) % _MODULUS
        self.rows += len(batch)

    def hex(self) -> str:
        """The digest of the rows added so far, 64 hex digits."""
        return f"{self._sum:064x}"

    @classmethod
    def united(cls, digests: Iterable["RowDigest"]) -> "RowDigest":
        """The digest of the rows of several sets together."""
        whole = cls()
        for each in digests:
            whole.rows += each.rows
            whole._sum = (whole._sum + each._sum) % _MODULUS
        return whole


def row_texts(batch: pa.RecordBatch) -> pa.StringArray:
    """The canonical text of each row, shape (rows,).

    Raises:
        TypeError: a column is of a type that no schema of conjoin has.
    """
    names = [name for name in batch.schema.names if name not in _APART]
    texts = {name: _text(batch.column(name)) for name in names}
    filled = [text if name in LATER else pc.fill_null(text, _NULL) for name, text in texts.items()]
    return pc.binary_join_element_wise(*filled, _FIELD, null_handling="skip")


def raw_texts(texts: pa.StringArray) -> Iterator[memoryview]:
    """The bytes of strings without nulls, in UTF-8, without a copy of any."""
    view = memoryview(texts.buffers()[2] or b"")
    return (view[start:end] for start, end in pairwise(_ends(texts).tolist()))


def _ends(strings: pa.StringArray) -> npt.NDArray[np.int32]:
    """Where in its data each string begins, and last where the last ends."""
    ends = np.frombuffer(strings.buffers()[1] or bytes(4), np.int32)
    return ends[strings.offset : strings.offset + len(strings) + 1]


def _bytes(strings: pa.StringArray) -> bytes:
    """All strings one after the other."""
    ends, data = _ends(strings), strings.buffers()[2] or pa.py_buffer(b"")
    return bytes(data.slice(ends[0], ends[-1] - ends[0]).to_pybytes())


def _text(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = next((text for is_kind, text in _TEXTS if is_kind(column.type)), None)
    if text is None:
        raise TypeError(f"no canonical text for values of type {column.type}")
    return text(column)


def _bits(column: pa.Array) -> pa.Array:
    bits = np.asarray(column.fill_null(0.0)).astype("<f4").view("<u4")
    return pc.if_else(column.is_valid(), pa.array(bits).cast(pa.string()), None)


def span_texts(spans: pa.StructArray, between: str = "-") -> pa.StringArray:
    """Start and end of each span as text; null where one of them is."""
    ends = (pc.struct_field(spans, name).cast(pa.string()) for name in ("start", "end"))
    return pc.binary_join_element_wise(*ends, between)


def _donor_texts(donors: pa.StructArray) -> pa.StringArray:
    ids = _escaped(pc.struct_field(donors, "sentence_id"))
    return pc.binary_join_element_wise(ids, span_texts(donors), _ELEMENT)


def _gap_texts(gaps: pa.StructArray) -> pa.StringArray:
    at = pc.struct_field(gaps, "at").cast(pa.string())
    return pc.binary_join_element_wise(at, span_texts(gaps), _ELEMENT)


def _is_struct(*names: str) -> Callable[[pa.DataType], bool]:
    return lambda kind: pa.types.is_struct(kind) and {f.name for f in kind} == set(names)


def _digits(column: pa.Array) -> pa.Array:
    return pa.array([None if v is None else v.hex() for v in column.to_pylist()], pa.string())


def _joined(column: pa.Array) -> pa.Array:
    lists = with_elements(column, lambda inner: pc.fill_null(_text(inner), _NULL))
    joined = pc.binary_join(lists, _ELEMENT)
    return pc.if_else(column.is_valid(), joined, None) if column.null_count else joined


def with_elements(lists: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.ListArray:
    """The lists with other elements; a null list is an empty one."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(ends, change(pc.list_flatten(lists)))


def _escaped(strings: pa.Array) -> pa.Array:
    strings = strings.cast(pa.string())
    data = _bytes(strings)
    for plain, written in (("\\", "\\\\"), (_FIELD, "\\e"), (_ELEMENT, "\\f")):
        if plain.encode() in data:  # hardly ever, and replacing nothing takes half of the time
            strings = pc.replace_substring(strings, plain, written)
    return strings


def _either(*kinds: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda kind: any(is_kind(kind) for is_kind in kinds)


_TEXTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (_either(pa.types.is_string, pa.types.is_large_string), _escaped),
    (pa.types.is_float32, _bits),
    (pa.types.is_integer, lambda column: column.cast(pa.string())),
    (_is_struct("start", "end"), span_texts),
    (_is_struct("sentence_id", "start", "end"), _donor_texts),
    (_is_struct("at", "start", "end"), _gap_texts),
    (_either(pa.types.is_list, pa.types.is_large_list), _joined),
    (_either(pa.types.is_binary, pa.types.is_large_binary), _digits),
)
"""The texts of values, by the kind of their column."""
