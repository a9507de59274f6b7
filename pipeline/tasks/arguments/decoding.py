"""Which words become arguments: of each role the most probable one, if it is probable enough (§3.2).

θ of a role is the least probability that is enough. It is chosen on validation predicates alone, among steps
of 0.01, for the F1 of its role; the ranges are those of the authors' code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from pipeline.core.predicates import ROLES
from pipeline.tasks.arguments.examples import ArgumentExample

GRIDS = ((10, 70), (20, 85), (0, 60))
"""Of each role of ``ROLES`` the least and the greatest θ that is tried, in hundredths."""

UNSETTLED = (0.5,) * len(ROLES)
"""θ before any is chosen: the word's role is then more probable than all other labels together."""


@dataclass(frozen=True, slots=True)
class BestWord:
    """The most probable word of a role, with its probability; it is an argument if that exceeds θ."""

    word: int
    probability: float


def best_words(example: ArgumentExample, scores: Tensor) -> list[BestWord | None]:
    """The most probable word of each role outside the predicate's own bunsetsu, of equals the first.

    Args:
        example: the question.
        scores: log-probabilities of the labels, ``[words, labels]``.

    Returns:
        Of each role a choice; None where the bunsetsu is the whole sentence.
    """
    phrase = example.phrase
    if phrase.end - phrase.start >= len(example.words):
        return [None] * len(ROLES)
    outside = scores[:, : len(ROLES)].clone()
    outside[phrase.start : phrase.end] = -float("inf")
    words = outside.argmax(0).tolist()
    return [BestWord(word, float(outside[word, role].exp())) for role, word in enumerate(words)]


def settled(
    examples: Sequence[ArgumentExample], choices: Sequence[Sequence[BestWord | None]]
) -> tuple[float, ...]:
    """The θ of each role with the best F1 on some predicates, of equals the least; if F1 is 0, the greatest.

    Args:
        examples: the predicates with their arguments.
        choices: ``best_words`` of each.
    """
    return tuple(_settled(examples, choices, role) for role in range(len(ROLES)))


def _settled(
    examples: Sequence[ArgumentExample], choices: Sequence[Sequence[BestWord | None]], role: int
) -> float:
    there = sum(bool(example.fillers[role]) for example in examples)
    known = [
        (own[role], example.fillers[role]) for example, own in zip(examples, choices, strict=True)
    ]
    probable = np.array([choice.probability for choice, _ in known if choice])
    right = np.array([choice.word in fillers for choice, fillers in known if choice], dtype=bool)
    least, most = GRIDS[role]
    # Where no word is right with any, the role has nothing that is worth saying.
    best, found = 0.0, most / 100
    for hundredths in range(least, most + 1):
        enough = probable > hundredths / 100
        said = int(enough.sum())
        f1 = 2 * int((right & enough).sum()) / (said + there) if said + there else 0.0
        if f1 > best:
            best, found = f1, hundredths / 100
    return found
