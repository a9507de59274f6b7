"""Counted values, and what is said of them: mean, quantiles, shares, how far two of them are apart.

A histogram holds a corpus' lengths and scores in memory that does not grow with it, and all that is
said of it is exact and the same whatever the order in which the rows were counted.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

__all__ = ["CONJUNCT_BINS", "SENTENCE_BINS", "binned", "described", "divergence", "ordered"]

_PERCENTS = (5, 25, 50, 75, 95)
_DIGITS = 6  # beyond these, another mathematical library may say something else

CONJUNCT_BINS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30)
"""Greatest lengths, in words, of the bins in which conjuncts are compared; a last one has the rest."""

SENTENCE_BINS = (10, 15, 20, 25, 30, 35, 40, 50, 60)
"""The same for sentences."""


def described(counts: Mapping[int, int], scale: int = 1) -> dict[str, Any] | None:
    """Mean, standard deviation (of the values themselves, not an estimate), extremes and quantiles.

    The quantile q is the smallest value that at least a share q of the values does not exceed.

    Args:
        counts: how often each value occurs.
        scale: what the values are multiples of a part of: with 100 they are hundredths.

    Returns:
        None if there are no values.
    """
    total = sum(counts.values())
    if not total:
        return None
    values = sorted(counts)
    mean = Fraction(sum(v * counts[v] for v in values), total)
    square = Fraction(sum(v * v * counts[v] for v in values), total)
    ranks, below = [], 0
    for value in values:
        below += counts[value]
        ranks.append(below)
    return {
        "mean": round(float(mean / scale), _DIGITS),
        "sd": round(math.sqrt(square - mean * mean) / scale, _DIGITS),
        "min": _number(values[0], scale),
        "max": _number(values[-1], scale),
        "quantiles": {
            str(percent / 100): _number(values[bisect_left(ranks, -(-percent * total // 100))], scale)
            for percent in _PERCENTS
        },
    }  # fmt: skip


def _number(value: int, scale: int) -> int | float:
    return value if scale == 1 else value / scale


def binned(counts: Mapping[int, int], bins: Sequence[int]) -> dict[str, int]:
    """How many values each bin has, by its greatest value; ``more`` for those beyond the last."""
    names = [*map(str, bins), "more"]
    found = dict.fromkeys(names, 0)
    for value, count in counts.items():
        found[names[bisect_left(bins, value)]] += count
    return found


def divergence(one: Mapping[str, int], other: Mapping[str, int]) -> float | None:
    """Jensen-Shannon divergence in bits: 0 if the shares are the same, 1 if they have nothing in common.

    Returns:
        None if either has no counts.
    """
    totals = sum(one.values()), sum(other.values())
    if not all(totals):
        return None
    bits = 0.0
    for name in sorted(one.keys() | other.keys()):
        p, q = one.get(name, 0) / totals[0], other.get(name, 0) / totals[1]
        middle = (p + q) / 2
        bits += sum(x * math.log2(x / middle) / 2 for x in (p, q) if x)
    return round(max(bits, 0.0), _DIGITS)


def ordered(counts: Mapping[Any, int]) -> dict[str, int]:
    """Counts as JSON has them: names as text, the most frequent first, ties in alphabetical order."""
    named = {"(none)" if name is None else str(name): count for name, count in counts.items()}
    return dict(sorted(named.items(), key=lambda item: (-item[1], item[0])))
