"""The four criteria and Table 2's columns, on cases worked out by hand."""

import pytest

from pipeline.core.answered import AnsweredInstance
from pipeline.core.comparison import mean_sd
from pipeline.core.structures import as_conjuncts
from pipeline.core.types import CRITERIA, Coordination, Sentence, Span
from pipeline.tasks.coordination.evaluation import CoordinationEvaluation
from pipeline.tasks.coordination.figures import (
    accuracy_by_category,
    categories,
    judge,
)
from pipeline.tasks.coordination.instances import Instance, row_of

WORDS = "he sells old lamps , and new chairs today".split()  # noqa: SIM905 - reads as a sentence
PAIR = Coordination(5, "and", "NP", (Span(2, 4), Span(6, 8)))


def right(gold: Coordination, *predicted: Span) -> list[str]:
    return [name for name, verdict in judge(gold, predicted).items() if verdict]


def test_prediction_is_read_as_two_conjuncts() -> None:
    """A separator next to the coordinator belongs to neither conjunct."""
    assert as_conjuncts(WORDS, 5, Span(2, 8)) == (Span(2, 4), Span(6, 8))
    assert as_conjuncts(["a", "and", ",", "b"], 1, Span(0, 4)) == (Span(0, 1), Span(3, 4))
    assert as_conjuncts([",", "and", ","], 1, Span(0, 3)) == (Span(0, 1), Span(2, 3))


def test_right_pair_is_right_under_all_criteria() -> None:
    """A structure of two conjuncts found exactly is right however it is counted."""
    assert right(PAIR, *as_conjuncts(WORDS, 5, Span(2, 8))) == list(CRITERIA)


@pytest.mark.parametrize("span", [Span(1, 8), Span(2, 9), Span(3, 7)])
def test_one_wrong_end_is_wrong(span: Span) -> None:
    """Either end off by a word makes the instance wrong under all criteria."""
    assert right(PAIR, *as_conjuncts(WORDS, 5, span)) == []


def test_whole_alone_for_three_conjuncts() -> None:
    """Of three conjuncts an endpoint pair can get only the outer boundary right."""
    words = "red , green and blue".split()  # noqa: SIM905 - reads as a phrase
    gold = Coordination(3, "and", "NP", (Span(0, 1), Span(2, 3), Span(4, 5)))
    assert right(gold, *as_conjuncts(words, 3, Span(0, 5))) == ["whole"]


def test_inner_and_outer_differ_on_given_conjuncts() -> None:
    """With all conjuncts predicted: inner looks at the two around the coordinator, outer at the ends."""
    gold = Coordination(5, "and", "NP", (Span(0, 1), Span(2, 3), Span(4, 5), Span(6, 7)))
    assert right(gold, Span(1, 2), Span(4, 5), Span(6, 7)) == ["inner"]
    assert right(gold, Span(0, 1), Span(3, 5), Span(6, 7)) == ["whole", "outer"]
    assert right(gold, *gold.conjuncts) == list(CRITERIA)


def test_no_prediction_is_wrong() -> None:
    """An instance that cannot be scored counts as wrong, it is not dropped."""
    assert right(PAIR) == []


def test_answers_read_as_coordinations() -> None:
    """What is asked, what is right and what was said, conjuncts in brackets; right by the outer boundary."""
    words = "he sells red , green and blue lamps".split()  # noqa: SIM905 - reads as a sentence
    gold = Coordination(5, "and", "ADJP", (Span(2, 3), Span(4, 5), Span(6, 7)))
    sentence = Sentence("s1", "d", "test", tuple(words), None, None, (gold,), "CC0-1.0")
    instance = Instance(sentence, gold)
    evaluation = CoordinationEvaluation()
    assert evaluation.shown(instance) == AnsweredInstance(
        "s1:5", "he sells red , green [and] blue lamps", "[red] , [green] and [blue]", "CC0-1.0"
    )
    for conjuncts, text, is_right in (
        ([Span(2, 5), Span(6, 7)], "[red , green] and [blue]", True),
        ([Span(4, 5), Span(6, 8)], "[green] and [blue lamps]", False),
        ([], "", False),
    ):
        assert evaluation.said(instance, row_of(instance, conjuncts, 0.5)) == (text, is_right)


TABLE_2 = {"NP, NX": None, "ADJP, ADVP": None, "VP": None, "PP": None, "S, SBAR": None}


def test_columns_of_table_2() -> None:
    """NX counts with NP, and a column without instances has no accuracy."""
    found = accuracy_by_category(["NP", "NX", "VP"], [True, False, True])
    assert found == {"overall": 2 / 3, **TABLE_2, "NP, NX": 0.5, "VP": 1.0}


def test_other_labels_have_columns_behind_those_of_table_2() -> None:
    """A newer treebank's NML its own, the rest one together; every instance is in one column."""
    labels = ["QP", "NML", "VP", "UCP", "NML"]
    found = accuracy_by_category(labels, [True, False, True, False, True])
    assert found == {"overall": 0.6, **TABLE_2, "VP": 1.0, "NML": 0.5, "other": 0.5}
    assert list(found) == ["overall", *TABLE_2, "NML", "other"]
    counts = {name: len(places) for name, places in categories(labels).items()}
    assert counts.pop("overall") == sum(counts.values()) == 5


def test_mean_and_sample_sd() -> None:
    """The sd is the sample's (n - 1); one run has none."""
    assert mean_sd([0.5, 0.7]) == (pytest.approx(0.6), pytest.approx(0.02**0.5))
    assert mean_sd([0.5]) == (0.5, None)
    assert mean_sd([None, None]) == (None, None)
