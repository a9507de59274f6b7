"""The two prompts word for word, how answers are read, and which pairs a prompt shows."""

from pathlib import Path

import pytest
import torch

from pipeline.core.errors import ConjoinError
from pipeline.core.pairs import Pair
from pipeline.models.writers.protocol import Begun, Prompt, WrittenAnswer
from pipeline.tasks.relations.synthesize.definitions import Definitions
from pipeline.tasks.relations.synthesize.neighbours import (
    SentenceVectors,
    nearest,
    with_itself_first,
)
from pipeline.tasks.relations.synthesize.prompts import (
    has_it,
    is_last_cut,
    judging_prompt,
    listed,
    writing_prompt,
)

BELIEF = "contingency.cause+belief"


def pair(arg1: str, arg2: str, sense: str = BELIEF) -> Pair:
    return Pair(f"c/{arg1}", "d", "train", arg1, arg2, tuple(arg1.split()), tuple(arg2.split()), (sense,),
                "implicit", None, False, "CC0-1.0")  # fmt: skip


THATCHER = pair(
    "Maggie Thatcher must be\ndoing something right ;",
    "her political enemies are screaming louder than ever .",
)
RAIN = pair("It must have rained ;", "the street is wet .")


def test_stage_1_is_the_thesis_word_for_word() -> None:
    """Figures 4.5 and 4.6: definition, examples, Arg1; the answer is begun with the source's own Arg2."""
    prompt = writing_prompt(THATCHER, Definitions()[BELIEF], [THATCHER, RAIN], 2048)
    assert prompt == Prompt(
        'Given two arguments, the relation "Contingency.Cause+Belief" is defined as '
        '"evidence is provided to cause the hearer to believe a claim".\n'
        'Here are examples that have the relation "Contingency.Cause+Belief":\n'
        "Maggie Thatcher must be doing something right ; - her political enemies are screaming louder than "
        "ever .\n"
        "It must have rained ; - the street is wet .\n"
        'Please write down arguments that have the relation "Contingency.Cause+Belief" to the argument '
        '"Maggie Thatcher must be doing something right ;".',
        "Here list several answers:\n- her political enemies are screaming louder than ever .\n-",
        tokens=2048,
    )


def test_stage_2_is_the_thesis_word_for_word() -> None:
    """The pair in question with a dash, and what an answer must end with."""
    prompt = judging_prompt(
        "It rained ,", "it { is } wet .", Definitions()["Contingency.Cause"], [RAIN]
    )
    assert prompt == Prompt(
        'Given two arguments, the relation "Contingency.Cause" is defined as "the situations described in '
        'the arguments are causally influenced but are not in a conditional relation".\n'
        'Here are examples that have the relation "Contingency.Cause":\n'
        "It must have rained ; - the street is wet .\n"
        'Please answer whether the two arguments "It rained , - it { is } wet ." have the relation '
        '"Contingency.Cause" or not. An answer must end with "No." or "Yes.".',
        tokens=128,
    )


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        (" the economy is thriving - they say .\n- her  ratings are high .\nThese are two.",
         ["the economy is thriving - they say .", "her ratings are high ."]),
        ("- one .\n-two .\n - three .\n- four .", ["one .", "four ."]),
        ("", [""]),
    ],
)  # fmt: skip
def test_new_arguments_are_lines_that_begin_with_a_dash(answer: str, items: list[str]) -> None:
    """A dash inside an argument cuts nothing; what follows the begun dash is the first of them."""
    assert listed(WrittenAnswer(answer, "continued")) == items


def test_who_was_only_asked_to_go_on_may_say_something_first() -> None:
    """Only what has its own dash is an argument then."""
    assert listed(WrittenAnswer("Sure!\n- one .", "asked")) == ["one ."]
    assert listed(WrittenAnswer("1. one .\n2. two .\n3 cats", "asked")) == ["one .", "two ."]
    assert listed(WrittenAnswer("* one .\n• two .\n10) ten .", "continued")) == [
        "one .", "two .", "ten .",
    ]  # fmt: skip
    assert listed(WrittenAnswer(None, "asked")) == []
    assert listed(WrittenAnswer("- one .\n- two .", "asked")) == ["one .", "two ."]


@pytest.mark.parametrize(
    ("answer", "begun", "cut"),
    [
        (" one .\n- two an", "continued", True),
        (" one .\n- two .\n", "continued", False),
        (" one .\n- two .\nThese are tw", "continued", False),
        (" one an", "continued", True),
        ("Sure, he", "asked", False),
        ("- one an", "asked", True),
        ("", "continued", False),
    ],
)
def test_an_argument_in_which_the_tokens_ended_may_go_on(
    answer: str, begun: Begun, cut: bool
) -> None:
    """A line that ends, or is no argument, leaves the last one whole; so does an answer that ends itself."""
    assert is_last_cut(WrittenAnswer(answer, begun, cut=True)) is cut
    assert not is_last_cut(WrittenAnswer(answer, begun))


@pytest.mark.parametrize(
    ("verdict", "found"),
    [
        ("They do not. No.\n", False),
        ("Yes.", True),
        ("No", False),
        (" Yes\n", True),
        ("no", None),
        ("I say No", None),
        ("No. But perhaps", None),
        ("", None),
    ],
)
def test_a_verdict_is_what_it_ends_in(verdict: str, found: bool | None) -> None:
    """Yes. or No., and nothing else."""
    assert has_it(verdict) is found


def test_definitions_of_ones_own_go_over_pdtbs(tmp_path: Path) -> None:
    """In letters of any case; a sense that nobody defined is said, and what a file looks like."""
    place = tmp_path / "senses.yaml"
    place.write_text("Contingency.Cause: one thing leads to the other\nCause.Wa: desu\n")
    senses = Definitions(place, ["cause.wa"])
    assert senses["contingency.cause"].definition == "one thing leads to the other"
    assert (senses["cause.wa"].name, senses["cause.wa"].definition) == ("Cause.Wa", "desu")
    assert Definitions().facts() != senses.facts()
    with pytest.raises(ConjoinError, match=r"'cause\.wa' has no definition.*--definitions"):
        Definitions()["cause.wa"]
    for wrong in ("- a\n", "a: 1\n", "a:\n"):
        place.write_text(wrong)
        with pytest.raises(ConjoinError, match="definition"):
            Definitions(place)
    place.write_text("Kausal.Grund: ein Grund\n")
    with pytest.raises(
        ConjoinError, match=r"'Kausal\.Grund' is no sense of .*the corpus has cause\.wa"
    ):
        Definitions(place, ["cause.wa"])


def test_every_sense_of_the_thesis_has_its_definition() -> None:
    """Table 4.2 has fourteen."""
    known = dict(Definitions().facts())
    assert len(known) == 18
    assert known["Expansion.Equivalence"] == (
        "both arguments are taken to describe the same situation, but from different perspectives"
    )


def test_neighbours_are_those_of_brute_force() -> None:
    """Cosine by cosine; of equally near ones the first, and a row stands before its equals."""
    torch.manual_seed(0)
    rows = torch.randn(40, 6)
    rows[30] = rows[3]
    rows /= rows.norm(dim=1, keepdim=True)
    found = nearest(rows, rows)
    for query in range(40):
        cosines = [float(torch.dot(rows[query], row)) for row in rows]
        wanted = sorted(range(40), key=lambda row: (-round(cosines[row], 5), row))[:8]
        assert (
            with_itself_first(query, found[query])
            == [query, *[r for r in wanted if r != query]][:8]
        )
    assert with_itself_first(30, [3, 30, 5]) == [30, 3, 5]
    assert with_itself_first(9, [1, 2, 3]) == [9, 1, 2]
    assert len(nearest(rows[:1], rows[:5])[0]) == 5


def test_vectors_are_means_of_words_whatever_stands_beside(tiny_bert: Path) -> None:
    """Of length 1, the same in any company; a text longer than the encoder counts as far as it is read."""
    vectors = SentenceVectors(str(tiny_bert), torch.device("cpu"))
    texts = [("the", "old", "man"), ("a", "dog"), ("the",) * 200, ("the",) * 400]
    together = vectors.of(texts)
    assert together.norm(dim=1) == pytest.approx(1, abs=1e-5)
    for text, row in zip(texts, together, strict=True):
        assert vectors.of([text])[0] == pytest.approx(row, abs=1e-5)
    assert torch.equal(together[2], together[3])
