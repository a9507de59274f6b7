"""Which clauses become distractors: bands, reuse, and nothing that depends on how the search goes."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from pipeline.tasks.questions.ask import distractors
from pipeline.tasks.questions.ask.bands import Band
from pipeline.tasks.questions.ask.distractors import LEFT, REUSABLE, Bands, DistractorPool, choose

ANY = Band.read("-")


def pool(
    answers: Sequence[float], contexts: Sequence[float] | None = None, lengths: Sequence[int] | None = None,
    texts: Sequence[int] | None = None, events: Sequence[int] | None = None,
) -> DistractorPool:  # fmt: skip
    """Pairs with these cosines to the first one, whose vector is (1, 0)."""
    count = len(answers)

    def vectors(cosines: Sequence[float]) -> np.ndarray:
        one = np.array(cosines, dtype=np.float32)
        return np.stack([one, np.sqrt(1 - one * one)], axis=1)

    return DistractorPool(
        [f"p{number}" for number in range(count)], vectors(contexts or [1.0] * count), vectors(answers),
        np.array(lengths or [4] * count), np.array(texts or range(count)), np.array(events or range(count)),
    )  # fmt: skip


def random_pool(count: int, seed: int = 0) -> DistractorPool:
    draw = np.random.default_rng(seed)

    def vectors() -> np.ndarray:
        found = draw.normal(size=(count, 3)).astype(np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    return DistractorPool([f"p{n}" for n in range(count)], vectors(), vectors(), draw.integers(2, 9, count),
                draw.integers(0, count // 2, count), draw.integers(0, count, count))  # fmt: skip


def of_first(given: DistractorPool, bands: Bands, reuse: int | None = None) -> set[int] | None:
    found = choose(given, bands, reuse=reuse, seed=0)[0][0]
    return None if found is None else set(found.distractors)


def test_bands_are_open_intervals() -> None:
    """A cosine that is a bound lies outside; so do ratios of one half and two."""
    answers = [1.0, 0.4, 0.6, 0.5, 0.41, 0.59, 0.7]
    bands = Bands(Band(float(np.float32(0.4)), float(np.float32(0.6))), ANY, ANY)
    assert of_first(pool(answers), bands) == {3, 4, 5}
    bands = Bands(ANY, Band(float(np.float32(0.5)), float(np.float32(0.7))), ANY)
    assert of_first(pool([1.0] * 7, [1.0, 0.5, 0.6, 0.51, 0.7, 0.69, -0.3]), bands) == {2, 3, 5}
    bands = Bands(ANY, ANY, Band.read("0.5-2"))
    assert of_first(pool([1.0] * 6, lengths=[4, 2, 8, 3, 7, 5]), bands) == {3, 4, 5}


def test_a_bound_may_be_left_open() -> None:
    """0.4- takes clauses of any likeness above, -0.6 of any below; what is too few is none."""
    answers = [1.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
    assert of_first(pool(answers), Bands(Band.read("0.4-"), ANY, ANY)) == {4, 5, 6}
    assert of_first(pool(answers), Bands(Band.read("-0.4"), ANY, ANY)) == {1, 2, 3}
    assert of_first(pool(answers), Bands(Band.read("0.4-0.6"), ANY, ANY)) is None


def test_distractors_differ_from_the_answer_and_from_each_other() -> None:
    """In words, and none is the answer's core event; of two clauses of equal words one is taken at most."""
    given = pool([1.0] * 7, texts=[0, 0, 1, 2, 2, 3, 4], events=[0, 1, 2, 3, 4, 5, 0])
    for seed in range(20):
        found = choose(given, Bands(ANY, ANY, ANY), reuse=None, seed=seed)[0][0]
        assert found is not None
        chosen = set(found.distractors)
        assert chosen in ({2, 3, 5}, {2, 4, 5})


@pytest.mark.parametrize(
    "text", ["0.6-0.4", "0.4", "a-b", "0.4-0.6-0.8", "0.5-0.5", "", "1e9-", "nan-"]
)
def test_what_is_no_band(text: str) -> None:
    """It is said what one looks like."""
    with pytest.raises(ValueError, match="bounds"):
        Band.read(text)


def test_the_search_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs with three distractors or more have three of them, whatever a block's size; others have none."""
    given = random_pool(80)
    bands = Bands(Band.read("0.1-0.6"), Band.read("0.0-0.7"), Band.read("0.5-2"))
    cosines, likeness = given.answers @ given.answers.T, given.contexts @ given.contexts.T
    with_three = 0
    for block in (7, 2000):
        monkeypatch.setattr(distractors, "_BLOCK", block)
        found, _ = choose(given, bands, reuse=None, seed=1)
        for own, choice in enumerate(found):
            ratio = given.lengths / given.lengths[own]
            eligible = (
                (cosines[own] > 0.1)
                & (cosines[own] < 0.6)
                & (likeness[own] > 0)
                & (likeness[own] < 0.7)
            )
            eligible &= (ratio > 0.5) & (ratio < 2)
            eligible &= (given.texts != given.texts[own]) & (given.events != given.events[own])
            enough = len(set(given.texts[eligible].tolist())) >= 3
            assert (choice is not None) == enough
            if choice is not None:
                with_three += 1
                assert eligible[list(choice.distractors)].all()
                assert len(set(given.texts[list(choice.distractors)].tolist())) == 3
    assert 0 < with_three < 160


def test_a_clause_is_reused_as_often_as_is_allowed() -> None:
    """By its words, not by its pair."""
    given = random_pool(90)
    bands = Bands(Band.read("0.0-"), ANY, ANY)

    def most(reuse: int | None) -> tuple[int, int]:
        found, counts = choose(given, bands, reuse=reuse, seed=0)
        assert (REUSABLE in counts) == (reuse is not None)
        made = [choice for choice in found if choice]
        used = Counter(int(given.texts[each]) for choice in made for each in choice.distractors)
        return max(used.values()), len(made)

    free, every = most(None)
    assert every == 90
    assert free > 5
    assert most(5) == (5, most(5)[1])
    once, few = most(1)
    assert once == 1
    assert few <= len(set(given.texts.tolist())) // 3
    assert few > 10


def test_it_is_all_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same twice; other seeds draw others; answers stand in all four places, and no pair is preferred."""
    monkeypatch.setattr(distractors, "_BLOCK", 30)
    given, bands = random_pool(400), Bands(ANY, ANY, ANY)
    found, counts = choose(given, bands, reuse=None, seed=3)
    assert (found, counts) == choose(given, bands, reuse=None, seed=3)
    assert found != choose(given, bands, reuse=None, seed=4)[0]
    places = Counter(choice.answer for choice in found if choice)
    assert all(70 < places[place] < 130 for place in range(4))
    drawn = Counter(each for choice in found if choice for each in choice.distractors)
    assert len(drawn) > 360
    assert max(drawn.values()) < 12  # of three on average


def test_it_is_counted_what_each_band_leaves() -> None:
    """Of all pairs but the own one, where none is enough; each band of what the one before it left."""
    given = pool([1.0, 0.5, 0.5, 0.9], [1.0, 0.6, 0.9, 0.6], lengths=[4, 9, 4, 4])
    bands = Bands(Band.read("0.4-0.6"), Band.read("0.5-0.7"), Band.read("0.5-2"))
    found, counts = choose(given, bands, reuse=None, seed=0)
    assert found == [None] * 4
    assert [counts[what] for what in LEFT] == [12, 4, 2, 0, 0]
    assert choose(pool([]), bands, reuse=2, seed=0)[0] == []


def test_quantiles_are_shares_of_random_pairs() -> None:
    """Half of all pairs of clauses lie between the quarters of their cosines, on whatever scale."""
    given = random_pool(500)
    wanted = Band.read("0.25-0.75")
    bands = Bands(wanted, Band.read("0.5-"), Band.read("0.5-2")).as_quantiles(given, 0)
    cosines = (given.answers @ given.answers.T)[np.triu_indices(500, 1)]
    inside = (cosines > bands.choice.above) & (cosines < bands.choice.below)
    assert 0.48 < inside.mean() < 0.52
    assert bands.choice.above < 0 < bands.choice.below
    assert abs(bands.context.above) < 0.05
    assert bands.context.below == np.inf
    assert bands.length == Band.read("0.5-2")
    assert Bands(wanted, wanted, wanted).as_quantiles(pool([1.0]), 0).choice == wanted
