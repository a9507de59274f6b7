"""What the task reads of a corpus of arguments: sentences, each of whose predicates is a source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.core.annotation import Part
from pipeline.core.corpus_folder import ARGUMENTS_FILE, SENTENCES_FILE, require_ingested
from pipeline.core.errors import InputError
from pipeline.core.predicates import DEP, ROLES, ZAR, Predicate, read_predicates
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence


@dataclass(frozen=True, slots=True)
class Clause:
    """A predicate in its sentence.

    Attributes:
        sentence: its words and tags.
        predicate: its place, and its arguments.
        predicates: words that are predicates of the sentence, this one among them.
    """

    sentence: Sentence
    predicate: Predicate
    predicates: tuple[int, ...]

    @property
    def sentence_id(self) -> str:
        """The sentence's, which its other predicates have, too."""
        return self.sentence.sentence_id

    @property
    def words(self) -> tuple[str, ...]:
        """The sentence's."""
        return self.sentence.words

    @property
    def tags(self) -> tuple[str, ...] | None:
        """The sentence's."""
        return self.sentence.tags


def clauses_of(corpus: Path, sentences: Iterable[Sentence]) -> list[Clause]:
    """The predicates of some sentences of a corpus, in the order of these and of their words.

    Args:
        corpus: the folder.
        sentences: of it.

    Raises:
        InputError: the file of predicates is not as ``ingest`` wrote it, or does not fit the sentences.
    """
    every = list(sentences)
    known = {sentence.sentence_id: sentence for sentence in every}
    found: dict[str, list[Predicate]] = {sentence_id: [] for sentence_id in known}
    for predicate in read_predicates(corpus, known.keys()):
        if fault := _fault(predicate, len(known[predicate.sentence_id].words)):
            raise InputError(
                f"the predicate at word {predicate.predicate} {fault}",
                path=corpus / ARGUMENTS_FILE, sentence_id=predicate.sentence_id,
                remedy="run `conjoin ingest` again",
            )  # fmt: skip
        own = found[predicate.sentence_id]
        if any(each.predicate == predicate.predicate for each in own):
            raise InputError(
                f"the predicate at word {predicate.predicate} stands here twice",
                path=corpus / ARGUMENTS_FILE, sentence_id=predicate.sentence_id,
                remedy="run `conjoin ingest` again",
            )  # fmt: skip
        own.append(predicate)
    places = {name: tuple(sorted(each.predicate for each in own)) for name, own in found.items()}
    return [
        Clause(sentence, predicate, places[sentence.sentence_id])
        for sentence in every
        for predicate in found[sentence.sentence_id]
    ]


def _fault(predicate: Predicate, words: int) -> str | None:
    """How a predicate does not fit a sentence of so many words, or None."""
    spans = (predicate.phrase, *predicate.tied)
    if not all(0 <= span.start < span.end <= words for span in spans):
        return f"has a phrase beyond {words} words"
    if not predicate.phrase.start <= predicate.predicate < predicate.phrase.end:
        return "is outside its phrase"
    roles = [argument.role for argument in predicate.arguments]
    for argument in predicate.arguments:
        role, there = argument.role, (*argument.fillers, *argument.mentions)
        own = any(
            predicate.phrase.start <= word < predicate.phrase.end for word in argument.fillers
        )
        for wrong, fault in (
            (role not in ROLES, f"has an argument of no role: {role[:20]!r}"),
            (
                argument.kind not in (DEP, ZAR),
                f"has an argument of no kind: {argument.kind[:20]!r}",
            ),
            (roles.count(role) > 1, f"has two arguments of {role}"),
            (not argument.fillers, f"has no filler of {role}"),
            (
                not all(0 <= word < words for word in there),
                f"has a filler of {role} beyond {words} words",
            ),
            (own, f"has a filler of {role} in its own phrase"),
        ):
            if wrong:
                return fault
    return None


def clauses_of_split(corpus: Path, split: str, limit: int | None = None) -> list[Clause]:
    """The predicates of a split, or of its first ``limit`` sentences that have one.

    Raises:
        InputError: as ``clauses_of``; or ``ingest`` did not finish.
    """
    require_ingested(corpus, SENTENCES_FILE)
    path = corpus / SENTENCES_FILE
    every = clauses_of(corpus, read_sentences(path, lambda each: each.split == split))
    wanted = set(list(dict.fromkeys(clause.sentence_id for clause in every))[:limit])
    return [clause for clause in every if clause.sentence_id in wanted]


def part_of_clauses(
    corpus: str,
    part: Literal["labelled", "validation"],
    clauses: Sequence[Clause],
    *,
    draw: str,
    use: Literal["learned", "chosen"] = "learned",
) -> Part:
    """The part of some predicates in a record of annotation: their arguments were read.

    Args:
        corpus: its name.
        part: what they are.
        clauses: all of one split.
        draw: of L or its validation set.
        use: what for.
    """
    return Part(
        corpus=corpus, part=part, draw=draw,
        split=clauses[0].sentence.split if clauses else "train", use=use,
        sentences=len({clause.sentence_id for clause in clauses}), predicates=len(clauses),
    )  # fmt: skip
