"""The columns ``text`` and ``offsets`` of candidates: the natural text of their words, and where each stands.

They follow from the words, so wherever rows are written anew they are made anew: files that earlier versions
wrote lack them, and those from elsewhere may hold another text.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.schema import CANDIDATES
from pipeline.text.natural import NO_SPACE_AFTER, NO_SPACE_BEFORE, SHOWN, WIDE, join_words

TEXT, OFFSETS = CANDIDATES.field("text"), CANDIDATES.field("offsets")


def natural_columns(words: Sequence[str]) -> dict[str, Any]:
    """``text`` and ``offsets`` of the words of a row."""
    natural = join_words(words)
    offsets = [{"start": start, "end": end} for start, end in natural.offsets]
    return {TEXT.name: natural.text, OFFSETS.name: offsets}


def with_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with the ``text`` and ``offsets`` of their words, whatever stood there.

    The digest of a row leaves these columns out, so another text than its words would go unnoticed.

    Args:
        batch: rows with ``words`` and, null or not, both columns.
    """
    made = _natural(batch.column("words"))
    columns = [
        made.get(name, column)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def natural_texts(words: pa.ListArray) -> pa.StringArray:
    """The column ``text`` of some rows' words, of which neither a row nor a word is null."""
    return _natural(words)[TEXT.name]


def _natural(column: pa.ListArray) -> dict[str, pa.Array]:
    """``text`` and ``offsets`` of the words of several rows."""
    lengths = np.asarray(pc.list_value_length(column), np.int64)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    firsts = np.repeat(bounds[:-1], lengths)  # of each word the place of its row's first
    words = pc.list_flatten(column).dictionary_encode()
    glued = _glued(words, firsts)
    shown = pa.array([SHOWN.get(word, word) for word in words.dictionary.to_pylist()], pa.string())
    shown = shown.take(words.indices)
    pieces = pc.binary_join_element_wise(pc.if_else(pa.array(glued), "", " "), shown, "")
    widths = np.asarray(pc.utf8_length(shown), np.int64)
    ends = np.cumsum(widths + ~glued)
    ends -= (ends - widths)[firsts]  # nothing stands before a first word
    rows = pa.array(bounds, pa.int32())
    parts = [pa.array(each, pa.int32()) for each in (ends - widths, ends)]
    spans = pa.StructArray.from_arrays(parts, fields=list(OFFSETS.type.value_type))
    return {
        TEXT.name: pc.binary_join(pa.ListArray.from_arrays(rows, pieces), ""),
        OFFSETS.name: pa.ListArray.from_arrays(rows, spans).cast(OFFSETS.type),
    }


def _glued(words: pa.DictionaryArray, firsts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Before which words of several rows no space is, as ``join_words`` has it, shape (words,).

    Args:
        words: of all rows, one after the other.
        firsts: of each the place of its row's first, shape (words,).
    """
    known, of = words.dictionary.to_pylist(), np.asarray(words.indices)
    before, after, quote = (
        np.fromiter((word in kind for word in known), bool, len(known))[of]
        for kind in (NO_SPACE_BEFORE, NO_SPACE_AFTER, {'"'})
    )
    earlier = np.cumsum(quote) - quote
    is_open = (earlier - earlier[firsts]) % 2 == 1
    before, after = np.where(quote, is_open, before), np.where(quote, ~is_open, after)
    before |= np.fromiter((bool(WIDE.match(word)) for word in known), bool, len(known))[of]
    lasts = (SHOWN.get(word, word)[-1:] for word in known)
    after |= np.fromiter((bool(WIDE.match(last)) for last in lasts), bool, len(known))[of]
    glued: npt.NDArray[np.bool_] = before | np.roll(after, 1) | (firsts == np.arange(len(of)))
    return glued
