"""One kind of figure for all tasks: right, said and there, by groups of answers."""

from collections.abc import Sequence

Counts = Sequence[tuple[int, int, int]]
"""Of each group: how many answers were right, how many were said and how many there were."""


def figure(parts: Sequence[Counts]) -> float:
    """The mean over groups of F1 = 2 · right / (said + there), of some counts added up.

    Where every question has one answer and one is always said, it is the accuracy; of one group it is
    micro-F1, of a group a class macro-F1. A group of which nothing was said and nothing there is 0.
    """
    groups = [
        tuple(sum(numbers) for numbers in zip(*group, strict=True))
        for group in zip(*parts, strict=True)
    ]
    shares = [2 * right / (said + there) if said + there else 0.0 for right, said, there in groups]
    return sum(shares) / len(shares)
