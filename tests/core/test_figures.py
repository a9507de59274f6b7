"""The figure of a task, on counts worked out by hand."""

import pytest

from pipeline.core.figures import Counts, figure


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[(3, 4, 4)]], 3 / 4),  # one answer said of each question: the accuracy
        ([[(1, 1, 3)]], 1 / 2),  # two of three not said
        ([[(1, 3, 1)]], 1 / 2),  # two said too many
        ([[(0, 0, 2)]], 0),
        ([[(0, 2, 0)]], 0),
        ([[(1, 1, 3), (2, 2, 2), (0, 0, 0)]], (1 / 2 + 1 + 0) / 3),
        ([[(1, 1, 1), (0, 1, 0)], [(0, 0, 2), (1, 1, 1)]], (1 / 2 + 2 / 3) / 2),
    ],
)
def test_what_is_said_and_what_is_there_count_alike(parts: list[Counts], expected: float) -> None:
    """F1 of each group, of counts that are added up before; groups have equal weights."""
    assert figure(parts) == pytest.approx(expected)
