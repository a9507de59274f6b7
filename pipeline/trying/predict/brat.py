"""Answers as brat's documents, in which people correct them (``text/brat.py``)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.core.types import REFERENCE_LABELS, UNLABELLED, Coordination
from pipeline.text.brat import (
    CONFIGURATION,
    BratSentence,
    configuration,
    is_written,
    write_documents,
)
from pipeline.trying.predict.answers import Found, SentenceAnswer

NOT_FOR_BRAT = "sentence without words, or with a word that has a blank"


def is_for_brat(answer: SentenceAnswer) -> bool:
    """Whether a document can have the sentence."""
    words = answer.sentence.words
    return bool(words) and all(map(is_written, words))


def write_brat(folder: Path, found: Iterable[SentenceAnswer]) -> None:
    """Write answers of which ``is_for_brat`` holds as brat's documents, with each coordinator's structure."""
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
