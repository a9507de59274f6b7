"""Conjuncts among the children of a coordinated constituent, whatever the treebank."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

__all__ = ["PRECONJUNCTIONS", "conjunct_children"]

PRECONJUNCTIONS = frozenset({"both", "either", "neither"})
"""Words tagged CC that open a coordination and do not coordinate (lower case)."""


def conjunct_children(
    count: int,
    separators: AbstractSet[int],
    coordinator: int,
    tiers: Sequence[AbstractSet[int]],
) -> list[int]:
    """The child of each segment that is a conjunct, as increasing indices.

    Separators cut the children into segments. In a segment the first tier that has a member there
    decides, and of several the one nearest to the coordinator is the conjunct: what stands farther
    out is shared ("the receptors [alpha] and [beta]", "[M7] and [TMD] cases").

    Args:
        count: number of children.
        separators: indices of coordinators, CONJP, commas and colons.
        coordinator: index of the coordinator; one of the separators.
        tiers: sets of eligible indices, the best first.
    """
    found: list[int] = []
    segment: list[int] = []
    for index in range(count + 1):
        if index < count and index not in separators:
            segment.append(index)
            continue
        for tier in tiers:
            eligible = [i for i in segment if i in tier]
            if eligible:
                found.append(eligible[-1] if index <= coordinator else eligible[0])
                break
        segment = []
    return found
