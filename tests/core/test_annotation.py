"""The record of what was annotated: unions, levels, and the words of a table's column."""

from pathlib import Path

import pytest

from pipeline.core.annotation import (
    LABELLED,
    OTHERS,
    as_json,
    described,
    from_json,
    joined,
    level,
    of_draw,
    of_seeds,
    part_of,
    place_name,
    shared_level,
    unknown,
)
from pipeline.core.types import Coordination, Sentence, Span


def sentence(name: str) -> Sentence:
    coordination = Coordination(3, "and", "NP", (Span(1, 3), Span(4, 5)))
    words = ("the", "old", "man", "and", "wife")
    return Sentence(
        name, "doc", "train", words, None, "(S1 (NP (X x)))", (coordination,), "CC0-1.0"
    )


FEW = [sentence(f"l{n}") for n in range(4)]
VALID = [sentence("v0")]
MORE = [sentence(f"o{n}") for n in range(6)]


def test_a_parser_of_ls_trees_and_a_predictor_of_ls_boundaries_have_one_record_of_l() -> None:
    """The union has each set once, with the most that was read of it and made of it."""
    boundaries = of_draw("genia", "4/seed-0", FEW, VALID, trees=False)
    trees = of_draw("genia", "4/seed-0", FEW, VALID, trees=True)
    assert joined([*boundaries, *trees]) == joined([*trees, *boundaries]) == trees
    assert [(part.trees, part.coordinations) for part in trees] == [(4, 4), (1, 1)]
    learned, chosen = (
        part_of("genia", OTHERS, MORE, trees=True, use=use) for use in ("learned", "chosen")
    )
    assert joined([learned, chosen]) == joined([chosen, learned]) == (learned,)


def test_levels_differ_by_what_was_read_and_not_by_seed() -> None:
    """Boundaries, trees, and further sentences are three levels; two seeds are one."""
    boundaries, other = (
        of_draw("genia", f"4/seed-{seed}", FEW, VALID, trees=False) for seed in (0, 1)
    )
    trees = of_draw("genia", "4/seed-0", FEW, VALID, trees=True)
    more = joined([*trees, part_of("genia", OTHERS, MORE, trees=True)])
    assert level(boundaries) == level(other)
    assert len({level(boundaries), level(trees), level(more), level(unknown("ready"))}) == 4


def test_words_say_whose_trees_and_how_many() -> None:
    """L is named with its validation sentences, other sentences apart, another corpus by its name."""
    drawn = of_draw("genia", "4/seed-0", FEW, VALID, trees=True)
    more = (
        part_of("gum", OTHERS, MORE, trees=True),
        part_of("gum", OTHERS, VALID, trees=True, use="chosen"),
    )
    record = joined([*drawn, *more, *unknown("stanza:ptb3")])
    assert described(record, "genia") == (
        "trees of 4 + 1; trees of 6 + 1 others of gum; what stanza:ptb3 learned from (not known)"
    )


def test_what_a_parser_learned_from_a_draw_is_counted() -> None:
    """Sentences of L among a parser's are counted by draw, and a draw without any is left out."""
    draws = {"4/seed-0": ["l0", "l1", "elsewhere"], "4/seed-1": ["o9"]}
    part = part_of("genia", OTHERS, [*FEW, *MORE], trees=True, draws=draws)
    assert part.among == {"4/seed-0": 2}


def test_a_record_survives_json() -> None:
    """What is written is read again."""
    record = joined(
        [
            *of_draw("genia", "4/seed-0", FEW, VALID, trees=True),
            part_of("gum", OTHERS, MORE, trees=True),
        ]
    )
    assert from_json(as_json(record)) == record
    assert {part.part for part in record} == {LABELLED, "validation", OTHERS}


def test_words_say_every_draw_and_whose_it_is() -> None:
    """L of one size with candidates of a parser of another's, and what another corpus's L lent."""
    own = of_draw("genia", "4/seed-0", FEW, VALID, trees=False)
    larger = of_draw("genia", "6/seed-0", MORE, VALID, trees=True)
    lent = of_draw("gum", "6/seed-0", MORE, VALID, trees=True)
    assert described(joined([*own, *larger]), "genia") == "boundaries of 4 + 1; trees of 6 + 1"
    assert described(joined([*lent, *own]), "genia") == "boundaries of 4 + 1; trees of 6 + 1 of gum"
    assert described(own[1:], "genia") == "boundaries of 0 + 1"


def test_two_sets_of_one_size_are_not_one() -> None:
    """Of two parsers, each of as many others, a system that rests on both has another level."""
    drawn = of_draw("genia", "4/seed-0", FEW, VALID, trees=False)
    first, second = (
        part_of("genia", OTHERS, each, trees=True) for each in (MORE, [*MORE[:-1], *VALID])
    )
    one, two = joined([*drawn, first]), joined([*drawn, first, second])
    assert shared_level({0: one, 1: one}) != shared_level({0: two, 1: two})
    assert shared_level({0: one, 1: one}) == shared_level({0: one}) == level(one)


def test_seeds_that_differ_are_of_the_level_of_those_that_differ_alike() -> None:
    """Neither of what any of them has, nor of the same levels with other seeds."""
    drawn = of_draw("genia", "4/seed-0", FEW, VALID, trees=False)
    more = joined([*drawn, part_of("genia", OTHERS, MORE, trees=True)])
    mixed = shared_level({0: drawn, 1: more})
    assert mixed == shared_level({0: drawn, 1: more})
    others = [{0: more, 1: more}, {0: drawn, 1: drawn}, {0: more, 1: drawn}]
    assert mixed not in map(shared_level, others)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("candidates/gold/250/seed-0", "gold"),
        ("parsers/l-trees/full/seed-12", "l-trees"),
        ("candidates/attested-bert-sync/seed-0", "attested-bert-sync"),
        ("chosen/250", "250"),
        ("chosen", "chosen"),
    ],
)
def test_what_is_not_known_goes_by_its_own_name(place: str, name: str) -> None:
    """Not by its seed or its draw, which others have, too."""
    assert place_name(Path("/somewhere") / place) == name


def test_seeds_that_differ_in_numbers_are_said_in_one() -> None:
    """As the senses of explicit pairs, whose number goes by what each seed's model confuses."""
    texts = [f"senses of 2,770 + 554; senses of {n} others" for n in ("715", "1,037", "974", "715")]
    assert of_seeds(texts) == "senses of 2,770 + 554; senses of 715 to 1,037 others"
    assert of_seeds(texts[:1]) == texts[0]
    assert (
        of_seeds(["trees of 9", "trees of 9; trees of 8 others"])
        == "trees of 9 or trees of 9; trees of 8 others"
    )
