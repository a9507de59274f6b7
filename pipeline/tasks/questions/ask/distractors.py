"""Which latter events of other pairs are the distractors of a question (thesis, section 2.3.4).

A pair's own distractors are three at random of the pairs whose effect is moderately like its own, whose cause
is moderately like its own, and whose effect is about as long. Not all pairs are looked at: they stand in a
random order, and blocks of it are, from a random place on, until three are found or it has been gone round.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.tasks.questions.ask.bands import Band

DISTRACTORS = 3

_BLOCK = 2000
_PROBES = 100_000  # random pairs of clauses whose cosines are observed


@dataclass(frozen=True, slots=True)
class DistractorPool:
    """Pairs that may be questions, and distractors of each other.

    Attributes:
        ids: of the pairs.
        contexts: vectors of length 1 of the former events, ``[pairs, width]``.
        answers: of the latter events.
        lengths: words of the latter clauses, ``[pairs]``.
        texts: numbers of these, equal for clauses of equal words, ``[pairs]``.
        events: numbers of the latter core events, ``[pairs]``.
    """

    ids: Sequence[str]
    contexts: NDArray[np.float32]
    answers: NDArray[np.float32]
    lengths: NDArray[np.int64]
    texts: NDArray[np.int64]
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    def ordered(self, order: NDArray[np.int64]) -> "DistractorPool":
        """The same pairs in another order."""
        return DistractorPool(
            [self.ids[place] for place in order], self.contexts[order], self.answers[order],
            self.lengths[order], self.texts[order], self.events[order],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bands:
    """Open intervals that a distractor must lie in.

    Attributes:
        choice: of its cosine to the answer.
        context: of the cosine of its own context to the question's.
        length: of its number of words over the answer's.
    """

    choice: Band
    context: Band
    length: Band

    def as_quantiles(self, pool: DistractorPool, seed: int) -> "Bands":
        """Bands of cosines, of those that have shares of the cosines of random pairs as their bounds.

        Args:
            pool: pairs of which random ones are compared.
            seed: of the draw.
        """
        draw = np.random.default_rng(seed)
        one, other = draw.integers(0, max(len(pool), 1), (2, _PROBES if len(pool) > 1 else 0))
        one, other = one[one != other], other[one != other]
        return Bands(
            _quantiles(self.choice, _cosines(pool.answers[one], pool.answers[other])),
            _quantiles(self.context, _cosines(pool.contexts[one], pool.contexts[other])),
            self.length,
        )


def _quantiles(band: Band, cosines: NDArray[np.float32]) -> Band:
    if not len(cosines):
        return band
    bounds = [
        float(np.quantile(cosines, each)) if 0 <= each <= 1 else each
        for each in (band.above, band.below)
    ]
    return Band(*bounds)


LEFT = (
    "looked at as distractors", "left by the choice band", "left by the choice and context bands",
    "left by all three bands", "left by all three bands, of another event than the answer",
)  # fmt: skip
"""What is counted of pairs that are looked at, each of what the one before it left."""

REUSABLE = "left by all of that, not reused too often"
"""The last of these counts, where reuse has a limit."""


@dataclass(frozen=True, slots=True)
class Distractors:
    """The distractors of a pair, as places in the pool, and the place of the answer among all choices."""

    distractors: tuple[int, ...]
    answer: int


def choose(
    pool: DistractorPool, bands: Bands, *, reuse: int | None, seed: int
) -> tuple[list[Distractors | None], Counter[str]]:
    """Distractors for every pair; a pure function of the arguments.

    Args:
        pool: the pairs.
        bands: of cosines and lengths.
        reuse: how often a clause may be a distractor; None: without limit. Pairs come in a random order, so
            that those which a limit leaves without distractors are of all parts of the text.
        seed: of what is random.

    Returns:
        What each pair has; None for one with fewer than three distractors. And how many pairs were looked at
        and left, by ``LEFT`` and ``REUSABLE``.
    """
    order = np.array(Random(f"{seed}/order").sample(range(len(pool)), len(pool)), dtype=np.int64)
    # The first pairs again behind the last, so that each block is one slice.
    shuffled = pool.ordered(np.concatenate([order, order[:_BLOCK]]))
    used = np.zeros(int(pool.texts.max(initial=-1)) + 1, dtype=np.int64)
    counts = Counter(dict.fromkeys(LEFT if reuse is None else (*LEFT, REUSABLE), 0))
    found: list[Distractors | None] = [None] * len(pool)
    for own, place in enumerate(order.tolist()):
        random = Random(f"{seed}/{shuffled.ids[own]}")
        chosen: dict[int, int] = {}  # by text, of which no two are to be the same
        for block in _blocks(random.randrange(len(pool)), len(pool)):
            others = np.arange(block.start, block.stop)
            steps = _narrowed(shuffled, own, others[others % len(pool) != own], bands)
            for what, left in steps:
                counts[what] += len(left)
            if reuse is not None:
                left = left[used[shuffled.texts[left]] < reuse]
                counts[REUSABLE] += len(left)
            candidates = left.tolist()
            while candidates and len(chosen) < DISTRACTORS:
                drawn = random.randrange(len(candidates))
                candidates[drawn], candidates[-1] = candidates[-1], candidates[drawn]
                at = candidates.pop()
                chosen.setdefault(int(shuffled.texts[at]), at)
            if len(chosen) == DISTRACTORS:
                break
        if len(chosen) == DISTRACTORS:
            used[list(chosen)] += 1
            distractors = tuple(int(order[at % len(pool)]) for at in chosen.values())
            found[place] = Distractors(distractors, random.randrange(DISTRACTORS + 1))
    return found, counts


def _blocks(begin: int, count: int) -> Iterator[slice]:
    """Slices that go round so many rows once, of equal length but for the last."""
    for done in range(0, count, _BLOCK):
        start = (begin + done) % count
        yield slice(start, start + min(_BLOCK, count - done))


def _narrowed(
    pool: DistractorPool, own: int, places: NDArray[np.int64], bands: Bands
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """What is left of some pairs by each condition after the other, as ``LEFT`` names them."""
    yield LEFT[0], places
    for what, band, vectors in (
        (LEFT[1], bands.choice, pool.answers),
        (LEFT[2], bands.context, pool.contexts),
    ):
        places = places[_within(band, _cosines(vectors.take(places, 0), vectors[own]))]
        yield what, places
    places = places[_within(bands.length, pool.lengths[places] / pool.lengths[own])]
    yield LEFT[3], places
    same = (pool.texts[places] == pool.texts[own]) | (pool.events[places] == pool.events[own])
    yield LEFT[4], places[~same]


def _cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of rows of length 1, summed in one order whatever rows there are, as no library for matrices does."""
    found: NDArray[np.float32] = np.einsum("ij,ij->i" if other.ndim > 1 else "ij,j->i", one, other)
    return found


def _within(band: Band, values: NDArray[np.floating]) -> NDArray[np.bool_]:
    return (values > band.above) & (values < band.below)
