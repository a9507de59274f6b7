"""Accuracy per coordinator under four criteria.

- ``whole``: the start of the first conjunct and the end of the last are both right. This is the
  paper's accuracy, the outer boundary of the structure, and the primary figure (§5.1).
- ``outer``: the first and the last conjunct are both exactly right.
- ``inner``: the two conjuncts next to the coordinator are exactly right.
- ``exact``: all conjuncts are exactly right.

A predictor gives an endpoint pair, which its second scorer cuts into conjuncts (``conjuncts``). One
without such a scorer has two, one on each side of the coordinator: then of a structure of three or more
only ``whole`` can be right, and for one of two ``outer``, ``inner`` and ``exact`` coincide.

A coordinator without a prediction (at the sentence's edge, or in one longer than the encoder) is
wrong under all criteria; it is never left out of the count.
"""

from collections.abc import Iterable, Mapping, Sequence

from pipeline.core.types import (
    CATEGORIES,
    CRITERIA,
    FURTHER_CATEGORIES,
    REST,
    Coordination,
    Span,
)

_COLUMN = {
    label: name for name, labels in (CATEGORIES | FURTHER_CATEGORIES).items() for label in labels
}


def judge(gold: Coordination, predicted: Sequence[Span]) -> dict[str, bool]:
    """Whether a prediction is right under each of ``CRITERIA``.

    Args:
        gold: the annotated structure.
        predicted: its predicted conjuncts in sentence order; empty for no prediction.
    """
    if not predicted:
        return dict.fromkeys(CRITERIA, False)

    def around(conjuncts: Sequence[Span]) -> tuple[list[Span], list[Span]]:
        before = [span for span in conjuncts if span.end <= gold.coordinator]
        after = [span for span in conjuncts if span.start > gold.coordinator]
        return before[-1:], after[:1]

    ends = predicted[0], predicted[-1]
    return {
        "whole": (ends[0].start, ends[1].end) == (gold.start, gold.end),
        "outer": ends == (gold.conjuncts[0], gold.conjuncts[-1]),
        "inner": around(predicted) == around(gold.conjuncts),
        "exact": tuple(predicted) == gold.conjuncts,
    }


def accuracy(verdicts: Iterable[bool]) -> float | None:
    """Share of true verdicts, in [0, 1]; None of no verdict."""
    counted = list(verdicts)
    return sum(counted) / len(counted) if counted else None


def categories(labels: Sequence[str]) -> dict[str, list[int]]:
    """Which instances stand in each column: ``overall``, those of Table 2, and further ones that have any.

    Each instance is in ``overall`` and in one more.
    """
    found: dict[str, list[int]] = {name: [] for name in (*CATEGORIES, *FURTHER_CATEGORIES)}
    for index, label in enumerate(labels):
        found[_COLUMN.get(label, REST)].append(index)
    shown = {name: those for name, those in found.items() if those or name in CATEGORIES}
    return {"overall": list(range(len(labels))), **shown}


def accuracy_by_category(
    labels: Sequence[str], verdicts: Sequence[bool]
) -> Mapping[str, float | None]:
    """Accuracy in each column of ``categories``; None where it has no instance."""
    return {
        name: accuracy(verdicts[index] for index in members)
        for name, members in categories(labels).items()
    }
