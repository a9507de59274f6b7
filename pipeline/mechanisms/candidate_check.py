"""Whether candidates can be trained on, and who they are: checks and digests of whole batches."""

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ground.errors import InputError

__all__ = ["check", "content_keys", "sentence_keys"]

_UNIT, _FIELD = "\x1f", "\x1e"  # between words and between columns; ASCII's own separators


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
    bad, why = _faults(batch)
    if len(bad) == 0:
        return
    index = int(bad.min())
    row = batch.slice(index, 1).to_pylist()[0]
    raise InputError(
        f"row {first + index} (from 0): candidate {row['candidate_id']}: its spans do not fit its "
        f"words: {why[int(bad.argmin())]}",
        path=place, sentence_id=row["sentence_id"], remedy="make the candidates again",
    )  # fmt: skip


def _faults(batch: pa.RecordBatch) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Rows at fault, and what is wrong with each; what can only be told of sound rows comes last."""
    empty = _with_nulls(batch)
    if len(empty):
        return empty, ["a field is empty"] * len(empty)
    spans = batch.column("conjuncts")
    counts = _numbers(pc.list_value_length(spans))
    few = np.flatnonzero(counts < 2)
    if len(few):
        return few, ["fewer than two conjuncts"] * len(few)
    starts, ends = _span_ends(spans)
    lengths = _numbers(pc.list_value_length(batch.column("words")))
    k = _numbers(batch.column("coordinator"))
    row = np.repeat(np.arange(len(batch)), counts)
    last = np.cumsum(counts) - 1
    found: list[tuple[Any, str]] = [
        (row[starts < 0], "a conjunct begins before the first word"),
        (row[ends > lengths[row]], "a conjunct ends beyond the last word"),
        (row[starts >= ends], "a conjunct has no words"),
        (row[1:][(row[1:] == row[:-1]) & (starts[1:] < ends[:-1])], "conjuncts overlap"),
        (row[(starts <= k[row]) & (k[row] < ends)], "the coordinator is inside a conjunct"),
        (
            np.flatnonzero((k < starts[last - counts + 1]) | (k >= ends[last])),
            "the coordinator is not between the conjuncts",
        ),
    ]
    rows = np.concatenate([part for part, _ in found])
    return rows, [why for part, why in found for _ in part]


def _with_nulls(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Rows in which a column, a word or a span is null."""
    missing = np.zeros(len(batch), dtype=bool)
    for column in batch.columns:
        missing |= np.asarray(pc.is_null(column))
        if pa.types.is_list(column.type):
            inner = pc.list_flatten(column)
            parts = [inner]
            if pa.types.is_struct(inner.type):
                parts += [pc.struct_field(inner, f.name) for f in inner.type]
            for part in parts:
                if part.null_count:
                    counts = _numbers(pc.fill_null(pc.list_value_length(column), 0))
                    row = np.repeat(np.arange(len(batch)), counts)
                    missing[row[np.asarray(pc.is_null(part))]] = True
    return np.flatnonzero(missing)


def _span_ends(spans: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    flat = pc.list_flatten(spans)
    return _numbers(pc.struct_field(flat, "start")), _numbers(pc.struct_field(flat, "end"))


def _numbers(column: pa.Array) -> npt.NDArray[np.int32]:
    numbers: npt.NDArray[np.int32] = column.to_numpy(zero_copy_only=False)
    return numbers


def sentence_keys(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """64 bits of each row's ``sentence_id``, shape (rows,): equal ids, equal keys."""
    codes = pc.dictionary_encode(batch.column("sentence_id"))
    return _digests(codes.dictionary)[codes.indices.to_numpy()]


def content_keys(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    """64 bits of all that training reads of each row but the sentence's id, shape (rows,)."""
    spans = batch.column("conjuncts")
    starts, ends = (pa.array(part).cast(pa.string()) for part in _span_ends(spans))
    offsets = np.concatenate([[0], np.cumsum(_numbers(pc.list_value_length(spans)))])
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
