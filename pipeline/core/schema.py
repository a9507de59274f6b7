"""The explicit Parquet schemas of all that passes between stages, and rows to and from its types.

Documented column by column in docs/schema.md; those of candidates come from the table ``COLUMNS`` of
``core.types``. Files are always written with these schemas, never
with inferred ones: an all-empty shard would otherwise come out with null-typed columns.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import InputError
from pipeline.core.parquet import read_batches, read_rows, read_schema
from pipeline.core.types import (
    COLUMNS,
    USUAL_COORDINATORS,
    Candidate,
    Coordination,
    Donor,
    Gap,
    Kind,
    Reject,
    Sentence,
    Span,
)
from pipeline.core.words import coordinator_list


def _field(name: str, kind: pa.DataType) -> pa.Field:
    """A field that may not be null."""
    return pa.field(name, kind, nullable=False)


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(_field("element", kind))


def _schema(**kinds: pa.DataType) -> pa.Schema:
    """A schema of columns that may not be null, in the order given."""
    return pa.schema([_field(name, kind) for name, kind in kinds.items()])


def _nullable(schema: pa.Schema, *names: str) -> pa.Schema:
    """The schema with some columns that may be null."""
    return pa.schema([f.with_nullable(f.name in names) for f in schema])


_TEXT, _NUMBER, _SHARE = pa.string(), pa.int32(), pa.float32()
_WORDS = _list(_TEXT)
_SPAN = pa.struct([_field("start", _NUMBER), _field("end", _NUMBER)])
_SPANS = _list(_SPAN)
_DONOR = pa.struct([_field("sentence_id", _TEXT), *_SPAN])
_GAP = pa.struct([_field("at", _NUMBER), *_SPAN])
_COORDINATION = pa.struct(
    [
        _field("coordinator", _NUMBER),
        _field("word", _TEXT),
        _field("label", _TEXT),
        _field("conjuncts", _SPANS),
    ]
)

SENTENCES = _nullable(
    _schema(
        sentence_id=_TEXT,
        doc_id=_TEXT,
        split=_TEXT,
        words=_WORDS,
        tags=_WORDS,
        tree=_TEXT,
        coordinations=_list(_COORDINATION),
        license=_TEXT,
    ),
    "tags",
    "tree",
)

DEPENDENCIES = _schema(sentence_id=_TEXT, rows=_TEXT, parsed=pa.bool_())
"""Lines of CoNLL-U, without comments; ``parsed``: a parser's of unlabelled text, else people's."""

EXAMINED_SENTENCES = SENTENCES.append(pa.field("examined", pa.bool_()))
"""The same of a corpus some of whose sentences have no coordination because somebody said so (true)."""

TREES = _schema(sentence_id=_TEXT, words=_WORDS, parser=_TEXT, tree=_TEXT, license=_TEXT)

UNPARSED = _schema(sentence_id=_TEXT, reason=_TEXT)

_KINDS: Mapping[Kind, pa.DataType] = {
    "string": _TEXT,
    "list of string": _WORDS,
    "int32": _NUMBER,
    "float32": _SHARE,
    "span": _SPAN,
    "list of span": _SPANS,
    "donor": _DONOR,
    "list of donor": _list(_DONOR),
    "gap": _GAP,
}


def schema_of(*rows: str, stand_off: bool = False) -> pa.Schema:
    """The columns of candidates that some rows have.

    Args:
        rows: values of ``Column.of``.
        stand_off: as stand-off releases have them.
    """
    return pa.schema(
        pa.field(
            each.name,
            _KINDS[each.kind],
            nullable=each.null or (stand_off and each.stand_off == "in part"),
        )
        for each in COLUMNS
        if each.of in rows and not (stand_off and each.stand_off == "left out")
    )


CANDIDATES = schema_of("candidate")

REJECTS = schema_of("candidate", "reject")

PREDICTIONS = _schema(
    sentence_id=_TEXT,
    coordinator=_NUMBER,
    word=_TEXT,
    label=_TEXT,
    gold=_SPANS,
    predicted=_SPANS,
    probability=_SHARE,
)


def scored_schema(answers: Sequence[pa.Field]) -> pa.Schema:
    """``scored.parquet``: a row for each candidate examined; ``answers`` say what was judged of it."""
    examined = _schema(step=_NUMBER, candidate_id=_TEXT, label=_TEXT)
    judged = _schema(probability=_SHARE, accepted=pa.bool_())
    return _nullable(
        pa.schema([*examined, *answers, *judged]), "probability"
    )  # which no filter asks for


SCORED = scored_schema(list(_schema(start=_NUMBER, end=_NUMBER)))
"""That of coordination, whose answer is an outer boundary."""

PROBABILITIES = _nullable(_schema(candidate_id=_TEXT, probability=_SHARE), "probability")

SHARES = PROBABILITIES.append(_field("share", _SHARE).with_nullable(True))
"""The same where the share of the best boundary's probability was asked for."""

VERDICTS = _schema(candidate_id=_TEXT, folder=_TEXT, kind=_TEXT, sensible=pa.bool_())


def _spans(rows: Sequence[Mapping[str, int]]) -> tuple[Span, ...]:
    return tuple(Span(row["start"], row["end"]) for row in rows)


def _plain(value: Any) -> Any:
    """A value as Parquet takes it: records as mappings, tuples as lists."""
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def sentence_row(sentence: Sentence) -> dict[str, Any]:
    """A row of ``SENTENCES``, or of ``EXAMINED_SENTENCES`` if it is ``examined``.

    A reader's own sentence may have more fields than these.
    """
    # Digests of rows are those of before there was such a column.
    columns = EXAMINED_SENTENCES if sentence.examined else SENTENCES
    return {name: _plain(getattr(sentence, name)) for name in columns.names}


def sentences_schema(sentences: Iterable[Sentence]) -> pa.Schema:
    """The columns that some sentences need."""
    return EXAMINED_SENTENCES if any(each.examined for each in sentences) else SENTENCES


_COORDINATORS = "conjoin.coordinators"
"""Key in the footer of ``sentences.parquet``: the corpus's coordinators, the most frequent first, as JSON.

So they are in the file's digest, on which all depends that is made of a corpus. Without it: the usual ones.
"""


def coordinators_metadata(coordinators: Sequence[str]) -> dict[str, str] | None:
    """What the footer of ``sentences.parquet`` says of a corpus's coordinators: of the usual ones nothing."""
    if tuple(coordinators) == USUAL_COORDINATORS:
        return None
    return {_COORDINATORS: json.dumps(list(coordinators), ensure_ascii=False)}


def coordinators_in(path: Path) -> tuple[str, ...]:
    """The coordinators of a corpus by its ``sentences.parquet``, in lower case, the most frequent first.

    Raises:
        InputError: the file is missing or damaged, or says other things than coordinators there.
    """
    return _coordinators_said(read_schema(path), path)


def _coordinators_said(footer: pa.Schema, path: Path) -> tuple[str, ...]:
    found = (footer.metadata or {}).get(_COORDINATORS.encode())
    if found is None:
        return USUAL_COORDINATORS
    try:
        return coordinator_list(json.loads(found))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"its footer has no coordinators under {_COORDINATORS}: {error}", path=path,
            remedy="run `conjoin ingest` again",
        ) from error  # fmt: skip


def read_sentences(
    path: Path,
    keep: Callable[[Sentence], bool] = lambda _: True,
    rows: range | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a ``sentences.parquet`` (or of some rows) that satisfy ``keep``.

    Raises:
        InputError: as ``read_rows``.
    """
    footer = read_schema(path)
    own, later = frozenset(_coordinators_said(footer, path)), "examined" in footer.names
    for row in read_rows(path, EXAMINED_SENTENCES if later else SENTENCES, rows):
        coordinations = tuple(
            Coordination(**each | {"conjuncts": _spans(each["conjuncts"])})
            for each in row["coordinations"]
        )
        tags = None if row["tags"] is None else tuple(row["tags"])
        known = {
            "words": tuple(row["words"]), "tags": tags, "coordinations": coordinations,
            "examined": bool(row.get("examined")),
        }  # fmt: skip
        sentence = Sentence(**row | known, coordinators=own)
        if keep(sentence):
            yield sentence


_FIELDS = pa.schema(CANDIDATES.field(each.name) for each in fields(Candidate))
"""The columns that are fields of ``Candidate``."""

_NO_TEXT: Mapping[str, Any] = {name: None for name in CANDIDATES.names if name not in _FIELDS.names}


def candidate_row(candidate: Candidate, natural: Mapping[str, Any] = _NO_TEXT) -> dict[str, Any]:
    """A row of ``CANDIDATES``: the fields of ``Candidate``, and what follows from them.

    Args:
        candidate: the row's.
        natural: ``text`` and ``offsets`` of its words, which this floor cannot make
            (``text.columns.natural_columns`` does); else they are null.
    """
    return {**_plain(candidate), **_NO_TEXT, **natural}


def reject_row(reject: Reject, natural: Mapping[str, Any] = _NO_TEXT) -> dict[str, Any]:
    """A row of ``REJECTS``; see ``candidate_row``."""
    return {**candidate_row(reject.candidate, natural), "reason": reject.reason}


_VALUES: Mapping[Kind, Callable[[Any], Any]] = {
    "list of string": tuple,
    "span": lambda row: Span(**row),
    "list of span": _spans,
    "donor": lambda row: Donor(**row),
    "list of donor": lambda rows: tuple(Donor(**row) for row in rows),
    "gap": lambda row: Gap(**row),
}
"""How the fields of ``Candidate`` are made of what Parquet has; values of other kinds are the same."""

_MADE = {
    each.name: _VALUES[each.kind]
    for each in COLUMNS
    if each.name in _FIELDS.names and each.kind in _VALUES
}


def candidate_of(row: Mapping[str, Any]) -> Candidate:
    """The candidate of a row, which may have more columns."""
    known = {name: row[name] for name in _FIELDS.names}
    known |= {name: make(row[name]) for name, make in _MADE.items() if row[name] is not None}
    return Candidate(**known)


def read_candidates(path: Path, among: Set[str] | None = None) -> Iterator[Candidate]:
    """Stream the candidates of one shard, which may have more columns, or those with some ids.

    Raises:
        InputError: as ``read_batches``.
    """
    wanted = None if among is None else pa.array(sorted(among), pa.string())
    for batch in read_batches(path, _FIELDS):
        chosen = batch
        if wanted is not None:
            chosen = batch.filter(pc.is_in(batch.column("candidate_id"), wanted))
        yield from map(candidate_of, chosen.to_pylist())
