"""The paired permutation test of two systems' F1, by which the paper calls a difference significant.

Were two systems alike, it would not matter which of them gave which answers to a sentence. So the answers to
whole sentences change hands, each with probability 1/2, and p is the share of such exchanges whose difference
is at least as large as the one found, either way. The exchange that is found itself is counted among them, so
that p is never 0 (Phipson and Smyth, 2010).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_BLOCK = 250  # exchanges at a time, to bound memory

EXCHANGES = 10_000


def p_value(
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    sentences: Sequence[int],
    *,
    seed: int = 0,
    exchanges: int = EXCHANGES,
) -> float:
    """The probability of a difference in F1 as large as that of two systems, were they alike.

    Args:
        first: what a system got right, said, and what was there, by predicate, ``[predicates, ..., 3]``;
            all in between is added up, so that zeros or dependents alone can be handed over.
        second: of the other one.
        sentences: the number of each predicate's sentence, from 0.
        seed: of the exchanges.
        exchanges: how many are drawn.

    Raises:
        ValueError: the two were not measured on the same predicates.
    """
    if first.shape != second.shape or len(first) != len(sentences):
        raise ValueError("systems measured on different predicates")
    units = np.asarray(sentences)
    summed = np.zeros((2, int(units.max()) + 1, 3))
    for whole, counts in zip(summed, (first, second), strict=True):
        np.add.at(whole, units, counts.reshape(len(counts), -1, 3).sum(1))
    found = abs(_f1(summed[0].sum(0)) - _f1(summed[1].sum(0)))
    total, change = summed.sum((0, 1)), summed[1] - summed[0]
    base = summed[0].sum(0)
    random = np.random.default_rng(seed)
    as_large = 0
    for done in range(0, exchanges, _BLOCK):
        swapped = random.random((min(_BLOCK, exchanges - done), len(change))) < 0.5
        one = base + swapped @ change
        differences = np.abs(_f1(one) - _f1(total - one))
        # Sums in another order differ in their last digits.
        as_large += int((differences >= found - 1e-12).sum())
    return (as_large + 1) / (exchanges + 1)


def _f1(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """F1 of right, said and there, ``[..., 3]``; 0 where nothing was said nor there."""
    there = counts[..., 1] + counts[..., 2]
    return np.asarray(
        np.divide(2 * counts[..., 0], there, out=np.zeros_like(there), where=there > 0)
    )
