"""Answers as brat's documents, in which people correct them (``text/brat.py``)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.core.types import REFERENCE_LABELS, UNLABELLED, Coordination
from pipeline.models.words import TOO_LONG
from pipeline.text.brat import (
    CONFIGURATION,
    BratSentence,
    configuration,
    is_written,
    write_documents,
)
from pipeline.trying.predict.answers import Found, SentenceAnswer, Skipped

NOT_FOR_BRAT = "sentence without words, or with a word that has a blank"
UNREAD = f"sentence with coordinators that were not read, which brat cannot say: {TOO_LONG}"


def why_not_for_brat(answer: SentenceAnswer) -> str | None:
    """Why no document is to have the sentence; None: one can.

    In brat's documents a coordinator without a structure joins nothing, as whoever corrects them says.
    """
    words = answer.sentence.words
    if not words or not all(map(is_written, words)):
        return NOT_FOR_BRAT
    found = any(isinstance(each, Found) for each in answer.entries)
    unread = any(isinstance(each, Skipped) and each.reason == TOO_LONG for each in answer.entries)
    return UNREAD if unread and not found else None


def write_brat(folder: Path, found: Iterable[SentenceAnswer]) -> None:
    """Write answers as brat's documents, with each coordinator's structure; all are for brat."""
    labels = dict.fromkeys(REFERENCE_LABELS)

    def kept() -> Iterator[BratSentence]:
        for answer in found:
            words = answer.sentence.words
            structures = tuple(
                Coordination(
                    each.coordinator, words[each.coordinator],
                    each.structure[0].label if each.structure else UNLABELLED, each.conjuncts,
                )
                for each in answer.entries
                if isinstance(each, Found)
            )  # fmt: skip
            labels.update(dict.fromkeys(each.label for each in structures))
            yield BratSentence(words, structures)

    write_documents(folder, "predictions", kept())
    mark = "# Written by conjoin predict."
    (folder / CONFIGURATION).write_text(configuration(mark, labels), encoding="utf-8")
