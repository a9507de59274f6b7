"""Reference spans: which part of a sentence becomes a conjunct (§3.3).

The draw for a sentence is a pure function of (seed, sentence id): it does not depend on which other
sentences there are, nor on the process that draws.
"""

import hashlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from nltk.tree import Tree
from typing_extensions import TypedDict

from pipeline.core.documents import Count, parse_json
from pipeline.core.errors import InputError
from pipeline.core.types import (
    UNLABELLED,
    Reference,
    SourceSentence,
    Span,
    is_label,
)
from pipeline.text.constituents import constituent_spans, is_punctuation
from pipeline.text.unpacking import read_whole

_LENGTHS = [0.8 ** (length - 1) for length in range(1, 11)]
"""Weights of lengths 1 to 10: SpanBERT's Geo(0.2), cut off at 10 (Joshi et al., 2020, §3.1)."""


def random_spans(words: tuple[str, ...], rng: random.Random, count: int) -> list[tuple[Span, str]]:
    """Distinct random word sequences, lengths geometric and at most 10, as SpanBERT masks."""
    found: dict[Span, str] = {}
    for _ in range(20 * count):
        length = min(rng.choices(range(1, 11), weights=_LENGTHS)[0], len(words) - 1)
        start = rng.randrange(len(words) - length + 1)
        span = Span(start, start + length)
        if not is_punctuation(words, span):
            found.setdefault(span, UNLABELLED)
        if len(found) == count:
            break
    return list(found.items())


Weigh = Callable[[Span, str], float]
"""How likely a span with a label is to be drawn, compared with others; 0: never."""


def draw_spans(
    sentence: SourceSentence,
    *,
    tree: Tree | None,
    references: int,
    seed: int,
    weigh: Weigh | None = None,
) -> list[Reference]:
    """Up to ``references`` distinct reference spans of one sentence, in order of their position.

    Args:
        sentence: the source sentence.
        tree: its constituency tree; None draws random word sequences instead.
        references: R, how many spans to draw without replacement.
        seed: with the sentence id it determines the draw.
        weigh: weights of constituents; None: all are as likely.
    """
    key = hashlib.sha256(f"{seed}\0{sentence.sentence_id}".encode()).digest()
    rng = random.Random(int.from_bytes(key[:8], "big"))
    if tree is None:
        drawn = random_spans(sentence.words, rng, references) if len(sentence.words) > 1 else []
    else:
        spans = constituent_spans(sentence.words, tree)
        if weigh is None:
            drawn = rng.sample(spans, min(references, len(spans)))
        else:
            drawn = _weighted(spans, [weigh(*each) for each in spans], references, rng)
    return [
        Reference(sentence.sentence_id, sentence.words, span, label, sentence.license)
        for span, label in sorted(drawn)
    ]


def _weighted(
    spans: Sequence[tuple[Span, str]], weights: Sequence[float], count: int, rng: random.Random
) -> list[tuple[Span, str]]:
    """Some spans drawn by weight without replacement: those that ring first of clocks of these rates."""
    rings = [-math.log(1.0 - rng.random()) for _ in spans]
    times = sorted(
        (ring / w, i) for i, (ring, w) in enumerate(zip(rings, weights, strict=True)) if w
    )
    return [spans[i] for _, i in times[:count]]


_REMEDY = 'write {"sentence_id": …, "start": …, "end": …, "label": …}'


class _GivenSpan(TypedDict):
    sentence_id: str
    start: Count
    end: Count
    label: NotRequired[str]


@dataclass(frozen=True, slots=True)
class GivenSpan:
    """A line of a file of given spans: half-open word indices, label, and where it stands."""

    start: int
    end: int
    label: str
    line: int


def read_given_spans(path: Path) -> dict[str, list[GivenSpan]]:
    """Reference spans by sentence id, from JSON lines of ``{"sentence_id", "start", "end", "label"}``.

    ``start`` and ``end`` are half-open word indices; ``label``, of the form ``LABEL``, may be left out.

    Raises:
        InputError: there is no such file, it is no text in UTF-8, has no line, or one that is no such object.
    """
    found: dict[str, list[GivenSpan]] = {}
    known: set[tuple[str, int, int]] = set()
    for number, line in enumerate(read_whole(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row: _GivenSpan = parse_json(line, _GivenSpan, remedy="")
        except InputError as error:
            raise InputError(
                f"not a given span: {error}", path=path, line=number, remedy=_REMEDY
            ) from error
        sentence_id, start, end = row["sentence_id"], row["start"], row["end"]
        label = row.get("label", UNLABELLED)
        if not is_label(label):
            raise InputError(
                f"{label[:40]!r} is no label", path=path, line=number, sentence_id=sentence_id,
                remedy="give 1 to 16 characters A-Z, 0-9, - and $, the first a letter, or leave it out",
            )  # fmt: skip
        if (sentence_id, start, end) in known:
            raise InputError(
                f"span [{start}, {end}) is given twice", path=path, line=number,
                sentence_id=sentence_id, remedy="leave one of the lines out",
            )  # fmt: skip
        known.add((sentence_id, start, end))
        found.setdefault(sentence_id, []).append(GivenSpan(start, end, label, number))
    if not found:
        raise InputError(
            "no given spans in the file", path=path, remedy="write one JSON object a line"
        )
    return found


def place_given_spans(
    sentence: SourceSentence, given: Sequence[GivenSpan], path: Path
) -> list[Reference]:
    """The references that given spans mean in their sentence, in the order of the file.

    Raises:
        InputError: a span is empty, all of the sentence or outside it.
    """
    words = sentence.words
    found = []
    for each in given:
        if not 0 <= each.start < each.end <= len(words) or each.end - each.start == len(words):
            raise InputError(
                f"span [{each.start}, {each.end}) is empty, whole or outside the {len(words)} words",
                path=path, line=each.line, sentence_id=sentence.sentence_id,
                remedy="give half-open word indices of a part of the sentence",
            )  # fmt: skip
        span = Span(each.start, each.end)
        found.append(Reference(sentence.sentence_id, words, span, each.label, sentence.license))
    return found
