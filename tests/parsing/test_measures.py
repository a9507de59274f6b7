"""How right trees are, on trees made by hand."""

import pytest

from pipeline.core.types import Coordination
from pipeline.parsing.measures import (
    CONJUNCTS,
    NOTHING,
    OUTER,
    Counts,
    coordination_counts,
    counted,
    read_coordinations,
)
from pipeline.parsing.training import bracket_counts
from pipeline.text.trees import parse_tree

GOLD = "(S (NP (NP (DT the) (NN cat)) (, ,) (NP (NN dog)) (CC and) (NP (NN owl))) (VP (VBD slept)))"
FEWER = "(S (NP (NP (XX the) (XX cat) (XX ,) (XX dog)) (XX and) (NP (XX owl))) (VP (XX slept)))"
"""Without tags, and the first two conjuncts are one."""
OTHER = "(S (VP (VP (DT the) (NN cat) (, ,) (NN dog)) (CC and) (VP (NN owl))) (VP (VBD slept)))"


def read(text: str) -> tuple[Coordination, ...]:
    return read_coordinations(parse_tree(text))


def test_f1_of_counts() -> None:
    assert counted("aab", "abbc") == Counts(2, 4, 3)
    assert Counts(2, 4, 3).f1 == pytest.approx(4 / 7)
    assert NOTHING.f1 == 0.0
    assert Counts(1, 2, 3) + Counts(4, 5, 6) == Counts(5, 7, 9)


def test_coordinations_are_read_by_the_corpus_s_rule_with_tags_or_without() -> None:
    assert [len(each.conjuncts) for each in read(GOLD)] == [3]
    assert [len(each.conjuncts) for each in read(FEWER)] == [2]
    assert read_coordinations(None) == ()
    assert read("(NP (NP (NN a)) (CC plus) (NP (NN b)))") == ()  # none of the five


def test_the_outer_boundary_can_be_right_where_the_conjuncts_are_not() -> None:
    gold = read(GOLD)
    assert coordination_counts(gold, gold, CONJUNCTS) == Counts(1, 1, 1)
    assert coordination_counts(gold, read(FEWER), CONJUNCTS) == Counts(0, 1, 1)
    assert coordination_counts(gold, read(FEWER), OUTER) == Counts(1, 1, 1)
    assert coordination_counts(gold, (), OUTER) == Counts(0, 0, 1)


def test_groups_count_either_side_by_its_own() -> None:
    gold, found = read(GOLD), read(FEWER)

    def size(each: Coordination) -> int:
        return len(each.conjuncts)

    assert coordination_counts(gold, found, OUTER, size, 3) == Counts(0, 0, 1)
    assert coordination_counts(gold, found, OUTER, size, 2) == Counts(0, 1, 0)


def test_another_label_is_wrong_only_among_labels() -> None:
    gold, found = read(GOLD), read(OTHER)
    assert coordination_counts(gold, found, OUTER) == Counts(1, 1, 1)
    assert coordination_counts(gold, found, OUTER, lambda c: c.label, "NP") == Counts(0, 0, 1)


def test_constituents_are_counted_below_the_root() -> None:
    gold, other = parse_tree(f"(ROOT {GOLD})"), parse_tree(FEWER)
    assert bracket_counts([gold], [gold]) == Counts(6, 6, 6)
    assert bracket_counts([gold], [other]) == Counts(4, 5, 6)
    assert bracket_counts([gold], [None]) == Counts(0, 0, 6)
