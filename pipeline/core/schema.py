"""The explicit Parquet schemas of every arrow, and rows to and from the ground types.

Documented column by column in docs/schema.md. Files are always written with these schemas, never
with inferred ones: an all-empty shard would otherwise come out with null-typed columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.parquet import read_batches, read_rows
from pipeline.core.types import Candidate, Coordination, Reject, Sentence, Span

_SPAN = pa.struct(
    [pa.field("start", pa.int32(), nullable=False), pa.field("end", pa.int32(), nullable=False)]
)
_SPANS = pa.list_(pa.field("element", _SPAN, nullable=False))
_WORDS = pa.list_(pa.field("element", pa.string(), nullable=False))
_COORDINATION = pa.struct(
    [
        pa.field("coordinator", pa.int32(), nullable=False),
        pa.field("word", pa.string(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("conjuncts", _SPANS, nullable=False),
    ]
)


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


SENTENCES = pa.schema(
    [
        _required("sentence_id", pa.string()),
        _required("doc_id", pa.string()),
        _required("split", pa.string()),
        _required("words", _WORDS),
        pa.field("tags", _WORDS),
        pa.field("tree", pa.string()),
        _required("coordinations", pa.list_(pa.field("element", _COORDINATION, nullable=False))),
        _required("license", pa.string()),
    ]
)

TREES = pa.schema(
    [
        _required("sentence_id", pa.string()),
        _required("words", _WORDS),
        _required("parser", pa.string()),
        _required("tree", pa.string()),
        _required("license", pa.string()),
    ]
)

UNPARSED = pa.schema([_required("sentence_id", pa.string()), _required("reason", pa.string())])

CANDIDATES = pa.schema(
    [
        _required("candidate_id", pa.string()),
        _required("sentence_id", pa.string()),
        _required("words", _WORDS),
        _required("coordinator", pa.int32()),
        _required("conjuncts", _SPANS),
        _required("label", pa.string()),
        _required("reference", _SPAN),
        _required("fill", pa.string()),
        pa.field("score", pa.float32()),
        pa.field("score_append", pa.float32()),
        pa.field("score_prepend", pa.float32()),
        _required("license", pa.string()),
    ]
)

REJECTS = CANDIDATES.append(_required("reason", pa.string()))

PREDICTIONS = pa.schema(
    [
        _required("sentence_id", pa.string()),
        _required("coordinator", pa.int32()),
        _required("word", pa.string()),
        _required("label", pa.string()),
        _required("gold", _SPANS),
        _required("predicted", _SPANS),
        _required("probability", pa.float32()),
    ]
)


SCORED = pa.schema(
    [
        _required("step", pa.int32()),
        _required("candidate_id", pa.string()),
        _required("label", pa.string()),
        _required("start", pa.int32()),
        _required("end", pa.int32()),
        _required("probability", pa.float32()),
        _required("accepted", pa.bool_()),
    ]
)

VERDICTS = pa.schema(
    [
        _required("candidate_id", pa.string()),
        _required("folder", pa.string()),
        _required("kind", pa.string()),
        _required("sensible", pa.bool_()),
    ]
)


def _spans(rows: Sequence[Mapping[str, int]]) -> tuple[Span, ...]:
    return tuple(Span(row["start"], row["end"]) for row in rows)


def _span_rows(spans: Sequence[Span]) -> list[dict[str, int]]:
    return [{"start": s.start, "end": s.end} for s in spans]


def sentence_row(sentence: Sentence) -> dict[str, Any]:
    """A row of ``SENTENCES``."""
    return {
        "sentence_id": sentence.sentence_id,
        "doc_id": sentence.doc_id,
        "split": sentence.split,
        "words": list(sentence.words),
        "tags": None if sentence.tags is None else list(sentence.tags),
        "tree": sentence.tree,
        "coordinations": [
            {
                "coordinator": c.coordinator,
                "word": c.word,
                "label": c.label,
                "conjuncts": _span_rows(c.conjuncts),
            }
            for c in sentence.coordinations
        ],
        "license": sentence.license,
    }


def read_sentences(
    path: Path,
    keep: Callable[[Sentence], bool] = lambda _: True,
    rows: range | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a ``sentences.parquet`` (or of some rows) that satisfy ``keep``.

    Raises:
        InputError: as ``read_rows``.
    """
    for row in read_rows(path, SENTENCES, rows):
        sentence = Sentence(
            sentence_id=row["sentence_id"],
            doc_id=row["doc_id"],
            split=row["split"],
            words=tuple(row["words"]),
            tags=None if row["tags"] is None else tuple(row["tags"]),
            tree=row["tree"],
            coordinations=tuple(
                Coordination(c["coordinator"], c["word"], c["label"], _spans(c["conjuncts"]))
                for c in row["coordinations"]
            ),
            license=row["license"],
        )
        if keep(sentence):
            yield sentence


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """A row of ``CANDIDATES``."""
    return {
        "candidate_id": candidate.candidate_id,
        "sentence_id": candidate.sentence_id,
        "words": list(candidate.words),
        "coordinator": candidate.coordinator,
        "conjuncts": _span_rows(candidate.conjuncts),
        "label": candidate.label,
        "reference": {"start": candidate.reference.start, "end": candidate.reference.end},
        "fill": candidate.fill,
        "score": candidate.score,
        "score_append": candidate.score_append,
        "score_prepend": candidate.score_prepend,
        "license": candidate.license,
    }


def reject_row(reject: Reject) -> dict[str, Any]:
    """A row of ``REJECTS``."""
    return {**candidate_row(reject.candidate), "reason": reject.reason}


def _candidate(row: Mapping[str, Any]) -> Candidate:
    return Candidate(
        candidate_id=row["candidate_id"],
        sentence_id=row["sentence_id"],
        words=tuple(row["words"]),
        coordinator=row["coordinator"],
        conjuncts=_spans(row["conjuncts"]),
        label=row["label"],
        reference=Span(row["reference"]["start"], row["reference"]["end"]),
        fill=row["fill"],
        score=row["score"],
        score_append=row["score_append"],
        score_prepend=row["score_prepend"],
        license=row["license"],
    )


def read_candidates(path: Path, among: Set[str] | None = None) -> Iterator[Candidate]:
    """Stream the candidates of one shard, which may have more columns, or those with some ids.

    Raises:
        InputError: as ``read_batches``.
    """
    wanted = None if among is None else pa.array(sorted(among), pa.string())
    for batch in read_batches(path, CANDIDATES):
        chosen = batch
        if wanted is not None:
            chosen = batch.filter(pc.is_in(batch.column("candidate_id"), wanted))
        yield from map(_candidate, chosen.to_pylist())


def read_rejects(path: Path) -> Iterator[Reject]:
    """Stream the rejects of one shard."""
    return (Reject(_candidate(row), row["reason"]) for row in read_rows(path, REJECTS))
