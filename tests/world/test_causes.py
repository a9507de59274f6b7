"""Argument pairs of the world: senses that the oracle tells from the words, shares, and splits."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from pipeline.core.pairs import EXPLICIT, IMPLICIT
from pipeline.world import generate_pairs
from pipeline.world.causes import CONCESSION, CONJUNCTION, SENSES, PairComposer, sense_of
from pipeline.world.lexicon import load_lexicon

SOURCE = Path(__file__).resolve().parents[2] / "data" / "raw" / "world"


def test_the_oracle_tells_every_sense() -> None:
    """Of all pairs, whatever event and thing they speak of."""
    pairs = list(generate_pairs(SOURCE, 1200, 0))
    assert all(sense_of(pair.arg1, pair.arg2) == pair.senses[0] for pair in pairs)
    assert {pair.senses[0] for pair in pairs} == set(SENSES)
    assert len({(pair.arg1, pair.arg2) for pair in pairs}) > 1150


def test_one_sense_is_rare_without_a_connective_and_common_with_one() -> None:
    """Two in a hundred implicit pairs, more than ten of a hundred explicit ones."""
    pairs = list(generate_pairs(SOURCE, 3600, 1))
    for kind, low, high in ((IMPLICIT, 0.01, 0.03), (EXPLICIT, 0.1, 0.2)):
        own = [pair.senses[0] for pair in pairs if pair.kind == kind]
        assert low < Counter(own)[CONCESSION] / len(own) < high
    assert all((pair.connective is None) == (pair.kind == IMPLICIT) for pair in pairs)
    splits = Counter(pair.split for pair in pairs)
    assert splits["dev"] == splits["test"] == 600
    by_document = {pair.doc_id: pair.split for pair in pairs}
    assert Counter(by_document.values())["test"] == 30


def test_a_larger_world_begins_with_the_smaller_one() -> None:
    """A pair depends on seed and number alone."""
    small, large = list(generate_pairs(SOURCE, 5, 0)), list(generate_pairs(SOURCE, 9, 0))
    assert large[:5] == small
    assert list(generate_pairs(SOURCE, 4, 0, first=5)) == large[5:]
    assert list(generate_pairs(SOURCE, 5, 1)) != small


def test_second_arguments_are_written_for_any_first() -> None:
    """Of the sense that is asked for; of what is no first argument of the world none is."""
    composer = PairComposer(load_lexicon(SOURCE / "lexicon.yaml"), Random(3))
    for sense in SENSES:
        for pair in generate_pairs(SOURCE, 5, 0):
            assert sense_of(pair.arg1, composer.second(pair.arg1, sense)) == sense
    with pytest.raises(ValueError, match="no first argument of the world"):
        composer.second("the moon rose", CONJUNCTION)


@pytest.mark.parametrize(
    ("arg1", "arg2", "sense"),
    [
        ("the cook burnt the soup", "nobody ate the soup", "contingency.cause"),
        ("the cook burnt the soup", "everybody ate the soup", "comparison.concession"),
        ("the cook burnt the soup", "everybody ate the cake", None),
        ("the cook burnt the soup", "the tired tailor washed the coat", "expansion.conjunction"),
        ("the cook burnt the soup", "the tailor burnt the cake", None),
        ("the cook burnt the soup", "the house burnt", None),
        ("the moon rose", "nobody ate the soup", None),
    ],
)
def test_what_the_oracle_says(arg1: str, arg2: str, sense: str | None) -> None:
    """The same thing must be meant, and another event is a conjunction."""
    assert sense_of(arg1, arg2) == sense
