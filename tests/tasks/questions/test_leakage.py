"""What of event pairs says what a held-out question says."""

from pathlib import Path

import pytest
from event_pairs import question, write_corpus

from pipeline.core.errors import InputError
from pipeline.core.questions import pair_of_events
from pipeline.tasks.questions.leakage import COPIED, SAME_EVENTS, HeldOutQuestions
from pipeline.text.overlap import NearRepeats

BASE = "I'm hungry so I have a meal at a family restaurant"
PAIR = "I'm hungry so I have a big meal at the family restaurant"
EVENTS = pair_of_events("be hungry", "have meal, at restaurant")


def test_the_thesis_example() -> None:
    """10 of the base's 11 words, in order; and the same pair of core events."""
    assert NearRepeats([BASE.split()]).find(PAIR.split()) == (0, 10)
    held_out = HeldOutQuestions(
        [question("I'm hungry so", "I have a meal at a family restaurant", events=EVENTS)]
    )
    assert held_out.leak(PAIR.split(), None) == COPIED
    assert held_out.leak(["I", "ate", "because", "I", "was", "hungry"], EVENTS) == SAME_EVENTS
    assert held_out.leak(["I", "ate", "because", "I", "was", "hungry"], None) is None
    assert held_out.leak(["I", "ate"], pair_of_events("be hungry", "eat")) is None


def test_a_base_has_the_cause_first_and_no_marks() -> None:
    """Whichever of the two a question shows; e-CARE's sentences end with full stops."""
    effect = "He drank a very big glass of cold water."
    for asked in (question("The man was terribly thirsty.", effect),
                  question(effect, "The man was terribly thirsty.", asks="cause")):  # fmt: skip
        held_out = HeldOutQuestions([asked])
        words = "because the man was terribly thirsty he drank a very big glass of cold water"
        assert held_out.leak(words.split(), None) == COPIED
        other = "because he drank a very big glass of water he was terribly full"
        assert held_out.leak(other.split(), None) is None
    assert HeldOutQuestions([question("x", "y")]).leak(["z"], None) is None


def test_only_the_splits_that_are_named_are_held_out(tmp_path: Path) -> None:
    """One without questions is refused: nothing would be held apart."""
    asked = [
        question("it rained", "the streets got wet", split=split) for split in ("train", "dev")
    ]
    corpus = write_corpus(tmp_path / "toy", [], asked)
    words = ["because", "it", "rained", "the", "streets", "got", "wet"]
    assert HeldOutQuestions.read(corpus, ["dev"]).leak(words, None) == COPIED
    with pytest.raises(
        InputError, match="no question of split test; held-out splits there are: dev"
    ):
        HeldOutQuestions.read(corpus, ["dev", "test"])
