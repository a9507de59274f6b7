"""The structures of one sentence, chosen together: no two of them cross.

Eq. 3 looks at one coordinator at a time, so of two in a sentence it may give structures that no tree has
both of: "[A and [B] or C]". Two structures are *consistent* if they are apart, or one lies whole within one
conjunct of the other. Of all ways to choose one structure for each coordinator the most probable consistent
one is taken: the greatest sum of log-probabilities, found exactly, by depth first and a bound. Where the most
probable structures are consistent already, as mostly, it is these.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from pipeline.core.types import Span

CHOICES = 64
"""Structures of a coordinator to choose among; of 2,000 dev sentences 3 needed more."""

_MOST_STEPS = 20_000
"""Choices tried in a sentence, after which the best way found so far is taken."""


class StructureChoice(NamedTuple):
    """A structure that a coordinator may have: its conjuncts, in order, and its probability in (0, 1]."""

    conjuncts: tuple[Span, ...]
    probability: float


def are_consistent(one: Sequence[Span], other: Sequence[Span]) -> bool:
    """Whether two structures, each its conjuncts, are apart, or one is within a conjunct of the other."""
    first, second = Span(one[0].start, one[-1].end), Span(other[0].start, other[-1].end)
    apart = first.end <= second.start or second.end <= first.start
    return apart or _is_within(first, other) or _is_within(second, one)


def _is_within(extent: Span, conjuncts: Sequence[Span]) -> bool:
    return any(each.start <= extent.start and extent.end <= each.end for each in conjuncts)


def all_consistent(structures: Sequence[Sequence[Span]]) -> bool:
    """Whether every two of some structures of a sentence are consistent."""
    return all(are_consistent(*pair) for pair in combinations(structures, 2))


def most_probable(choices: Sequence[Sequence[StructureChoice]]) -> list[int]:
    """Which choice each coordinator of a sentence gets, so that all are consistent.

    Args:
        choices: of each coordinator, at least one, most probable first.

    Returns:
        Indices into each. Where no consistent way is found ("and" directly before "or" leaves none), the
        surest come first, and each gets its best that crosses none of them, if it has one.
    """
    # A probability that no float holds is as unlikely as can be.
    logs = [[math.log(max(one.probability, 1e-300)) for one in own] for own in choices]
    # The surest first: they leave the bound low early.
    order = sorted(range(len(choices)), key=lambda index: -logs[index][0])
    rest = [0.0]
    for index in reversed(order):
        rest.append(rest[-1] + logs[index][0])
    rest.reverse()
    best, taken, steps = -math.inf, _one_by_one(choices, order), 0
    chosen = [0] * len(choices)

    def choose(depth: int, total: float) -> None:
        nonlocal best, taken, steps
        if depth == len(order):
            best, taken = total, chosen.copy()
            return
        index = order[depth]
        for place, log in enumerate(logs[index]):
            if total + log + rest[depth + 1] <= best or steps >= _MOST_STEPS:
                return
            steps += 1
            own = choices[index][place].conjuncts
            before = (choices[i][chosen[i]].conjuncts for i in order[:depth])
            if all(are_consistent(own, other) for other in before):
                chosen[index] = place
                choose(depth + 1, total + log)

    choose(0, 0.0)
    return taken


def _one_by_one(choices: Sequence[Sequence[StructureChoice]], order: Sequence[int]) -> list[int]:
    taken = [0] * len(choices)
    for depth, index in enumerate(order):
        before = [choices[i][taken[i]].conjuncts for i in order[:depth]]
        for place, one in enumerate(choices[index]):
            if all(are_consistent(one.conjuncts, other) for other in before):
                taken[index] = place
                break
    return taken
