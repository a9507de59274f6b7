"""Predictions for a stream of sentences, and their forms as text.

Sentences are predicted block by block, sorted by length inside, and given in order. An answer is
written as tab-separated fields, a JSON object, or annotated CoNLL-U; ``distributed.py`` has another form.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, islice
from typing import Any

from pipeline.core.runs import TOGETHER, USUAL_TAU
from pipeline.core.types import Coordination, Span, bracketed
from pipeline.models.words import BATCH_TOKENS, TOO_LONG
from pipeline.tasks.coordination.consistent import (
    CHOICES,
    StructureChoice,
    all_consistent,
    most_probable,
)
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction, ScoredCoordinator
from pipeline.tasks.coordination.with_parser import BothAnswers, probability_of
from pipeline.text.conllu import with_comments, with_coordinations
from pipeline.text.lines import GivenSentence
from pipeline.text.trees import Constituent

BLOCK = 1024
"""Sentences read before they are predicted together: enough to sort by length, little memory."""

_LARGEST = 1 << 22
"""Characters that a block may have before it ends all the same: a sentence may have a MiB."""

NONE = "no coordinator"
NO_WORDS = "no words"


@dataclass(frozen=True, slots=True)
class Boundary:
    """An outer boundary, the predictor's probability of it (None: it cannot score it), and its conjuncts."""

    span: Span
    probability: float | None
    conjuncts: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The n most probable structures of the coordinator at a word index, best first.

    Attributes:
        coordinator: its word index.
        best: the predictor's; none where it cannot score the coordinator. The first is the answer, which is
            less probable than others where these would cross those of other coordinators.
        structure: the parser's, where that is the answer, with the predictor's probability of its outer
            boundary (None: it cannot score it); None: the predictor's best is the answer.
    """

    coordinator: int
    best: tuple[Prediction, ...]
    structure: tuple[Coordination, float | None] | None = None

    @property
    def conjuncts(self) -> tuple[Span, ...]:
        """The conjuncts of the answer."""
        return self.structure[0].conjuncts if self.structure else self.best[0].conjuncts

    @property
    def ranked(self) -> tuple[Boundary, ...]:
        """The outer boundary of the answer, and then those of ``best`` that differ, as many in all."""
        found = tuple(Boundary(one.span, one.probability, one.conjuncts) for one in self.best)
        if self.structure is None:
            return found
        structure, probability = self.structure
        extent = Span(structure.start, structure.end)
        first = Boundary(extent, probability, structure.conjuncts)
        rest = (one for one in found if one.span != first.span)
        return (first, *rest)[: max(1, len(found))]

    @property
    def source(self) -> str:
        """Whose answer it is: ``parser`` or ``predictor``."""
        return "parser" if self.structure else "predictor"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A coordinator without a prediction, or a sentence without one (None), and why."""

    coordinator: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """What a parser says of a sentence.

    Attributes:
        structures: by their coordinators.
        constituents: of its tree, an outer one before those in it.
        unparsed: why there is no tree; None: there is one, or nobody asked for it.
    """

    structures: Mapping[int, Coordination] = field(default_factory=dict)
    constituents: tuple[Constituent, ...] = ()
    unparsed: str | None = None


Parse = Callable[[Sequence[Sequence[str]]], Sequence[ParsedSentence]]
"""A parser, which is given the words of sentences."""


@dataclass(frozen=True, slots=True)
class SentenceAnswer:
    """A sentence with all its coordinators in order; at least one entry.

    ``beside``: what a parser says of it; None: there is no parser. One without a coordinator is not parsed.
    """

    sentence: GivenSentence
    entries: tuple[Found | Skipped, ...]
    beside: ParsedSentence | None = None


def answers(
    predictor: CoordinationPredictor,
    sentences: Iterable[GivenSentence],
    *,
    coordinators: AbstractSet[str] | None = None,
    n: int = 1,
    batch_tokens: int = BATCH_TOKENS,
    block: int = BLOCK,
    parse: Parse | None = None,
    tau: float = USUAL_TAU,
) -> Iterator[SentenceAnswer]:
    """Yield an answer to each sentence in the order given, as soon as its block is read.

    Args:
        predictor: on the device that shall do the work.
        sentences: any number, of which ``block`` are kept at a time, or fewer if they are very long.
        coordinators: words that count, in lower case; None: those that the predictor knows.
        n: how many structures each coordinator gets, if it has as many.
        batch_tokens: subwords encoded together.
        block: sentences predicted together; probabilities depend on it in their last digits.
        parse: a parser whose structures stand as ``coordination/with_parser.py`` has it; None: there is none.
        tau: of that rule.
    """
    known = frozenset(predictor.coordinators) if coordinators is None else coordinators
    for given in _blocks(sentences, block):
        places = [
            [k for k, word in enumerate(sentence.words) if word.lower() in known]
            for sentence in given
        ]
        parsed = _parsed(parse, given, places)
        # A sentence of a megabyte may have as many coordinators as words: it is one refusal, unless
        # the parser finds something there.
        long = [
            bool(own) and not each.structures and not predictor.readable(s.words)
            for s, own, each in zip(given, places, parsed, strict=True)
        ]
        places = [[] if left_out else own for own, left_out in zip(places, long, strict=True)]
        words = [s.words for s, own in zip(given, places, strict=True) for _ in own]
        ks = [k for own in places for k in own]
        structures = [
            each.structures.get(k) for own, each in zip(places, parsed, strict=True) for k in own
        ]
        found = _answers(predictor, words, ks, structures, n=n, batch_tokens=batch_tokens, tau=tau)
        reasons = predictor.reasons(words, ks) if None in found else [None] * len(ks)
        predictor.encoding.forget()
        entries = (
            each or Skipped(k, reason or "")
            for k, each, reason in zip(ks, found, reasons, strict=True)
        )
        for sentence, own, left_out, beside in zip(given, places, long, parsed, strict=True):
            reason = TOO_LONG if left_out else NONE if sentence.words else NO_WORDS
            listed = tuple(islice(entries, len(own))) or (Skipped(None, reason),)
            yield SentenceAnswer(sentence, listed, beside if parse else None)


def _parsed(
    parse: Parse | None, sentences: Sequence[GivenSentence], places: Sequence[Sequence[int]]
) -> list[ParsedSentence]:
    """What the parser finds in each sentence; those without a coordinator are not parsed."""
    asked = [sentence.words for sentence, own in zip(sentences, places, strict=True) if own]
    nothing = ParsedSentence()
    found = iter(parse(asked) if parse and asked else [nothing] * len(asked))
    return [_at(next(found), own) if own else nothing for own in places]


def _at(parsed: ParsedSentence, places: Sequence[int]) -> ParsedSentence:
    """With the structures at some coordinators alone."""
    structures = {k: each for k, each in parsed.structures.items() if k in places}
    return replace(parsed, structures=structures)


def _answers(
    predictor: CoordinationPredictor,
    sentences: Sequence[Sequence[str]],
    coordinators: Sequence[int],
    structures: Sequence[Coordination | None],
    *,
    n: int,
    batch_tokens: int,
    tau: float,
) -> list[Found | None]:
    """The answer to each coordinator, given the parser's structures; None where there is none.

    What the predictor cannot score has the parser's structure, if there is one. No two answers in a sentence
    cross (``consistent``), as far as the predictor has the choice.
    """
    found = [
        None if each is None else Found(each.coordinator, (), (each, None)) for each in structures
    ]
    scored = predictor.scored(sentences, coordinators, batch_tokens)
    # A sentence's coordinators are scored one after the other; its words are one object.
    for _, group in groupby(scored, key=lambda one: id(sentences[one.index])):
        own = list(group)
        for one in own:
            k, words = coordinators[one.index], sentences[one.index]
            structure = structures[one.index]
            best = predictor.best(words, k, one, n)
            probability = probability_of(structure, words, one.scores)
            takes = BothAnswers(structure, best[0], probability).takes_structure(TOGETHER, tau)
            answer = Found(k, best, (structure, probability) if structure and takes else None)
            found[one.index] = answer
        entries = [each for one in own if (each := found[one.index])]
        if not all_consistent([each.conjuncts for each in entries]):
            together = _consistent(predictor, sentences[own[0].index], own, entries)
            for one, answer in zip(own, together, strict=True):
                found[one.index] = answer
    return found


def _consistent(
    predictor: CoordinationPredictor,
    words: Sequence[str],
    scored: Sequence[ScoredCoordinator],
    entries: Sequence[Found],
) -> list[Found]:
    """The entries of a sentence, with other answers of the predictor where some cross."""
    best = [
        predictor.best(words, each.coordinator, one, max(CHOICES, len(each.best)))
        for each, one in zip(entries, scored, strict=True)
    ]
    taken = most_probable(
        [
            # The parser's stand, and do not count.
            [StructureChoice(each.conjuncts, 1.0)]
            if each.structure
            else [StructureChoice(one.conjuncts, one.probability) for one in own[:CHOICES]]
            for each, own in zip(entries, best, strict=True)
        ]
    )
    return [
        replace(each, best=(own[place], *own[:place], *own[place + 1 :])[: len(each.best)])
        for each, own, place in zip(entries, best, taken, strict=True)
    ]


def _blocks(sentences: Iterable[GivenSentence], block: int) -> Iterator[list[GivenSentence]]:
    """Yield sentences together, ``block`` at a time, or fewer where they are very long."""
    found: list[GivenSentence] = []
    size = 0
    for sentence in sentences:
        found.append(sentence)
        size += sum(map(len, sentence.words)) + len(sentence.words)
        size += sum(map(len, sentence.rows)) + len(sentence.rows)
        if len(found) == block or size > _LARGEST:
            yield found
            found, size = [], 0
    if found:
        yield found


def tsv(answer: SentenceAnswer) -> str:
    """A line per structure: sentence with its conjuncts in brackets, coordinator, probability.

    Beside a parser a fourth field says whose the structure is, and a probability may be ``-``: the predictor
    cannot score it. What is skipped has the sentence as it is, the
    coordinator or ``-``, and the reason.
    """
    words = answer.sentence.words
    lines = []
    for entry in answer.entries:
        if isinstance(entry, Skipped):
            word = "-" if entry.coordinator is None else words[entry.coordinator]
            lines.append(f"{' '.join(words)}\t{word}\t{entry.reason}\n")
            continue
        for rank, one in enumerate(entry.ranked):
            source = entry.source if rank == 0 else "predictor"
            fields = [
                bracketed(words, one.conjuncts),
                words[entry.coordinator],
                "-" if one.probability is None else f"{one.probability:.3f}",
            ]
            lines.append("\t".join(fields if answer.beside is None else [*fields, source]) + "\n")
    return "".join(lines)


def jsonl(answer: SentenceAnswer) -> str:
    """One object on one line; offsets count words from 0 and are half-open.

    ``conjuncts`` are those of the most probable boundary, and each alternative has its own. A probability
    may be null beside a parser: the predictor cannot score its structure.
    """
    words = answer.sentence.words
    found: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for entry in answer.entries:
        word = None if entry.coordinator is None else words[entry.coordinator]
        place = {"coordinator": entry.coordinator, "word": word}
        if isinstance(entry, Skipped):
            skipped.append({**place, "reason": entry.reason})
            continue
        best = [
            {
                **asdict(one.span),
                "probability": _short(one.probability),
                "conjuncts": [[span.start, span.end] for span in one.conjuncts],
            }
            for one in entry.ranked
        ]
        beside: dict[str, Any] = {}
        if answer.beside is not None:
            label = entry.structure[0].label if entry.structure else None
            beside = {"from": entry.source, "label": label}
        # In the order of earlier versions.
        best_first = {"conjuncts": best[0]["conjuncts"], **best[0]}
        found.append({**place, **best_first, **beside, "alternatives": best})
    sentence = {
        "sentence_id": answer.sentence.name,
        "line": answer.sentence.line,
        "words": words,
        "coordinations": found,
        "skipped": skipped,
    }
    return json.dumps(sentence, ensure_ascii=False) + "\n"


def conllu(answer: SentenceAnswer) -> str:
    """The sentence's own lines, with ``Coord``, ``CoordConjuncts`` and ``CoordProb`` in MISC of coordinators.

    ``Coord=3-7`` are the IDs of the structure's first and last word; of several structures, best
    first, it and ``CoordProb`` have as many values parted by commas. ``CoordConjuncts=3-4,6-7`` are the
    conjuncts of the first, as ``conjoin export`` writes them. A probability that there is not, of a parser's
    structure that the predictor cannot score, is ``-``; a parser's structure has its ``CoordLabel``. What is
    skipped is a comment.
    """
    words = answer.sentence.words
    values, comments = {}, []
    for entry in answer.entries:
        if isinstance(entry, Found):
            values[entry.coordinator] = {
                "Coord": ",".join(f"{one.span.start + 1}-{one.span.end}" for one in entry.ranked),
                "CoordConjuncts": ",".join(f"{s.start + 1}-{s.end}" for s in entry.conjuncts),
                "CoordProb": ",".join(
                    "-" if one.probability is None else str(_short(one.probability))
                    for one in entry.ranked
                ),
                **({"CoordLabel": entry.structure[0].label} if entry.structure else {}),
                **({"CoordFrom": entry.source} if answer.beside is not None else {}),
            }
        elif entry.coordinator is None:
            comments.append(entry.reason)
        else:
            comments.append(f"{entry.coordinator + 1} {words[entry.coordinator]}: {entry.reason}")
    rows = with_coordinations(answer.sentence.rows, values)
    return "\n".join(with_comments(rows, "coord_skipped", comments)) + "\n\n"


def _short(probability: float | None) -> float | None:
    """Six digits: what follows depends on how sentences were batched."""
    return None if probability is None else float(f"{probability:.6g}")
