"""Right, said and there of chosen arguments, by kind and role; and F1 of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pipeline.core.predicates import DEP, ROLES, ZAR, Predicate

KINDS = (ZAR, DEP)

Counts = npt.NDArray[np.int64]
"""What was right, said and there of each predicate, ``[predicates, kinds, roles, 3]``."""


def counted(
    predicates: Sequence[Predicate],
    chosen: Sequence[Mapping[str, int]],
    *,
    mentions: bool = False,
) -> Counts:
    """What the chosen words of some predicates come to.

    A choice is right if it fills its role, and then of the kind that the argument has; a wrong one is of the
    kind that it would have as an argument.

    Args:
        predicates: with their arguments.
        chosen: a word for some of the roles of each.
        mentions: whether another mention of what fills a role is right, too.
    """
    counts = np.zeros((len(predicates), len(KINDS), len(ROLES), 3), dtype=np.int64)
    for row, predicate, words in zip(counts, predicates, chosen, strict=True):
        own = {argument.role: argument for argument in predicate.arguments}
        for place, role in enumerate(ROLES):
            argument, word = own.get(role), words.get(role)
            if argument is not None:
                row[KINDS.index(argument.kind), place, 2] += 1
            if word is None:
                continue
            if argument is not None and (
                word in argument.fillers or (mentions and word in argument.mentions)
            ):
                row[KINDS.index(argument.kind), place, :2] += 1
            else:
                row[KINDS.index(predicate.kind_of(word)), place, 1] += 1
    return counts


def f1(counts: npt.NDArray[np.int64]) -> float | None:
    """F1 of right, said and there, ``[..., 3]``, added up; None where nothing was said nor there."""
    right, said, there = (int(each) for each in counts.reshape(-1, 3).sum(0))
    return 2 * right / (said + there) if said + there else None
