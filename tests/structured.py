"""Random sentences with coordinations, some within conjuncts of others, for round trips."""

import random
from dataclasses import replace

from pipeline.core.types import UNLABELLED, Coordination, Sentence, Span

_WORDS = (
    "cat",
    "naïve",
    "=x",
    "|",
    "_",
    "-LRB-",
    "東京",
    "💡",
    "a,b",
    "Coord=1-2",
    "#",
    "''",
    "e\u0301",
)
_LABELS = ("NP", "VP", "S", UNLABELLED)


def sentence(number: int, *, labels: bool = True) -> Sentence:
    """The sentence of that number: words of any make, and structures as people nest them."""
    draw = random.Random(number)
    words: list[str] = []
    found: list[Coordination] = []

    def some(least: int) -> None:
        words.extend(draw.choice(_WORDS) for _ in range(draw.randint(least, 3)))

    def constituent(depth: int) -> Span:
        start = len(words)
        if depth and draw.random() < 0.6:
            some(0)
            spans = [constituent(depth - 1)]
            for _ in range(draw.choice((0, 0, 1, 2))):
                words.append(draw.choice((",", ";", "and")))
                spans.append(constituent(depth - 1))
            words.extend([","] * draw.randint(0, 1))
            k = len(words)
            words.append(draw.choice(("and", "or", "But", "and/or")))
            words.extend(["then"] * draw.randint(0, 1))
            spans.append(constituent(depth - 1))
            label = draw.choice(_LABELS) if labels else UNLABELLED
            found.append(Coordination(k, words[k], label, tuple(spans)))
            some(0)
        else:
            some(1)
        return Span(start, len(words))

    for _ in range(draw.randint(1, 3)):
        some(0)
        constituent(draw.randint(0, 3))
    structures = tuple(sorted(found, key=lambda each: each.coordinator))
    return Sentence(f"toy/{number}", "d", "train", tuple(words), None, None, structures, "CC0-1.0")


def silent(made: Sentence) -> Sentence:
    """The same without annotation."""
    return replace(made, coordinations=())
