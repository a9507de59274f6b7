"""Predictions for a stream of sentences, and their forms as text.

Sentences are predicted block by block, sorted by length inside, and given in order. An answer is
written as tab-separated fields, a JSON object, or annotated CoNLL-U.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from pipeline.core.metrics import as_conjuncts
from pipeline.core.types import COORDINATORS, Span, bracketed
from pipeline.predictor.encoding import TOO_LONG
from pipeline.predictor.model import BATCH_TOKENS, Prediction, Predictor
from pipeline.text.conllu import with_comments, with_misc
from pipeline.text.lines import Given

BLOCK = 1024
"""Sentences read before they are predicted together: enough to sort by length, little memory."""

_LARGEST = 1 << 22
"""Characters that a block may have before it ends all the same: a sentence may have a MiB."""

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
        sentences: any number, of which ``block`` are kept at a time, or fewer if they are very long.
        coordinators: words that count, in lower case.
        n: how many structures each coordinator gets, if it has as many.
        batch_tokens: subwords encoded together.
        block: sentences predicted together; probabilities depend on it in their last digits.
    """
    for given in _blocks(sentences, block):
        places = [
            [k for k, word in enumerate(sentence.words) if word.lower() in coordinators]
            for sentence in given
        ]
        # A sentence of a megabyte may have as many coordinators as words: it is one refusal.
        long = [
            bool(own) and not predictor.readable(s.words)
            for s, own in zip(given, places, strict=True)
        ]
        places = [[] if left_out else own for own, left_out in zip(places, long, strict=True)]
        words = [s.words for s, own in zip(given, places, strict=True) for _ in own]
        ks = [k for own in places for k in own]
        found = n_best(predictor, words, ks, n, batch_tokens)
        reasons = predictor.obstacles(words, ks) if None in found else [None] * len(ks)
        predictor.encoding.forget()
        entries = (
            Skipped(k, reason or "") if best is None else Found(k, best)
            for k, best, reason in zip(ks, found, reasons, strict=True)
        )
        for sentence, own, left_out in zip(given, places, long, strict=True):
            reason = TOO_LONG if left_out else NONE if sentence.words else NO_WORDS
            yield Answer(sentence, tuple(islice(entries, len(own))) or (Skipped(None, reason),))


def _blocks(sentences: Iterable[Given], block: int) -> Iterator[list[Given]]:
    """Yield sentences together, ``block`` at a time, or fewer where they are very long."""
    found: list[Given] = []
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
        # topk does not guarantee the order of ties.
        values, places = scores.flatten().sort(descending=True, stable=True)
        width, k = scores.shape[1], coordinators[index]
        found[index] = tuple(
            Prediction(Span(place // width, k + 2 + place % width), probability)
            for place, probability in zip(
                places[:n].tolist(), values[:n].exp().tolist(), strict=True
            )
        )
    return found


def tsv(answer: Answer) -> str:
    """A line per structure: sentence with its conjuncts in brackets, coordinator, probability.

    What is skipped has the sentence as it is, the coordinator or ``-``, and the reason.
    """
    words = answer.sentence.words
    lines = []
    for entry in answer.entries:
        if isinstance(entry, Skipped):
            word = "-" if entry.coordinator is None else words[entry.coordinator]
            lines.append(f"{' '.join(words)}\t{word}\t{entry.reason}\n")
            continue
        for one in entry.best:
            shown = bracketed(words, as_conjuncts(words, entry.coordinator, one.span))
            lines.append(f"{shown}\t{words[entry.coordinator]}\t{one.probability:.3f}\n")
    return "".join(lines)


def jsonl(answer: Answer) -> str:
    """One object on one line; offsets count words from 0 and are half-open."""
    words = answer.sentence.words
    found: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for entry in answer.entries:
        word = None if entry.coordinator is None else words[entry.coordinator]
        place = {"coordinator": entry.coordinator, "word": word}
        if isinstance(entry, Skipped):
            skipped.append({**place, "reason": entry.reason})
            continue
        best = [{**asdict(one.span), "probability": _short(one.probability)} for one in entry.best]
        conjuncts = as_conjuncts(words, entry.coordinator, entry.best[0].span)
        spans = [[span.start, span.end] for span in conjuncts]
        found.append({**place, "conjuncts": spans, **best[0], "alternatives": best})
    sentence = {
        "sentence_id": answer.sentence.name,
        "line": answer.sentence.line,
        "words": words,
        "coordinations": found,
        "skipped": skipped,
    }
    return json.dumps(sentence, ensure_ascii=False) + "\n"


def conllu(answer: Answer) -> str:
    """The sentence's own lines, with ``Coord`` and ``CoordProb`` in MISC of each coordinator.

    ``Coord=3-7`` are the IDs of the structure's first and last word; of several structures, best
    first, both have as many values parted by commas. What is skipped is a comment.
    """
    words = answer.sentence.words
    values, comments = {}, []
    for entry in answer.entries:
        if isinstance(entry, Found):
            values[entry.coordinator] = {
                "Coord": ",".join(f"{one.span.start + 1}-{one.span.end}" for one in entry.best),
                "CoordProb": ",".join(str(_short(one.probability)) for one in entry.best),
            }
        elif entry.coordinator is None:
            comments.append(entry.reason)
        else:
            comments.append(f"{entry.coordinator + 1} {words[entry.coordinator]}: {entry.reason}")
    rows = with_misc(answer.sentence.rows, ("Coord", "CoordProb"), values)
    return "\n".join(with_comments(rows, "coord_skipped", comments)) + "\n\n"


def _short(probability: float) -> float:
    """Six digits: what follows depends on how sentences were batched."""
    return float(f"{probability:.6g}")


FORMS: dict[str, Callable[[Answer], str]] = {"tsv": tsv, "jsonl": jsonl, "conllu": conllu}
