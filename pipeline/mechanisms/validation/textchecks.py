"""What can be wrong with the words of a corpus: what a language model or an accident left in them."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.mechanisms.candidate_check import Fault, flat_spans, where
from pipeline.mechanisms.naturaltext import split_words

__all__ = ["SPECIAL_IN_FILL", "text_faults"]

_SENTINEL = (
    r"\[(MASK|CLS|SEP|PAD|UNK|unused\d+)\]|<(mask|pad|unk|/?s|extra_id_\d+)>|extra_id_\d"
    r"|<\|[a-z_]+\|>|\x{2581}"
)
_BROKEN = "^(MASK|CLS|SEP|PAD|UNK|mask|pad|unk|/s)$"  # a sentinel that was cut into words
_AROUND = {("[", "]"), ("<", ">")}
_WORD_KINDS = (
    ("mask or sentinel in text", _SENTINEL),
    ("control character in text", r"\p{Cc}"),
    ("replacement character in text", r"\x{FFFD}"),
    ("word with whitespace", r"[\s\p{Z}]"),
    ("empty word", "^$"),
)
_PLAIN = "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*( [A-Za-z0-9]+(-[A-Za-z0-9]+)*)*$"
"""Fills of which the words are what stands between spaces, contractions apart."""
_CONTRACTED = r"(?i)\b(cannot|gimme|gonna|gotta|lemme|wanna)\b"
_LONG = 10_000  # characters: no model wrote such a fill
SPECIAL_IN_FILL = "special token in the fill"
"""As in ``infill.base``, which needs torch; a test holds the two together."""


def text_faults(batch: pa.RecordBatch) -> Iterator[Fault]:
    """What is wrong with words and fills.

    Args:
        batch: rows of candidates, rejects or a stand-off release, without nulls where none may be.
    """
    names = batch.schema.names
    for name in ("words", "fill_words"):
        if name in names:
            yield from _word_faults(batch, name)
    if "fill" in names:
        fills = batch.column("fill")
        for kind, pattern in _WORD_KINDS[:3]:
            yield _found(batch, kind, where(pc.match_substring_regex(fills, pattern)), "fill")
        if {"words", "conjuncts"} <= set(names):
            yield from _fill_faults(fills, *_inserted(batch))
        if "fill_words" in names:
            rows = where(pc.is_valid(batch.column("fill_words")))
            yield from _fill_faults(fills, batch.column("fill_words").take(pa.array(rows)), rows)
    if {"fill", "fill_words", "sealed"} <= set(names):
        yield from _seal_faults(batch)


def _found(batch: pa.RecordBatch, kind: str, rows: npt.NDArray[np.int64], name: str) -> Fault:
    """A fault of a text; rejects that were refused for their sentinel may have it."""
    if kind == _WORD_KINDS[0][0] and "reason" in batch.schema.names:
        refused = where(pc.equal(batch.column("reason"), SPECIAL_IN_FILL))
        rows = np.setdiff1d(rows, refused)
    return Fault(kind, rows, lambda row: f"{name}: {_shown(batch.column(name)[row].as_py())}")


def _shown(text: str | list[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)


def _word_faults(batch: pa.RecordBatch, name: str) -> Iterator[Fault]:
    lists = batch.column(name)
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    row = np.repeat(np.arange(len(batch)), lengths)
    codes = pc.dictionary_encode(pc.list_flatten(lists))  # words repeat: each is looked at once
    places = np.asarray(codes.indices)
    for kind, pattern in _WORD_KINDS:
        wrong = np.asarray(pc.match_substring_regex(codes.dictionary, pattern))
        if wrong.any():
            yield _found(batch, kind, np.unique(row[wrong[places]]), name)
    broken = np.asarray(pc.match_substring_regex(codes.dictionary, _BROKEN))
    if broken.any():
        rows = [int(r) for r in np.unique(row[broken[places]]) if _is_cut(lists[int(r)].as_py())]
        yield _found(batch, _WORD_KINDS[0][0], np.array(rows, np.int64), name)
    if name == "words":
        yield Fault("no words", np.flatnonzero(lengths == 0), "a sentence without words")


def _is_cut(words: list[str]) -> bool:
    """Whether a sentinel stands here as three words."""
    return any(
        (left, right) in _AROUND
        and pc.match_substring_regex(pa.array([middle]), _BROKEN)[0].as_py()
        for left, middle, right in zip(words, words[1:], words[2:], strict=False)
    )


def _inserted(batch: pa.RecordBatch) -> tuple[pa.ListArray, npt.NDArray[np.int64]]:
    """The words of each last conjunct that lies in its sentence, and the rows these are."""
    spans, lists = flat_spans(batch.column("conjuncts")), batch.column("words")
    lengths = np.asarray(pc.list_value_length(lists), np.int64)
    rows = np.flatnonzero(spans.counts)
    last = np.cumsum(spans.counts)[rows] - 1
    starts, ends = spans.starts[last], spans.ends[last]
    good = (starts >= 0) & (starts <= ends) & (ends <= lengths[rows])
    rows, starts, sizes = rows[good], starts[good], (ends - starts)[good]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    begins = (np.cumsum(lengths) - lengths)[rows] + starts
    at = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
    flat = pc.list_flatten(lists).take(pa.array(at))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat), rows


def _fill_faults(
    fills: pa.StringArray, words: pa.ListArray, rows: npt.NDArray[np.int64]
) -> Iterator[Fault]:
    """The fill, cut into words, is the last conjunct.

    Args:
        fills: of all rows.
        words: of some rows, shape (some,).
        rows: which these are.
    """
    fills_of = fills.take(pa.array(rows))
    same = pc.equal(pc.binary_join(words, " "), fills_of)
    plain = pc.match_substring_regex(fills_of, _PLAIN)
    contracted = pc.match_substring_regex(fills_of, _CONTRACTED)
    sure = pc.and_(same, pc.and_not(plain, contracted))
    doubtful = where(pc.invert(pc.fill_null(sure, False)))
    wrong = [
        index for index in doubtful.tolist()
        if _words(fills_of[index].as_py()) != words[index].as_py()
    ]  # fmt: skip
    told = {int(rows[index]): index for index in wrong}

    def what(row: int) -> str:
        index = told[row]
        return f"fill {fills_of[index].as_py()!r}, conjunct {' '.join(words[index].as_py())!r}"

    yield Fault("fill differs from its conjunct", rows[np.array(wrong, np.int64)], what)


@lru_cache(4096)
def _words(fill: str | None) -> list[str] | None:
    if fill is None or len(fill) > _LONG:
        return None
    try:
        return split_words(fill)
    except TimeoutError:  # nltk stops regular expressions after 5 seconds
        return None


def _seal_faults(batch: pa.RecordBatch) -> Iterator[Fault]:
    """What generation wrote is either open, as text and words, or sealed."""
    text, words, sealed = (
        np.asarray(pc.is_valid(batch.column(name))) for name in ("fill", "fill_words", "sealed")
    )
    kind = "fill neither open nor sealed"
    yield Fault(kind, np.flatnonzero((text != words) | (text == sealed)), kind)
