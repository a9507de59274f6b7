"""Which of the sentences that two parsers agree on are drawn: so that they are spread as a treebank's.

Parsers agree on short and simple sentences. So sentences are drawn by strata of their length and of
their *complexity*, the number of different relations per word, which long lists have little of: as
many of each stratum as the treebank's share of it asks for, and what a stratum lacks spread over
the others (``select.strata``). Both are cut at the treebank's deciles. The controls draw as many
sentences, or sentences of as many words, whatever they are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.buckets import bucket_of, deciles
from pipeline.select.drawing import any_rows, by_strata, chance
from pipeline.select.strata import Stratum, distance
from pipeline.text.dependencies import DependencyTree


@dataclass(frozen=True, slots=True)
class Shape:
    """What sentences are compared by.

    Attributes:
        words: how many there are.
        complexity: different relations in a thousand words, a whole number so that every machine draws
            the same.
    """

    words: int
    complexity: int

    @classmethod
    def of(cls, tree: DependencyTree) -> "Shape":
        """The shape of a sentence."""
        return cls(len(tree.words), 1000 * tree.relations // len(tree.words))


@dataclass(frozen=True, slots=True)
class DrawnSentences:
    """What was drawn.

    Attributes:
        taken: which sentences, shape (sentences,).
        summary: counts and distances, JSON-ready.
    """

    taken: npt.NDArray[np.bool_]
    summary: dict[str, Any]


def draw(
    shapes: Sequence[Shape],
    names: Sequence[str],
    treebank: Sequence[Shape],
    *,
    wanted: int,
    sample: str,
    seed: int,
) -> DrawnSentences:
    """Draw sentences.

    Args:
        shapes: of the sentences to draw from.
        names: what tells each from the others, for chance.
        treebank: the shapes of what they are to be like; not empty.
        wanted: how many.
        sample: ``identical``, or one of its controls: ``random-sentences``, ``random-tokens``.
        seed: of chance.
    """
    edges = (
        deciles([each.words for each in treebank]),
        deciles([each.complexity for each in treebank]),
    )

    def stratum(shape: Shape) -> Stratum:
        buckets = (bucket_of(edges[0], shape.words), bucket_of(edges[1], shape.complexity))
        return tuple(f"{bucket:02}" for bucket in buckets)

    target, own = Counter(map(stratum, treebank)), [stratum(shape) for shape in shapes]
    strata = sorted({*target, *own})
    number = {name: place for place, name in enumerate(strata)}
    of = np.array([number[name] for name in own], np.int64)
    keys = np.array([chance(seed, name) for name in names], np.uint64)
    words = np.array([shape.words for shape in shapes], np.int64)
    taken = by_strata(keys, of, [target[name] for name in strata], wanted)
    if sample == "random-sentences":
        taken = any_rows(keys, int(taken.sum()))
    elif sample == "random-tokens":
        taken = any_rows(keys, int(words[taken].sum()), words)
    after = Counter(name for name, kept in zip(own, taken.tolist(), strict=True) if kept)
    far = {"before": distance(target, Counter(own)), "after": distance(target, after)}
    summary = {
        "sample": sample,
        "wanted": wanted,
        "sentences": int(taken.sum()),
        "words": int(words[taken].sum()),
        "strata": len(target),
        "edges": {"words": edges[0], "complexity": edges[1]},
        "distance": {when: round(value, 6) for when, value in far.items()},
    }
    return DrawnSentences(taken, summary)
