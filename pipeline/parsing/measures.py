"""How right trees are: constituents and coordinations that were found, of those that are there."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from nltk.tree import Tree

from pipeline.core.types import COORDINATORS, Coordination
from pipeline.text.coordinations import as_read, ptb_coordinations


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of the things that were found are right, how many were found, how many there are."""

    right: int
    found: int
    wanted: int

    def __add__(self, other: "Counts") -> "Counts":
        """The counts of both together."""
        return Counts(
            self.right + other.right, self.found + other.found, self.wanted + other.wanted
        )

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in [0, 1]; 0 where there is nothing."""
        among = self.found + self.wanted
        return 2 * self.right / among if among else 0.0


NOTHING = Counts(0, 0, 0)


def counted(wanted: Iterable[Hashable], found: Iterable[Hashable]) -> Counts:
    """What was found held against what is there; of equal things each counts once per time."""
    truth, answer = Counter(wanted), Counter(found)
    return Counts((truth & answer).total(), answer.total(), truth.total())


def read_coordinations(tree: Tree | None) -> tuple[Coordination, ...]:
    """What the rule finds in a parser's tree at English coordinators; nothing without a tree.

    As ``harvest`` reads it: words without tags get those that only they can have.
    """
    if tree is None:
        return ()
    found = ptb_coordinations(as_read(tree))
    return tuple(c for c in found if c.word.lower() in COORDINATORS)


Key = Callable[[Coordination], Hashable]

CONJUNCTS = "all conjuncts"
OUTER = "outer boundary"

SAME: dict[str, Key] = {
    CONJUNCTS: lambda c: (c.coordinator, c.conjuncts),
    OUTER: lambda c: (c.coordinator, c.start, c.end),
}
"""What must be alike for a coordination to be right, by the measure's name."""


def coordination_counts(
    gold: Sequence[Coordination],
    found: Sequence[Coordination],
    measure: str,
    among: Key | None = None,
    group: Hashable = None,
) -> Counts:
    """The coordinations of a sentence that were found.

    Args:
        gold: those that are there.
        found: those of a tree.
        measure: one of ``SAME``.
        among: counts only some of either side, and right are those in both: such as the label, or
            the number of conjuncts.
        group: what ``among`` must give.
    """
    same = SAME[measure]
    truth, answer = (
        [same(c) for c in side if among is None or among(c) == group] for side in (gold, found)
    )
    return counted(truth, answer)
