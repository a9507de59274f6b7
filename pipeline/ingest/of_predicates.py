"""What ``ingest`` reads where predicates with their arguments are wanted: counts, draws and raw text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipeline.core.cards.ingest import IngestCard
from pipeline.core.console import table
from pipeline.core.corpora import ARGUMENTS
from pipeline.core.corpus_folder import ARGUMENTS_FILE, SENTENCES_FILE
from pipeline.core.predicates import DEP, PREDICATES, ROLES, ZAR, predicate_row
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS, USUAL_SPLITS
from pipeline.ingest.readers import PREDICATE_READERS, more_clauses
from pipeline.ingest.readers.wac import AnnotatedSentence
from pipeline.ingest.reading import (
    ReadFile,
    ReadItem,
    ReadRows,
    held_out_in_training,
    tell_empty,
    tell_tallies,
    without_control,
)
from pipeline.ingest.settings import IngestSettings


def read_predicates(settings: IngestSettings, tally: Tally) -> ReadRows:
    """The sentences of ``settings.source`` and their predicates.

    Raises:
        InputError: malformed input.
    """
    found = PREDICATE_READERS[settings.reader](settings, tally)
    found = without_control("sentence", found, _text_of, tally, strict=settings.strict)
    read = list(_named(found, settings))
    counts = _counts(read)
    card: IngestCard = {"task": ARGUMENTS, "splits": counts, "refused": tally.to_dict()["refused"]}

    def show() -> None:
        rows = [
            (row.replace("_", " "), *(counts[n][row] for n in counts)) for row in counts["train"]
        ]
        table(f"{settings.name}: predicates and their arguments", ("", *counts), rows)
        tell_tallies({"read": tally})
        tell_empty({name: counts[name]["predicates"] for name in counts})

    predicates = [each for annotated in read for each in annotated.predicates]
    return ReadRows(
        called="sentence",
        count=len(read),
        files=[
            ReadFile(SENTENCES_FILE, SENTENCES, lambda: (sentence_row(e.sentence) for e in read)),
            ReadFile(ARGUMENTS_FILE, PREDICATES, lambda: map(predicate_row, predicates)),
        ],
        lines=lambda: (
            " ".join(each.sentence.words)
            for each in (*read, *more_clauses(settings))
            if each.sentence.split == "train"
        ),
        drawable=[
            each.sentence.sentence_id
            for each in read
            if each.sentence.split == "train" and each.predicates
        ],
        drawn_of="sentences with a predicate",
        nothing_drawn="no predicate in the training split",
        card=card,
        show=show,
        twice=held_out_in_training(
            ReadItem(e.sentence_id, e.sentence.split, e.sentence.words, bool(e.predicates))
            for e in read
        ),
    )  # fmt: skip


def _text_of(annotated: AnnotatedSentence) -> str:
    return "".join((*annotated.sentence.words, *(annotated.sentence.tags or ())))


def _named(
    read: Iterator[AnnotatedSentence], settings: IngestSettings
) -> Iterator[AnnotatedSentence]:
    """With ids that begin with the corpus's name, and the wanted predicates."""
    for each in read:
        sentence_id = settings.name + each.sentence.sentence_id[len(settings.reader) :]
        yield AnnotatedSentence(
            replace(each.sentence, sentence_id=sentence_id),
            tuple(
                replace(predicate, sentence_id=sentence_id)
                for predicate in each.predicates
                if predicate.verbal or settings.predicates == "all"
            ),
        )


def _counts(read: Sequence[AnnotatedSentence]) -> dict[str, dict[str, int]]:
    """Sentences, words, predicates, and arguments by kind and role, of each split."""
    there = {each.sentence.split for each in read} | set(USUAL_SPLITS)
    counts: dict[str, Counter[str]] = {name: Counter() for name in SPLITS if name in there}
    for each in read:
        here = counts[each.sentence.split]
        here.update(sentences=1, words=len(each.sentence.words), predicates=len(each.predicates))
        here.update(f"{a.kind}_{a.role}" for p in each.predicates for a in p.arguments)
    rows = ("sentences", "words", "predicates", *(f"{k}_{r}" for k in (DEP, ZAR) for r in ROLES))
    return {name: {row: counts[name][row] for row in rows} for name in counts}
