"""Rows of a release of questions: their columns with text and without, and what they must be."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from pipeline.core.cards.candidates import SourceFacts
from pipeline.core.corpora import QUESTIONS
from pipeline.core.corpus_folder import SENTENCES_FILE, require_ingested
from pipeline.core.questions import (
    PSEUDO_QUESTION_REJECTS,
    PSEUDO_QUESTIONS,
    event_pair_rows,
    question_candidate_id,
)
from pipeline.core.types import SPLITS
from pipeline.corpus.handing_on import require_permission
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import is_expression
from pipeline.corpus.origin import facts
from pipeline.release.kinds.card import said
from pipeline.release.kinds.protocol import Columns, HidingWords, PuttingBack, Wrong, with_run
from pipeline.release.kinds.rows import common_fault, counted_licences, kind_batches
from pipeline.release.questions.card import write_question_documents
from pipeline.release.questions.places import is_form_of_events
from pipeline.release.questions.stand_off import HiddenQuestions, RebuiltQuestions, pairs_behind
from pipeline.release.shards import CONFIGS
from pipeline.release.survey import without_the_text

_TEXT = pa.string()
_PLACE = pa.struct(
    [
        pa.field("sentence_id", _TEXT, nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("end", pa.int32(), nullable=False),
    ]
)


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


def _without_words() -> pa.Schema:
    """The columns of a question of which the words stand elsewhere."""
    there = {
        "context": [pa.field("context_at", _PLACE, nullable=False)],
        "choices": [
            pa.field("choices_at", _list(_PLACE), nullable=False),
            pa.field("lowered", _list(pa.int32()), nullable=False),
            pa.field("digests", _list(_TEXT), nullable=False),
        ],
        "events": [pa.field("events_at", _TEXT, nullable=False)],
    }
    return pa.schema([new for field in PSEUDO_QUESTIONS for new in there.get(field.name, [field])])


_ID, _DIGEST, _RUN = (re.compile(f"[0-9a-f]{{{n}}}") for n in (24, 16, 16))
_CONNECTIVE = re.compile("[a-z]{2,12}")
_WRITTEN = ("sentence_id", "label", "context", "events", "split", "license")


class MadeQuestions:
    """Questions with choices that ``ask`` made of event pairs (``RowKind``)."""

    task = QUESTIONS
    called = "questions"
    marks = frozenset({"choices", "choices_at"})
    bare: ClassVar[Columns] = {"train": PSEUDO_QUESTIONS, "rejected": PSEUDO_QUESTION_REJECTS}
    released: ClassVar[Columns] = with_run(PSEUDO_QUESTIONS)
    stand_off: ClassVar[Columns] = with_run(_without_words())
    order: ClassVar[Mapping[str, Sequence[str]]] = {  # no other column is in both forms
        "train": ("candidate_id", "generation"),
        "rejected": ("candidate_id", "generation", "reason"),
    }
    again = "make the questions again with `conjoin ask`"

    def fault(self, row: Mapping[str, Any], *, usable: bool) -> Wrong | None:
        """See ``RowKind``."""
        bare = "choices_at" in row
        choices, answer = row["choices_at" if bare else "choices"], row["answer"]
        if len(choices) < (2 if usable else 1):
            return "too few choices", f"{len(choices)} choices"
        if not 0 <= answer < len(choices):
            return "answer outside the choices", f"the answer {answer} of {len(choices)} choices"
        if row["split"] not in SPLITS:
            return "unknown split", f"a split that there is not: {row['split'][:40]!r}"
        return _fault_without_words(row) if bare else _fault_of_words(row, usable=usable)

    def require_permission(self, shards: Shards, license_: str | None) -> None:
        """See ``RowKind``."""
        licenses = counted_licences(self, shards, license_)
        require_permission(licenses, shards.place, remedy=without_the_text)

    def foreign(self, shards: Shards, corpus: Path) -> tuple[int, str]:
        """See ``RowKind``; a question is of the corpus that its event pairs lie in."""
        known = {
            key: {row["pair_id"] for row in event_pair_rows(folder)}
            for key, folder in pairs_behind(shards, corpus).items()
        }
        rows = [
            row["sentence_id"]
            for config in CONFIGS
            for batch in kind_batches(self, shards, config)
            for row in batch.select(["sentence_id", "generation"]).to_pylist()
            if row["sentence_id"] not in known.get(row["generation"], ())
        ]
        return len(rows), min(rows, default="")

    def facts(self, corpus: Path) -> SourceFacts:
        """See ``RowKind``."""
        require_ingested(corpus, SENTENCES_FILE)
        return facts(corpus)

    def name(self, runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What they are called in the thesis."""
        del runs
        return ["pseudo-questions"]

    def hiding(self, shards: Shards, corpus: Path) -> HidingWords:
        """See ``RowKind``."""
        require_ingested(corpus, SENTENCES_FILE)
        return HiddenQuestions(pairs_behind(shards, corpus), corpus, self)

    def putting_back(self, source: Path) -> PuttingBack:
        """See ``RowKind``."""
        return RebuiltQuestions(source, self)

    def write_documents(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """See ``RowKind``."""
        write_question_documents(folder, manifest)


def _fault_of_words(row: Mapping[str, Any], *, usable: bool) -> Wrong | None:
    choices = row["choices"]
    content = (row["sentence_id"], row["context"], tuple(choices), row["answer"])
    texts = {name: row[name] for name in _WRITTEN}
    texts |= {f"choice {number}": each for number, each in enumerate(choices)}
    named = [name for name in texts if name != "license"]
    fault = common_fault(row, question_candidate_id(*content), texts, named)
    if fault is None and usable and len(set(choices)) < len(choices):
        return "choices alike", "two choices alike"
    return fault


def _fault_without_words(row: Mapping[str, Any]) -> Wrong | None:
    """What is wrong with a row without text; whatever stays readable in it has a form that no text has."""
    places = [row["context_at"], *row["choices_at"]]
    spans = (_fault_of_place(place) for place in places)
    fault = common_fault(row, None, {}, ()) or next(filter(None, spans), None)
    if fault is not None:
        return fault
    lowered = row["lowered"]
    if len(row["digests"]) != len(places) or not all(map(_DIGEST.fullmatch, row["digests"])):
        return "invalid digests", "not a digest for each clause"
    if sorted(set(lowered) & set(range(len(places)))) != lowered:
        return "invalid places", f"the places {lowered} of {len(places)} clauses under lowered"
    asked = {
        "candidate_id": _ID.fullmatch, "sentence_id": _ID.fullmatch, "label": _CONNECTIVE.fullmatch,
        "events_at": is_form_of_events, "license": is_expression, "generation": _RUN.fullmatch,
        "reason": said(QUESTIONS)["reasons"].__contains__,
    }  # fmt: skip
    for name, holds in asked.items():
        if name in row and not holds(row[name]):
            return (
                "text in a stand-off release",
                f"in {name} what could be text: {row[name][:40]!r}",
            )
    return None


def _fault_of_place(place: Mapping[str, Any]) -> Wrong | None:
    if not place["sentence_id"].strip():
        return "id missing", "a clause without its sentence's id"
    if place["start"] < 0:
        return "span outside sentence", "a clause that begins before its sentence"
    if place["start"] >= place["end"]:
        return "empty span", "a clause without words"
    return None
