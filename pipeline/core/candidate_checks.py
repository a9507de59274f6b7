"""Whether candidates can be trained on, and who they are: checks and digests of whole batches."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import InputError

_UNIT, _FIELD = "\x1f", "\x1e"  # between words and between columns; ASCII's own separators


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows of a batch with the same thing wrong with them.

    Attributes:
        kind: its name in the table of ``conjoin validate``.
        rows: indices into the batch, one for every instance.
        what: what is wrong, or what tells it of a row.
    """

    kind: str
    rows: npt.NDArray[np.int64]
    what: str | Callable[[int], str]

    def told(self, row: int) -> str:
        """What is wrong with one of the rows."""
        return self.what if isinstance(self.what, str) else self.what(row)


@dataclass(frozen=True, slots=True)
class FlatSpans:
    """The spans of all rows one after the other.

    Attributes:
        starts, ends: of each span, shape (spans,).
        row: the row each belongs to, shape (spans,).
        counts: spans of each row, shape (rows,).
    """

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def check(batch: pa.RecordBatch, place: str, first: int) -> None:
    """Hold words, coordinator and conjuncts of candidates against each other.

    A candidate has no empty field and at least two conjuncts; they are not empty, lie within its
    words, in order and apart; the coordinator lies between the first and the last, in none.

    Args:
        batch: rows with the columns of ``sources.COLUMNS``.
        place: the file they come from.
        first: the row of that file (from 0) with which the batch begins.

    Raises:
        InputError: a row is not so; it is named, with what is wrong with it.
    """
    empty = np.concatenate([null_rows(column) for column in batch.columns])
    faults = [Fault("null value", empty, "a field is empty")]
    if not len(empty):  # what else is wrong can only be told of rows that are whole
        faults = span_faults(batch)
    found = [(int(fault.rows.min()), fault) for fault in faults if len(fault.rows)]
    if not found:
        return
    index, fault = min(found, key=lambda pair: pair[0])
    row = batch.slice(index, 1).to_pylist()[0]
    raise InputError(
        f"row {first + index} (from 0): candidate {row['candidate_id']}: its spans do not fit its "
        f"words: {fault.told(index)}",
        path=place, sentence_id=row["sentence_id"], remedy="make the candidates again",
    )  # fmt: skip


def span_faults(batch: pa.RecordBatch) -> list[Fault]:
    """What is wrong with coordinator and conjuncts, of any number and any values.

    Args:
        batch: rows without nulls that have ``coordinator``, ``conjuncts`` and, if they are to be
            held against the sentence, ``words``.
    """
    spans = flat_spans(batch.column("conjuncts"))
    starts, ends, row = spans.starts, spans.ends, spans.row
    k = _numbers(batch.column("coordinator"))
    some = np.flatnonzero(spans.counts)
    last = np.cumsum(spans.counts)[some] - 1
    first = last - spans.counts[some] + 1
    between = (k[some] >= starts[first]) & (k[some] < ends[last])
    apart = row[1:][(row[1:] == row[:-1]) & (starts[1:] < ends[:-1])]
    outside, inside = "span outside sentence", (starts <= k[row]) & (k[row] < ends)
    found = [
        ("fewer than two conjuncts", np.flatnonzero(spans.counts < 2), "fewer than two conjuncts"),
        (outside, row[starts < 0], "a conjunct begins before the first word"),
        ("empty span", row[starts >= ends], "a conjunct has no words"),
        ("conjuncts overlap or out of order", apart, "conjuncts overlap"),
        ("coordinator inside a conjunct", row[inside], "the coordinator is inside a conjunct"),
        ("coordinator outside", some[~between], "the coordinator is not between the conjuncts"),
    ]
    if "words" in batch.schema.names:
        beyond = row[ends > _numbers(pc.list_value_length(batch.column("words")))[row]]
        found.insert(2, (outside, beyond, "a conjunct ends beyond the last word"))
    return [Fault(kind, np.unique(rows), what) for kind, rows, what in found if len(rows)]


def null_rows(column: pa.Array) -> npt.NDArray[np.int64]:
    """Rows in which a value, an element of a list or a field of a span is null."""
    missing = np.array(pc.is_null(column), dtype=bool)
    inner, row = column, np.arange(len(column))
    if pa.types.is_list(column.type):
        inner = pc.list_flatten(column)
        row = np.repeat(row, _numbers(pc.fill_null(pc.list_value_length(column), 0)))
    parts = [inner]
    if pa.types.is_struct(inner.type):
        parts += [pc.struct_field(inner, f.name) for f in inner.type]
    for part in parts:
        if part.null_count:
            missing[row[np.asarray(pc.is_null(part))]] = True
    return np.flatnonzero(missing)


def where(flags: pa.Array) -> npt.NDArray[np.int64]:
    """Rows of a column of truth values that are true; null is not."""
    return np.flatnonzero(np.asarray(pc.fill_null(flags, False)))


def flat_spans(column: pa.Array) -> FlatSpans:
    """The spans of a column of lists of them, without nulls."""
    flat = pc.list_flatten(column)
    counts = _numbers(pc.list_value_length(column))
    starts, ends = (_numbers(pc.struct_field(flat, name)) for name in ("start", "end"))
    return FlatSpans(starts, ends, np.repeat(np.arange(len(column)), counts), counts)


def _numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    # Of 64 bits: sums of hostile indices must not come round to harmless ones.
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def sentence_keys(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """64 bits of each row's ``sentence_id``, shape (rows,): equal ids, equal keys."""
    codes = pc.dictionary_encode(batch.column("sentence_id"))
    keys: npt.NDArray[np.uint64] = _digests(codes.dictionary)[codes.indices.to_numpy()]
    return keys


def content_keys(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """64 bits of all that training reads of each row but the sentence's id, shape (rows,)."""
    spans = flat_spans(batch.column("conjuncts"))
    starts, ends = (pa.array(part).cast(pa.string()) for part in (spans.starts, spans.ends))
    offsets = np.concatenate([[0], np.cumsum(spans.counts)])
    pairs = pc.binary_join_element_wise(starts, ends, "-")
    extents = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pairs)
    return _digests(
        pc.binary_join_element_wise(
            batch.column("candidate_id"),
            batch.column("label"),
            batch.column("coordinator").cast(pa.string()),
            pc.binary_join(extents, _UNIT),
            pc.binary_join(batch.column("words").cast(pa.list_(pa.string())), _UNIT),
            _FIELD,
        )
    )


def _digests(texts: pa.Array) -> npt.NDArray[np.uint64]:
    values = texts.cast(pa.binary()).to_numpy(zero_copy_only=False)
    joined = b"".join([blake2b(value, digest_size=8).digest() for value in values])
    # The bytes' own order, on any machine.
    return np.frombuffer(joined, dtype=">u8").astype(np.uint64)
