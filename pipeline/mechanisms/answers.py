"""Predictions for a stream of sentences, block by block: sorted by length inside, given in order."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice

from pipeline.ground.coordination import COORDINATORS, Span
from pipeline.mechanisms.lines import Given
from pipeline.mechanisms.predictor import BATCH_TOKENS, Prediction, Predictor

__all__ = ["BLOCK", "NONE", "NO_WORDS", "Answer", "Found", "Skipped", "answers", "n_best"]

BLOCK = 1024
"""Sentences read before they are predicted together: enough to sort by length, little memory."""

NONE = "no coordinator"
NO_WORDS = "no words"


@dataclass(frozen=True, slots=True)
class Found:
    """The n most probable structures of the coordinator at a word index, best first."""

    coordinator: int
    best: tuple[Prediction, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A coordinator without a prediction, or a sentence without one (None), and why."""

    coordinator: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence with all its coordinators in order; at least one entry."""

    sentence: Given
    entries: tuple[Found | Skipped, ...]


def answers(
    predictor: Predictor,
    sentences: Iterable[Given],
    *,
    coordinators: AbstractSet[str] = COORDINATORS,
    n: int = 1,
    batch_tokens: int = BATCH_TOKENS,
    block: int = BLOCK,
) -> Iterator[Answer]:
    """Yield an answer to each sentence in the order given, as soon as its block is read.

    Args:
        predictor: on the device that shall do the work.
        sentences: any number, of which ``block`` are kept at a time.
        coordinators: words that count, in lower case.
        n: how many structures each coordinator gets, if it has as many.
        batch_tokens: subwords encoded together.
        block: sentences predicted together; probabilities depend on it in their last digits.
    """
    source = iter(sentences)
    while given := list(islice(source, block)):
        asked = [
            (sentence.words, k)
            for sentence in given
            for k, word in enumerate(sentence.words)
            if word.lower() in coordinators
        ]
        words, ks = [words for words, _ in asked], [k for _, k in asked]
        found = n_best(predictor, words, ks, n, batch_tokens)
        reasons = predictor.obstacles(words, ks) if None in found else [None] * len(ks)
        predictor.encoding.forget()
        entries = iter(
            [
                Skipped(k, reason or "") if best is None else Found(k, best)
                for k, best, reason in zip(ks, found, reasons, strict=True)
            ]
        )
        for sentence in given:
            count = sum(word.lower() in coordinators for word in sentence.words)
            nothing = Skipped(None, NONE if sentence.words else NO_WORDS)
            yield Answer(sentence, tuple(islice(entries, count)) or (nothing,))


def n_best(
    predictor: Predictor,
    sentences: Sequence[Sequence[str]],
    coordinators: Sequence[int],
    n: int,
    batch_tokens: int = BATCH_TOKENS,
) -> list[tuple[Prediction, ...] | None]:
    """The ``n`` most probable endpoint pairs of each coordinator, best first, or all it has.

    Of equally probable ones the first (by start, then end) comes first, so that the first of all is
    that of ``Predictor.predict``; None where that has none. Probabilities are those over all pairs.
    """
    found: list[tuple[Prediction, ...] | None] = [None] * len(sentences)
    for index, scores in predictor.distributions(sentences, coordinators, batch_tokens):
        # topk promises no order of equals.
        values, places = scores.flatten().sort(descending=True, stable=True)
        width, k = scores.shape[1], coordinators[index]
        found[index] = tuple(
            Prediction(Span(place // width, k + 2 + place % width), probability)
            for place, probability in zip(
                places[:n].tolist(), values[:n].exp().tolist(), strict=True
            )
        )
    return found
