"""Decisions as lines of a file that only grows, and which structures a sentence can have at once."""

from pathlib import Path

import pytest
import structured

from pipeline.core.decisions import (
    Decided,
    DecisionMade,
    DrawnToAnnotate,
    Event,
    Undone,
    event_of,
    line_of,
    read_decided,
    structures_of,
    to_ask,
    undecided,
    words_digest,
)
from pipeline.core.errors import InputError
from pipeline.core.structures import fault_of_sentence, linking
from pipeline.core.types import Coordination, Span

WORDS = "And she sold lamps , chairs and tables or left , but".split()  # noqa: SIM905
DRAWN = DrawnToAnnotate(("a/1", "a/2"), "a", "random", 3)


def made(
    k: int | None, *spans: tuple[int, int], of: str = "a/1", seconds: float = 2.5
) -> DecisionMade:
    return DecisionMade(of, words_digest(WORDS), k, tuple(Span(*span) for span in spans), seconds)


EVENTS: list[Event] = [
    DRAWN, made(6, (3, 4), (5, 6), (7, 8)), Undone("a/1", 6), made(6), made(8, (2, 8), (9, 10)),
    made(None, of="a/2", seconds=0.0), Undone("a/2", None), DrawnToAnnotate(("a/3",), "a", "disagreement", 0),
]  # fmt: skip


def test_a_file_says_what_stands() -> None:
    """Each event is a line and comes back from it; what is undone is gone, and nothing else."""
    lines = [line_of(event) for event in EVENTS]
    assert all(line.count("\n") == 1 for line in lines)
    assert [event_of(line, Path("x"), 1) for line in lines] == EVENTS
    decided = read_decided(enumerate(lines, 1), Path("x"))
    assert decided.drawn == ("a/1", "a/2", "a/3")
    assert decided.decisions == (EVENTS[3], EVENTS[4])
    assert decided.lines == (4, 5)
    (structure,) = structures_of(WORDS, decided.decisions)
    assert structure == Coordination(8, "or", "X", (Span(2, 8), Span(9, 10)))


def test_coordinators_are_asked_of_once() -> None:
    """Not those without a word on either side, and none that links another's conjuncts."""
    assert to_ask(WORDS) == [6, 8]
    assert linking(WORDS, (Span(2, 6), Span(7, 8), Span(9, 10))) == [6, 8]
    assert undecided(WORDS, {}) == [6, 8]
    assert undecided(WORDS, {6: made(6)}) == [8]
    assert undecided(WORDS, {8: made(8, (2, 6), (7, 8), (9, 10))}) == []
    assert undecided(WORDS, {None: made(None)}) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (line_of(Undone("a/2", 6)), "not the last decision is undone"),
        (line_of(DRAWN), "drawn twice"),
        (line_of(made(6, (0, 1), (7, 8))), "decided already"),
        (line_of(made(6, of="b/9")), "decided, but not drawn"),
        ("{}\n", "not as conjoin writes it: sentence_id: field"),
        ('{"sentence_id": "a/1"', "not JSON"),
        ('{"sentence_id": "a/1", "words": "x", "coordinator": 1, "conjuncts": [[1]]}', "a conjunct is"),
        ('{"sentence_id": "a/1", "words": "x", "coordinator": -1}', "not as conjoin writes it: coord"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_is_named(line: str, said: str) -> None:
    """With the file's name and the line's number."""
    lines = [line_of(DRAWN), line_of(made(6)), line]
    with pytest.raises(InputError, match=rf"^x\.jsonl:3: {said}") as caught:
        read_decided(enumerate(lines, 1), Path("x.jsonl"))
    assert "\n" not in str(caught.value)


def test_nothing_changes_what_stood() -> None:
    """What stands after an event is another value."""
    first = Decided().after(DRAWN)
    second = first.after(made(6))
    assert (first.decisions, second.decisions) == ((), (made(6),))
    assert second.after(Undone("a/1", 6)) == first


def at(k: int, *spans: tuple[int, int]) -> Coordination:
    return Coordination(k, WORDS[k], "X", tuple(Span(*span) for span in spans))


@pytest.mark.parametrize(
    ("structures", "said"),
    [
        ([at(6, (3, 6), (5, 8))], "conjuncts overlap: “lamps , chairs” (4-6) and “chairs and tables”"),
        ([at(6, (3, 6), (7, 9)), at(8, (7, 8), (9, 10))], "conjuncts cross: “lamps , chairs … or” (4-9) and"),
        ([at(6, (3, 6), (7, 8)), at(8, (5, 8), (9, 10))], "conjuncts cross: “lamps , chairs” (4-6) and “ch"),
        ([at(6, (3, 6), (7, 8)), at(6, (3, 4), (7, 8))], "two structures at “and” (7-7)"),
        ([at(6, (3, 4), (5, 6))], "not a conjunct on either side of “and” (7-7)"),
        ([at(6, (7, 8))], "not a conjunct on either side"),
        ([at(6, (3, 8), (8, 9))], "conjunct 3-8 contains its coordinator 6"),
        ([at(6, (3, 6), (7, 99))], "conjunct 7-99 of 12 words"),
        ([Coordination(6, "nor", "X", (Span(3, 6), Span(7, 8)))], "word 6 is 'and', not 'nor'"),
    ],
)  # fmt: skip
def test_structures_that_no_sentence_has_together(
    structures: list[Coordination], said: str
) -> None:
    """Crossing, overlapping, of two at one word, beside the sentence."""
    assert (fault_of_sentence(WORDS, structures) or "").startswith(said)


def test_nested_structures_are_none_of_these() -> None:
    """Within a conjunct, and of the same words as one."""
    assert fault_of_sentence(WORDS, [at(6, (3, 4), (5, 6), (7, 8)), at(8, (2, 8), (9, 10))]) is None
    for number in range(300):
        each = structured.sentence(number)
        assert fault_of_sentence(each.words, each.coordinations) is None
