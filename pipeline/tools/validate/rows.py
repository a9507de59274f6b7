"""What can be wrong with the rows of a corpus: each check takes a batch and names the rows at fault.

A check sees only rows without nulls where none may be, and is left out where a column that it needs is
missing. The kinds are documented in docs/sharing.md.

What can be wrong with the words of a corpus: what a language model or an accident left in them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.candidate_checks import Fault, flat_spans, span_faults, where
from pipeline.core.types import COORDINATORS, LABEL, REFERENCE_LABELS, UNLABELLED
from pipeline.corpus.licences import Terms, terms
from pipeline.text.natural import split_words


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds of the rows of one file.

    Attributes:
        rejects: they are rejects, of which less can be asked.
        shared: they are of a release with text, which only some licences permit.
        generations: values that ``generation`` may have; None: nobody says which.
        coordinators: words, in lower case, that generation inserted besides the evaluated ones.
        any_label: reference spans were given, under any label.
        rebuilt: the text of a stand-off release was put back by who has the source: its licence is
            none to hand it on.
    """

    rejects: bool = False
    shared: bool = False
    generations: frozenset[str] | None = None
    coordinators: frozenset[str] = frozenset()
    any_label: bool = False
    rebuilt: bool = False


def row_faults(batch: pa.RecordBatch, rules: Rules) -> Iterator[Fault]:
    """All that is wrong with the rows of a batch.

    Args:
        batch: rows of candidates, rejects, or a stand-off release, without nulls where none may be;
            columns may be missing.
        rules: what holds of them.
    """
    for needed, check in _CHECKS:
        if needed <= set(batch.schema.names):
            yield from (fault for fault in check(batch, rules) if len(fault.rows))
    if {"coordinator", "conjuncts"} <= set(batch.schema.names):
        formed = _formed(batch, rules)
        whole = batch if len(formed) == len(batch) else batch.take(pa.array(formed))
        for needed, check in _STRUCTURE:
            if needed <= set(batch.schema.names):
                for fault in check(whole, rules):
                    if len(fault.rows):
                        yield _moved(fault, formed)


def _moved(fault: Fault, rows: npt.NDArray[np.int64]) -> Fault:
    """The fault of some rows as one of the batch that they are of."""
    back = dict(zip(rows[fault.rows].tolist(), fault.rows.tolist(), strict=True))
    return replace(fault, rows=rows[fault.rows], what=lambda row: fault.told(back[row]))


def _formed(batch: pa.RecordBatch, rules: Rules) -> npt.NDArray[np.int64]:
    """Rows in which there is a coordinate structure: all but rejects without a usable fill."""
    bare = np.zeros(len(batch), dtype=bool)
    if rules.rejects:
        bare = (flat_spans(batch.column("conjuncts")).counts == 0) & (
            np.asarray(batch.column("coordinator")) == -1
        )
    return np.flatnonzero(~bare)


def _quoted(column: pa.Array) -> Callable[[int], str]:
    return lambda row: repr(column[row].as_py())


def _ids(batch: pa.RecordBatch, _: Rules) -> Iterator[Fault]:
    for name in ("candidate_id", "sentence_id"):
        if name in batch.schema.names:
            blank = where(pc.equal(pc.utf8_trim_whitespace(batch.column(name)), ""))
            yield Fault("id missing", blank, f"{name} is empty")


def _labels(batch: pa.RecordBatch, rules: Rules) -> Iterator[Fault]:
    labels = batch.column("label")
    known = pc.is_in(labels, pa.array([*REFERENCE_LABELS, UNLABELLED]))
    if rules.any_label:
        known = pc.match_substring_regex(labels, f"^{LABEL}$")
    yield Fault("invalid label", where(pc.invert(known)), _quoted(labels))


def _scores(batch: pa.RecordBatch, _: Rules) -> Iterator[Fault]:
    for name in ("score", "score_append", "score_prepend"):
        if name not in batch.schema.names:
            continue
        column = batch.column(name)
        told = _named(name, column)
        yield Fault("score not finite", where(pc.invert(pc.is_finite(column))), told)
        # A sum of logarithms in float32 may be a little above zero.
        high = pc.and_(pc.is_finite(column), pc.greater(column, 1e-3))
        yield Fault("positive log-probability", where(high), told)


def _named(name: str, column: pa.Array) -> Callable[[int], str]:
    return lambda row: f"{name} = {column[row].as_py()!r}"


def _licences(batch: pa.RecordBatch, rules: Rules) -> Iterator[Fault]:
    licences = batch.column("license")
    codes = pc.dictionary_encode(licences)
    rows = np.asarray(codes.indices)
    names = codes.dictionary.to_pylist()
    blank = [i for i, name in enumerate(names) if not name.strip()]
    found: list[tuple[int, Terms]] = [
        (i, terms(name)) for i, name in enumerate(names) if i not in blank
    ]
    unknown = [i for i, each in found if not each.known and not rules.rebuilt]
    barred = [i for i, each in found if each.known and not each.redistributable]
    told = _quoted(licences)
    yield Fault("licence missing", np.flatnonzero(np.isin(rows, blank)), "no licence")
    if "words" in batch.schema.names:  # what a stand-off release leaves out for it
        yield Fault("licence unknown", np.flatnonzero(np.isin(rows, unknown)), told)
    if rules.shared and not rules.rebuilt:
        kind = "text under a licence that forbids it"
        yield Fault(kind, np.flatnonzero(np.isin(rows, barred)), told)


def _generations(batch: pa.RecordBatch, rules: Rules) -> Iterator[Fault]:
    if rules.generations is not None:
        column = batch.column("generation")
        known = pc.is_in(column, pa.array(sorted(rules.generations), pa.string()))
        yield Fault("generation unknown", where(pc.invert(known)), _quoted(column))


def _reasons(batch: pa.RecordBatch, _: Rules) -> Iterator[Fault]:
    blank = pc.equal(pc.utf8_trim_whitespace(batch.column("reason")), "")
    yield Fault("reject without reason", where(blank), "the reason is empty")


def _references(batch: pa.RecordBatch, _: Rules) -> Iterator[Fault]:
    starts, ends = _bounds(batch.column("reference"))
    yield Fault("empty span", np.flatnonzero(starts >= ends), "the reference has no words")
    outside = starts < 0
    if "words" in batch.schema.names:  # the source has no more words than what was made of it
        outside |= ends > np.asarray(pc.list_value_length(batch.column("words")))
    what = "the reference does not lie in the sentence"
    yield Fault("span outside sentence", np.flatnonzero(outside), what)


def _bounds(spans: pa.StructArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    starts, ends = (np.asarray(pc.struct_field(spans, f), np.int64) for f in ("start", "end"))
    return starts, ends


def _structures(batch: pa.RecordBatch, _: Rules) -> Iterator[Fault]:
    yield from span_faults(batch)
    spans = flat_spans(batch.column("conjuncts"))
    k = np.asarray(batch.column("coordinator"), np.int64)[spans.row]
    around = (
        (spans.row[1:] == spans.row[:-1]) & (spans.ends[:-1] <= k[:-1]) & (k[1:] < spans.starts[1:])
    )
    tight = (spans.ends[:-1] == k[:-1]) & (spans.starts[1:] == k[1:] + 1)
    yield Fault(
        "text between conjuncts is not the coordinator",
        np.unique(spans.row[1:][around & ~tight]),
        lambda row: (
            f"coordinator {batch.column('coordinator')[row].as_py()}, {_listed(batch, row)}"
        ),
    )


def _listed(batch: pa.RecordBatch, row: int) -> str:
    spans = batch.column("conjuncts")[row].as_py()
    return "conjuncts " + ", ".join(f"[{s['start']}, {s['end']})" for s in spans)


def _first_conjuncts(batch: pa.RecordBatch, _: Rules) -> Iterator[Fault]:
    """Generation inserts after the reference span, which so stays where it was in the source."""
    spans = flat_spans(batch.column("conjuncts"))
    rows = np.flatnonzero(spans.counts)
    first = (np.cumsum(spans.counts) - spans.counts)[rows]
    starts, ends = (bounds[rows] for bounds in _bounds(batch.column("reference")))
    moved = (spans.starts[first] != starts) | (spans.ends[first] != ends)

    def told(row: int) -> str:
        span = batch.column("reference")[row].as_py()
        return f"reference [{span['start']}, {span['end']}), {_listed(batch, row)}"

    yield Fault("reference differs from its conjunct", rows[moved], told)


def _coordinators(batch: pa.RecordBatch, rules: Rules) -> Iterator[Fault]:
    """The word at the coordinator, or in a stand-off release the one that is told."""
    if "word" in batch.schema.names:
        rows, words = np.arange(len(batch)), batch.column("word")
    else:
        lists = batch.column("words")
        lengths = np.asarray(pc.list_value_length(lists), np.int64)
        k = np.asarray(batch.column("coordinator"), np.int64)
        rows = np.flatnonzero((k >= 0) & (k < lengths))
        at = (np.cumsum(lengths) - lengths)[rows] + k[rows]
        words = pc.list_flatten(lists).take(pa.array(at))
    allowed = pa.array(sorted(COORDINATORS | rules.coordinators), pa.string())
    wrong = where(pc.invert(pc.is_in(pc.utf8_lower(words), allowed)))
    told = dict(zip(rows[wrong].tolist(), words.take(pa.array(wrong)).to_pylist(), strict=True))
    yield Fault("not a coordinator", rows[wrong], lambda row: f"the coordinator is {told[row]!r}")


_Check = Callable[[pa.RecordBatch, Rules], Iterator[Fault]]
_CHECKS: list[tuple[set[str], _Check]] = [
    (set(), _ids),
    ({"label"}, _labels),
    (set(), _scores),
    ({"license"}, _licences),
    ({"generation"}, _generations),
    ({"reason"}, _reasons),
    ({"reference"}, _references),
]
"""Checks of any row, with the columns they need."""

_STRUCTURE: list[tuple[set[str], _Check]] = [
    (set(), _structures),
    ({"reference"}, _first_conjuncts),
    ({"words"}, _coordinators),
    ({"word"}, _coordinators),
]
"""Checks of rows with a coordinate structure."""


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
