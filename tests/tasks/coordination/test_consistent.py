"""Structures of a sentence chosen together: against all ways, without any, and of many coordinators."""

import itertools
import math
import random

import pytest

from pipeline.core.types import Span
from pipeline.tasks.coordination.consistent import (
    StructureChoice,
    all_consistent,
    are_consistent,
    most_probable,
)


def spans(*bounds: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(Span(*each) for each in bounds)


@pytest.mark.parametrize(
    ("one", "other", "consistent"),
    [
        ([(0, 1), (2, 3)], [(4, 5), (6, 7)], True),  # apart
        ([(0, 1), (2, 3)], [(3, 4), (5, 6)], True),  # side by side
        ([(0, 1), (2, 7)], [(3, 4), (5, 6)], True),  # one within a conjunct
        ([(2, 3), (4, 5)], [(2, 5), (6, 8)], True),  # the whole conjunct
        ([(0, 1), (2, 3)], [(2, 3), (4, 5)], False),  # a conjunct of both
        ([(0, 3), (4, 9)], [(2, 3), (4, 6)], False),  # within the extent, in no conjunct
        ([(0, 1), (2, 3), (4, 5)], [(0, 1), (2, 3), (4, 5)], False),  # the same
    ],
)
def test_consistent_is_apart_or_within_a_conjunct(
    one: list[tuple[int, int]], other: list[tuple[int, int]], consistent: bool
) -> None:
    """Whichever comes first."""
    assert are_consistent(spans(*one), spans(*other)) is consistent
    assert are_consistent(spans(*other), spans(*one)) is consistent


def choices_of(draw: random.Random, coordinator: int, words: int) -> list[StructureChoice]:
    """Some structures of two conjuncts, with probabilities, most probable first."""
    extents = [
        (start, end) for start in range(coordinator) for end in range(coordinator + 2, words + 1)
    ]
    weights = [draw.random() ** 4 for _ in extents]
    found = [
        StructureChoice(spans((start, coordinator), (coordinator + 1, end)), weight / sum(weights))
        for (start, end), weight in zip(extents, weights, strict=True)
    ]
    return sorted(found, key=lambda one: -one.probability)


@pytest.mark.parametrize("seed", range(60))
def test_most_probable_of_all_ways(seed: int) -> None:
    """By trying them all; of few choices, too, where there may be no consistent way."""
    draw = random.Random(seed)
    words = draw.randint(5, 9)
    ks = sorted(draw.sample(range(1, words - 1), draw.randint(2, 3)))
    choices = [choices_of(draw, k, words)[: draw.choice([2, 5, 99])] for k in ks]
    ways = [
        way
        for way in itertools.product(*(range(len(own)) for own in choices))
        if all_consistent([choices[i][place].conjuncts for i, place in enumerate(way)])
    ]
    taken = most_probable(choices)
    if ways:

        def probability(way: tuple[int, ...]) -> float:
            return math.prod(choices[i][place].probability for i, place in enumerate(way))

        assert tuple(taken) in ways
        assert probability(tuple(taken)) == pytest.approx(max(map(probability, ways)))


def test_without_a_consistent_way_the_surest_stays() -> None:
    """Coordinators side by side; one that crosses neither is not drawn into it."""
    sure = [
        StructureChoice(spans((0, 1), (2, 4)), 0.9),
        StructureChoice(spans((0, 1), (2, 5)), 0.1),
    ]
    other = [
        StructureChoice(spans((0, 2), (3, 4)), 0.6),
        StructureChoice(spans((1, 2), (3, 4)), 0.4),
    ]
    third = [
        StructureChoice(spans((3, 5), (6, 7)), 0.8),
        StructureChoice(spans((5, 6), (7, 8)), 0.2),
    ]
    assert most_probable([sure, other]) == [0, 0]
    assert most_probable([sure, other, third]) == [0, 0, 1]


def test_fixed_structures_stand() -> None:
    """Of one choice each, however unlikely; a probability of 0, which a float may be, is no error."""
    fixed = [StructureChoice(spans((0, 3), (4, 5)), 1.0)]
    free = [
        StructureChoice(spans((2, 3), (4, 7)), 0.999),
        StructureChoice(spans((5, 6), (7, 8)), 0.0),
    ]
    assert most_probable([fixed, free]) == [0, 1]


def test_a_long_list_of_coordinators_ends() -> None:
    """Forty of them, whose ways no computer tries: an answer each, with far fewer that cross."""
    draw = random.Random(0)
    words, ks = 81, range(1, 80, 2)
    choices = [choices_of(draw, k, words)[:64] for k in ks]
    taken = most_probable(choices)
    pairs = [own[place].conjuncts for own, place in zip(choices, taken, strict=True)]
    first = [own[0].conjuncts for own in choices]

    def crossing(structures: list[tuple[Span, ...]]) -> int:
        return sum(not are_consistent(*pair) for pair in itertools.combinations(structures, 2))

    assert crossing(pairs) < crossing(first)
