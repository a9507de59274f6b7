"""Buckets of lengths, by the deciles of those in L."""

from collections.abc import Sequence

import pytest

from pipeline.core.buckets import bucket_of, deciles


@pytest.mark.parametrize(
    ("lengths", "edges"),
    [
        (range(1, 101), [10, 20, 30, 40, 50, 60, 70, 80, 90]),
        (range(20, 0, -1), [2, 4, 6, 8, 10, 12, 14, 16, 18]),
        ([2, 2, 2, 2, 2, 2, 3, 5, 9, 30], [2, 3, 5, 9]),
        ([2, 2, 2, 2, 9], [2]),
        ([3] * 9, []),
        ([], []),
    ],
)
def test_edges_are_the_different_deciles(lengths: Sequence[int], edges: list[int]) -> None:
    """Those that coincide are one, and the last bucket has no edge: it is never empty."""
    assert deciles(lengths) == edges


def test_a_length_is_in_the_first_bucket_that_does_not_end_before_it() -> None:
    """Beyond all edges in the last."""
    assert [bucket_of([2, 3, 5, 9], n) for n in (1, 2, 3, 4, 5, 9, 10, 99)] == [
        0,
        0,
        1,
        2,
        2,
        3,
        4,
        4,
    ]
    assert bucket_of([], 7) == 0
