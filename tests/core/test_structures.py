"""Coordinate structures as words, and back from their places."""

import pytest

from pipeline.core.structures import laid_out, structure_of
from pipeline.core.types import Span, Structure, bracketed

CONJUNCTS = (("ten", "trees"), ("a", "graph"), ("words",), ("two", "old", "lists"))


@pytest.mark.parametrize(
    ("structure", "written"),
    [
        (Structure("and"), "[ten trees] and [a graph]"),
        (Structure("or", "either"), "either [ten trees] or [a graph]"),
        (Structure("and", None, 3), "[ten trees] , [a graph] and [words]"),
        (Structure("and", None, 3, True), "[ten trees] , [a graph] , and [words]"),
        (Structure("nor", "neither", 4, True),
         "neither [ten trees] , [a graph] , [words] , nor [two old lists]"),
        (Structure("and", None, 2, True), "[ten trees] and [a graph]"),
    ],
)  # fmt: skip
def test_a_structure_is_written_with_its_places(structure: Structure, written: str) -> None:
    """Every conjunct has its span, and the places alone tell the structure again."""
    laid = laid_out(structure, CONJUNCTS[: structure.conjuncts], at=4)
    moved = [Span(span.start - 4, span.end - 4) for span in laid.conjuncts]
    assert bracketed(laid.words, moved) == written
    assert laid.words[laid.coordinator - 4] == structure.coordinator
    found = structure_of(structure.coordinator, laid.coordinator, laid.conjuncts, Span(4, 6))
    comma = structure.comma and structure.conjuncts > 2
    assert found == Structure(
        structure.coordinator, structure.preconjunction, structure.conjuncts, comma
    )


@pytest.mark.parametrize(
    ("word", "coordinator", "spans", "reference"),
    [
        ("and", 6, [(4, 6)], (4, 6)),
        ("and", 6, [(4, 6), (8, 9)], (4, 6)),  # a gap after the coordinator
        ("and", 7, [(4, 6), (8, 9)], (4, 6)),  # a comma, and two conjuncts
        ("but", 7, [(5, 7), (8, 9)], (4, 6)),  # no preconjunction goes with it
        ("and", 8, [(6, 8), (9, 10)], (4, 6)),  # two words before
        ("and", 6, [(4, 6), (7, 9)], (4, 7)),  # the reference is longer
        ("and", 8, [(4, 6), (6, 8), (9, 10)], (4, 6)),  # no comma between
        ("and", 6, [(4, 6), (7, 2**40)], (4, 2**40)),
    ],
)
def test_places_that_no_structure_has_are_refused(
    word: str, coordinator: int, spans: list[tuple[int, int]], reference: tuple[int, int]
) -> None:
    """What generation does not build is no structure, however long its spans are."""
    found = structure_of(word, coordinator, [Span(*each) for each in spans], Span(*reference))
    assert found is None
