"""The documents of a release of questions, and among them README.md, its dataset card."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.corpora import QUESTIONS
from pipeline.core.markdown import code, grid, plain, printable
from pipeline.release.front_matter import is_made_up, source_names
from pipeline.release.kinds.card import (
    reasons_table,
    rows_of_release,
    said,
    write_kind_documents,
)

_OF_A_ROW = (
    "Each row has in its column `license` the licence of the sentences that its context and its choices are "
    "of, joined by AND."
)
_ABSTRACT = (
    "Questions with choices about what brings what about: of sentences whose two clauses a causal or "
    "conditional connective joins, the cause is shown, and its effect stands among those of others."
)
_LIMITS = [
    "No person has said that a cause brings its effect about: that is what one sentence says of one case, or "
    "what a parser made of it.",
    "A distractor may be as good an answer as the right one.",
]
_VOTED = (
    "People voted for the pair behind each question, not for the question: a distractor may be as good an "
    "answer as the right one."
)


def write_question_documents(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write README.md, LICENSE, CITATION.cff and croissant.json; the same input gives the same bytes.

    Args:
        folder: of the release, whose shards and ``manifest.json`` stand.
        manifest: what ``manifest.json`` holds.

    Raises:
        InputError: the folder cannot be written to.
    """
    manifest = printable(manifest)
    found = _QuestionCounts(folder, manifest)
    words = said(QUESTIONS)
    runs = [{"key": code(key), **_chosen(run)} for key, run in manifest["generations"].items()]
    voted = all(each["votes"] for each in runs)
    stand_off, origins = bool(manifest["stand_off"]), source_names(manifest, ())
    write_kind_documents(
        folder, manifest, origins, template="questions.md.jinja",
        front={
            "language_creators": ["machine-generated" if is_made_up(manifest, origins) else "found"],
            "task_categories": ["multiple-choice"],
            "task_ids": ["multiple-choice-qa"],
            "tags": ["commonsense", "causality", "contingency", "conjoin"] + ["stand-off"] * stand_off,
        },
        facts={
            "runs": runs,
            "stand_off": stand_off,
            "withheld": _withheld(manifest),
            "labels": _shares(found.labels, "connective (`label`)"),
            "splits": _shares(found.splits, "`split`"),
            "places": _shares(found.places, "place of the answer (`answer`)"),
            "reasons": reasons_table(found.reasons, manifest, words["reasons"]),
            "samples": [_shown(row) for row in found.samples.values()],
        },
        texts={
            "of_a_row": _OF_A_ROW,
            "changes": "took clauses out of their sentences, and put them beside each other as questions",
            "abstract": _ABSTRACT,
            "keywords": ["commonsense", "causality", "multiple choice", "pseudo-problems"],
            "columns": words["columns"],
            "verb": "ask",
            "collection": "Sentences of two clauses with a connective were found by their trees; a program "
            "chose the distractors by the cosines of word vectors.",
            "limits": [_VOTED] if voted else _LIMITS,
        },
    )  # fmt: skip


class _QuestionCounts:
    """What the rows of a release come to.

    Attributes:
        labels: usable questions by connective.
        splits: by split.
        places: by the place of the answer.
        reasons: rejects by reason.
        samples: the first row of each connective.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.labels, self.reasons = Counter[str](), Counter[str]()
        self.splits, self.places = Counter[str](), Counter[str]()
        self.samples: dict[str, Mapping[str, Any]] = {}
        text = ["context_at", "choices_at"] if manifest["stand_off"] else ["context", "choices"]
        for config, row in rows_of_release(
            folder, manifest, ["candidate_id", "label", "split", "answer", *text]
        ):
            if config == "rejected":
                self.reasons[row["reason"]] += 1
                continue
            self.labels[row["label"]] += 1
            self.splits[row["split"]] += 1
            self.places[str(row["answer"])] += 1
            self.samples.setdefault(row["label"], row)


def _chosen(run: Mapping[str, Any]) -> dict[str, Any]:
    """What the card says of a run: which pairs it took, what was kept apart, its bands, its votes."""
    settings, inputs = run.get("settings", {}), run.get("inputs") or {}
    bands = {name: settings.get(f"{name}_band") for name in ("choice", "context", "length")}
    return {
        "condition": settings.get("condition"),
        "apart": " and ".join(map(str, settings.get("apart") or [])),
        "bands": bands,
        "quantile": settings.get("bands") == "quantile",
        "reuse": settings.get("reuse"),
        "votes": settings.get("least", 2) if inputs.get("votes") else None,
    }


def _shares(counts: Counter[str], what: str) -> str:
    rows = [
        [code(name), count, f"{100 * count / counts.total():.1f} %"]
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return grid([what, "rows", "share"], rows)


def _withheld(manifest: Mapping[str, Any]) -> list[str]:
    """Why rows are not in a stand-off release, and how many."""
    return [
        f"{rows:,} of `{'default' if config == 'train' else 'rejected'}`: {plain(why)}"
        for config, reasons in (manifest.get("withheld") or {}).items()
        for why, rows in sorted(reasons.items())
    ]


def _shown(row: Mapping[str, Any]) -> str:
    """A question on one line of Markdown, its answer marked; without text where its clauses stand."""
    if "choices_at" in row:
        texts = [_place(place) for place in row["choices_at"]]
        context = f"{code(row['label'])} {_place(row['context_at'])}"
    else:
        texts, context = [code(each) for each in row["choices"]], code(row["context"])
    marked = [
        f"**{text}**" if number == row["answer"] else text for number, text in enumerate(texts)
    ]
    return f"{context} → {' / '.join(marked)}"


def _place(place: Mapping[str, Any]) -> str:
    """Words as people count them, from 1."""
    return f"words {place['start'] + 1} to {place['end']} of {code(place['sentence_id'])}"
