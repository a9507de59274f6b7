"""What ``ingest`` reads where questions with choices are wanted: counts, draws and raw text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipeline.core.cards.ingest import IngestCard
from pipeline.core.console import table
from pipeline.core.corpora import QUESTIONS
from pipeline.core.corpus_folder import QUESTIONS_FILE, SENTENCES_FILE
from pipeline.core.questions import CAUSE, EFFECT, QUESTION_ROWS, Question, question_row
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS, USUAL_SPLITS, Sentence
from pipeline.ingest.readers import QUESTION_READERS, more_statements, statements
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
from pipeline.text.natural import join_words

HELD_OUT = "training question whose context a held-out one has, too"


def read_questions(settings: IngestSettings, tally: Tally) -> ReadRows:
    """The questions of ``settings.source``, and the world's text, in which event pairs are to be found.

    Raises:
        InputError: malformed input.
    """
    reader = settings.reader
    read = without_control(
        "question",
        QUESTION_READERS[reader](settings, tally),
        _text_of,
        tally,
        strict=settings.strict,
    )
    named = (replace(q, question_id=settings.name + q.question_id[len(reader) :]) for q in read)
    questions = _apart(list(named), settings.apart, tally)
    text = [
        replace(sentence, sentence_id=settings.name + sentence.sentence_id[len(reader) :])
        for sentence in statements(settings)
    ]
    counts = _counts(questions)
    card: IngestCard = {"task": QUESTIONS, "splits": counts, "refused": tally.to_dict()["refused"]}

    def show() -> None:
        rows = [(row, *(counts[name][row] for name in counts)) for row in counts["train"]]
        table(f"{settings.name}: questions", ("", *counts), rows)
        tell_tallies({"read": tally})
        tell_empty({name: counts[name]["questions"] for name in counts})

    files = [ReadFile(QUESTIONS_FILE, QUESTION_ROWS, lambda: map(question_row, questions))]
    if text:
        files.append(ReadFile(SENTENCES_FILE, SENTENCES, lambda: map(sentence_row, text)))
    return ReadRows(
        called="question",
        count=len(questions),
        files=files,
        lines=lambda: _lines(settings, questions, text),
        drawable=[question.question_id for question in questions if question.split == "train"],
        drawn_of="questions",
        nothing_drawn="no question in the training split",
        card=card,
        show=show,
        twice=held_out_in_training(
            # Other distractors make no other question.
            ReadItem(q.question_id, q.split, (q.asks, q.context, q.choices[q.answer]))
            for q in questions
        ),
    )


def _text_of(question: Question) -> str:
    named = question.question_id, question.events or ""
    return "".join((*named, question.context, *question.choices))


def _apart(questions: list[Question], splits: Sequence[str], tally: Tally) -> list[Question]:
    """The questions without those of training whose context one of these splits has, which are counted.

    Contexts are compared word for word; what they have in capitals makes no difference. The same context
    has the same ``doc_id``.
    """
    held_out = {question.doc_id for question in questions if question.split in splits}
    kept = []
    for question in questions:
        if question.split == "train" and question.doc_id in held_out:
            tally.keep(-1)  # by its reader it was
            tally.refuse(HELD_OUT, place=question.question_id)
        else:
            kept.append(question)
    return kept


def _lines(
    settings: IngestSettings, questions: Sequence[Question], text: Sequence[Sentence]
) -> Iterator[str]:
    """The text, where there is one; else what training questions say, each once.

    Right choices are not told from others, nor joined to their contexts: a language model that reads these
    lines learns no answer that people annotated.
    """
    if text:
        for sentence in (*text, *more_statements(settings)):
            yield join_words(sentence.words).text
        return
    train = (question for question in questions if question.split == "train")
    yield from dict.fromkeys(text for each in train for text in (each.context, *each.choices))


def _counts(questions: Sequence[Question]) -> dict[str, dict[str, int]]:
    """Questions of each split, by what they ask for, and different contexts."""
    there = {question.split for question in questions} | set(USUAL_SPLITS)
    counts: dict[str, Counter[str]] = {name: Counter() for name in SPLITS if name in there}
    for question in questions:
        counts[question.split].update(("questions", question.asks))
    for name, here in counts.items():
        here["contexts"] = len({q.doc_id for q in questions if q.split == name})
    rows = ("questions", CAUSE, EFFECT, "contexts")
    return {name: {row: counts[name][row] for row in rows} for name in counts}
