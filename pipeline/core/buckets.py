"""Buckets of lengths: their edges are the deciles of the lengths in L."""

from bisect import bisect_left
from collections.abc import Sequence

_BUCKETS = 10


def deciles(lengths: Sequence[int]) -> list[int]:
    """The greatest length of each bucket but the last, ascending.

    An edge is the least length that k tenths of the lengths do not exceed; lengths that many share make
    fewer than ten buckets.
    """
    ranked = sorted(lengths)
    found = {ranked[-(-k * len(ranked) // _BUCKETS) - 1] for k in range(1, _BUCKETS) if ranked}
    return sorted(found - {ranked[-1]}) if ranked else []


def bucket_of(edges: Sequence[int], length: int) -> int:
    """The number, from 0, of the bucket that a length is in."""
    return bisect_left(edges, length)
