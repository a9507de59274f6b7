"""Proposals: where the fill in an answer ends, what is proposed, and what ranks it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from pipeline.core.types import Reference, Span
from pipeline.generate.settings import GenerateSettings
from pipeline.infill import InfillRequest
from pipeline.infill.base import Fill
from pipeline.infill.candidates import COORDINATED, EMPTY, REPEATED, SAME
from pipeline.infill.prompts import Around, around_blank
from pipeline.infill.proposals import (
    BEYOND,
    LONGER,
    NO_ANSWER,
    NO_LOGPROBS,
    SHORTER,
    cut_out,
    propose,
    rank_by_texts,
)
from pipeline.infill.synchronize import Synchronizer
from pipeline.models.writers.protocol import Begun, Prompt, TextScore, WrittenAnswer

WORDS = ("The", "old", "man", "saw", "a", "dog", "near", "the", "harbor", ".")
REFERENCE = Reference("s", WORDS, Span(4, 6), "NP", "CC0-1.0")
FIRST, SECOND = around_blank(REFERENCE, "and")


@pytest.mark.parametrize(
    ("text", "fill"),
    [
        (" a cat near the harbor.", "a cat"),
        (" a cat near the harbour of London", "a cat near the harbour of London"),
        (" a cat near the harbor. He ran.", "a cat"),
        (" a cat near the", "a cat"),
        (" a cat near", "a cat"),
        (" a cat near the pier near the harbor.", "a cat near the pier"),
        (" a cat near  the\tharbor.", "a cat"),
        (" a cat\nnear the harbor.", "a cat"),
        (" a cat.", "a cat"),
        (" a cat", "a cat"),
        (" near the harbor.", ""),
        ("\n a cat near the harbor.", ""),
        ("", ""),
    ],
)
def test_a_fill_ends_where_the_twin_goes_on(text: str, fill: str) -> None:
    """Or at the end of a line or of the answer, whose full stop is no part of it."""
    assert FIRST.after == " near the harbor."
    assert cut_out(WrittenAnswer(text, "continued"), FIRST) == fill


def test_in_the_second_twin_it_ends_before_the_coordinator() -> None:
    """There the reference follows the blank."""
    assert SECOND.after == " and a dog near the harbor."
    found = cut_out(WrittenAnswer(" a cat and a dog near the harbor.", "continued"), SECOND)
    assert found == "a cat"
    assert (
        cut_out(WrittenAnswer(" a cat and a cow and a dog near", "continued"), SECOND)
        == "a cat and a cow"
    )


@pytest.mark.parametrize(
    ("after", "text", "fill"),
    [
        (".", " a cat.", "a cat"),
        (".", " a cat. The dog ran.", "a cat"),
        (".", " Dr. Smith.", "Dr. Smith"),
        (".", " Dr. Smith. He ran.", "Dr. Smith"),
        (".", " cells (e.g. T cells)", "cells (e.g. T cells)"),
        (" at sea.", " Mr. Smith. He ran.", "Mr. Smith"),
        (", he said.", " a cat, he said.", "a cat"),
        (" ) .", " a cat ) .", "a cat"),
        ("", " a cat", "a cat"),
        (" (at last) it ran", " a cat (at last) it ran", "a cat"),
    ],
)
def test_punctuation_after_the_blank(after: str, text: str, fill: str) -> None:
    """It touches the fill, and is no pattern."""
    assert (
        cut_out(WrittenAnswer(text, "continued"), Around(f"He saw ____{after}", "He saw", after))
        == fill
    )


@pytest.mark.parametrize(
    ("text", "fill"),
    [
        ("\n a cat", "a cat"),
        ('"a cat"', "a cat"),
        ('"a cat".', '"a cat"'),
        ('"a" or "b"', '"a" or "b"'),
    ],
)
def test_who_was_only_asked_to_go_on_may_begin_anew(text: str, fill: str) -> None:
    """On another line; and quotes around the whole are not the fill's."""
    assert cut_out(WrittenAnswer(text, "asked"), FIRST) == fill


@dataclass
class Says:
    """Answers in turn, and remembers the prompts."""

    texts: Sequence[str | None]
    begun: Begun = "continued"
    prompts: list[Prompt] = field(default_factory=list)

    def complete(self, prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
        """See ``Writer``."""
        self.prompts += prompts
        assert len(prompts) == len(self.texts)
        return [WrittenAnswer(text, self.begun) for text in self.texts]


def settings(**given: object) -> GenerateSettings:
    return GenerateSettings.model_validate(
        {"corpus": "data/x", "lm": "causal", "decoding": "sample", **given}
    )


def by_length(proposed: Sequence[tuple[Reference, Sequence[str]]]) -> list[list[Fill]]:
    """Shorter is better."""
    return [[Fill(text, -float(len(text))) for text in texts] for _, texts in proposed]


def test_the_best_are_taken_and_the_others_have_a_reason() -> None:
    """Each answer leaves one row: N from each twin, of which N are candidates."""
    says = Says(
        [" a cat near the harbor.", " a dog near the harbor.", None, "\n",
         " a horse and a dog near", " a cow and it and a dog near", " a CAT", " word" * 7]
    )  # fmt: skip
    (fills,) = propose(says, by_length, [REFERENCE], settings(n=4))
    assert [(each.text, each.reason) for each in fills] == [
        ("a cat", None), ("a horse", None), ("a dog", SAME), ("", NO_ANSWER), ("", EMPTY),
        ("a cow and it", COORDINATED), ("a CAT", REPEATED), ("word word word word word word word", LONGER),
    ]  # fmt: skip
    (fills,) = propose(Says([" a cat", " a cow", " an ox", " a bee"]), by_length, [REFERENCE],
                       settings(n=2))  # fmt: skip
    assert [(each.text, each.reason) for each in fills] == [
        ("a cat", None), ("a cow", None), ("an ox", BEYOND), ("a bee", BEYOND),
    ]  # fmt: skip
    assert all(each.score is not None for each in fills)


def test_a_fill_much_shorter_than_the_reference() -> None:
    """A third of four words is two."""
    reference = Reference("s", WORDS, Span(2, 6), "NP", "CC0-1.0")
    (fills,) = propose(Says([" cat", " a cat"]), by_length, [reference], settings(n=1))
    assert [(each.text, each.reason) for each in fills] == [("a cat", None), ("cat", SHORTER)]


def test_an_answer_without_measure_is_not_parted_into_words() -> None:
    """It is longer than a fill may be, whatever its words."""
    says = Says(["x" * 10_001, " a cat"])
    (fills,) = propose(says, by_length, [REFERENCE], settings(n=1))
    assert [(each.text, each.reason) for each in fills] == [("a cat", None), ("", LONGER)]


def test_prompts_are_those_of_both_twins_with_seeds_of_their_own() -> None:
    """A pure function of seed, sentence and number; without synchronization of S′(1) alone."""
    says = Says(["x"] * 6)
    propose(says, by_length, [REFERENCE], settings(n=3))
    first, second = says.prompts[:3], says.prompts[3:]
    for prompts, around in ((first, FIRST), (second, SECOND)):
        assert all(each.user.endswith(around.text) for each in prompts)
    seeds = [each.seed for each in says.prompts]
    assert len(set(seeds)) == 6
    again = Says(["x"] * 6)
    propose(again, by_length, [REFERENCE], settings(n=3))
    assert again.prompts == says.prompts
    other = Says(["x"] * 6)
    propose(other, by_length, [REFERENCE], settings(n=3, seed=1))
    assert not set(seeds).intersection(each.seed for each in other.prompts)
    alone = Says(["x"] * 3)
    propose(alone, by_length, [REFERENCE], settings(n=3, sync=False))
    assert alone.prompts == first


@pytest.mark.parametrize("combine", ["min", "mean"])
def test_texts_are_ranked_by_the_rest_of_the_sentence(combine: str) -> None:
    """Per token from the fill on, in both orders, against a plain sum over words."""
    asked: list[str] = []

    def tokens(text: str) -> list[float]:
        # What a word costs depends on the one before it, so that the orders differ.
        words = text.split()
        return [-float(len(one) + 3 * len(other)) for one, other in pairwise(words)]

    def scored(texts: Sequence[str]) -> list[TextScore | None]:
        asked.extend(texts)
        return [TextScore(sum(tokens(text)), len(tokens(text))) for text in texts]

    request = InfillRequest("and", Synchronizer(combine))  # type: ignore[arg-type]
    ((cat, cow),) = rank_by_texts(scored, request)([(REFERENCE, ["a cat", "an old cow"])])
    for fill in (cat, cow):
        orders = (
            f"The old man saw a dog and {fill.text} near the harbor.",
            f"The old man saw {fill.text} and a dog near the harbor.",
        )
        means = []
        for order, around in zip(orders, (FIRST, SECOND), strict=True):
            rest = tokens(order)[len(around.before.split()) - 1 :]
            means.append(sum(rest) / len(rest))
        assert fill.score_append == pytest.approx(means[0])
        assert fill.score_prepend == pytest.approx(means[1])
        joint = min(means) if combine == "min" else sum(means) / 2
        assert fill.score == pytest.approx(joint)
    assert len(asked) == len(set(asked)) == 2 + 4


def test_a_blank_that_begins_the_sentence_is_scored() -> None:
    """Nothing stands before it, so nothing is asked about that."""
    reference = Reference("s", WORDS, Span(0, 3), "NP", "CC0-1.0")

    def scored(texts: Sequence[str]) -> list[TextScore | None]:
        assert "" not in texts
        return [TextScore(-float(len(text)), len(text.split()) - 1) for text in texts]

    ((fill,),) = rank_by_texts(scored, InfillRequest())([(reference, ["The girl"])])
    assert fill.score_prepend == -len("The girl and The old man saw a dog near the harbor.") / 11


def test_what_has_no_score_has_a_reason() -> None:
    """Where the server gave none of the sentence, or none of what stands before the blank."""
    request = InfillRequest()
    for lacking in ("The old man saw", "The old man saw a cat and a dog near the harbor."):

        def scored(texts: Sequence[str], lacking: str = lacking) -> list[TextScore | None]:
            return [
                None if text == lacking else TextScore(-1.0, len(text.split())) for text in texts
            ]

        ((fill,),) = rank_by_texts(scored, request)([(REFERENCE, ["a cat"])])
        assert fill == Fill("a cat", reason=NO_LOGPROBS)
    for total in (float("nan"), float("inf"), -float("inf"), 5.0):

        def strange(texts: Sequence[str], total: float = total) -> list[TextScore]:
            return [TextScore(total if "cat" in t else 0.0, len(t.split())) for t in texts]

        ((fill,),) = rank_by_texts(strange, request)([(REFERENCE, ["a cat"])])
        assert fill == Fill("a cat", reason=NO_LOGPROBS)
    (alone,) = rank_by_texts(lambda texts: [TextScore(-1.0, len(t.split())) for t in texts],
                             InfillRequest(sync=False))([(REFERENCE, ["a cat"])])  # fmt: skip
    assert alone[0].score_prepend is None
    assert alone[0].score == alone[0].score_append
