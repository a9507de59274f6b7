"""Accuracy per coordinator under four criteria, and comparisons of systems with intervals.

- ``whole``: the start of the first conjunct and the end of the last are both right. This is the
  paper's accuracy, the outer boundary of the structure, and the primary figure (§5.1).
- ``outer``: the first and the last conjunct are both exactly right.
- ``inner``: the two conjuncts next to the coordinator are exactly right.
- ``exact``: all conjuncts are exactly right.

The predictor gives only an endpoint pair, so a prediction is read as two conjuncts, one on each
side of the coordinator, without separators directly next to it ("[a] , and [b]"). Consequence: of a
structure of three or more conjuncts only ``whole`` can be right, and for one of two conjuncts
``outer``, ``inner`` and ``exact`` coincide.

A coordinator without a prediction (at the sentence's edge, or in one longer than the encoder) is
wrong under all criteria; it is never left out of the count.

``compare`` and ``compare_all`` hold two systems against each other: paired differences with bootstrap
intervals.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.core.runs import System
from pipeline.core.types import CATEGORIES, Coordination, Span

CRITERIA = ("whole", "outer", "inner", "exact")

_SEPARATORS = frozenset({",", ";", ":", "-", "--", "–", "—", "..."})


def as_conjuncts(words: Sequence[str], coordinator: int, extent: Span) -> tuple[Span, ...]:
    """Read an outer boundary as the two conjuncts around the coordinator.

    Separators directly next to the coordinator belong to neither, unless nothing else is there.
    """
    left, right = coordinator, coordinator + 1
    while left - 1 > extent.start and words[left - 1] in _SEPARATORS:
        left -= 1
    while right < extent.end - 1 and words[right] in _SEPARATORS:
        right += 1
    return Span(extent.start, left), Span(right, extent.end)


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
    """Which instances stand in each column of Table 2: ``overall`` and then ``CATEGORIES``.

    Minor labels (UCP, QP, ...) are in ``overall`` only.
    """
    columns = {"overall": list(range(len(labels)))}
    for name, members in CATEGORIES.items():
        columns[name] = [index for index, label in enumerate(labels) if label in members]
    return columns


def accuracy_by_category(
    labels: Sequence[str], verdicts: Sequence[bool]
) -> Mapping[str, float | None]:
    """Accuracy in each column of Table 2; None where it has no instance."""
    return {
        name: accuracy(verdicts[index] for index in members)
        for name, members in categories(labels).items()
    }


def mean_sd(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation (n - 1) over runs; None where they are undefined."""
    known = [value for value in values if value is not None]
    mean = statistics.fmean(known) if known else None
    return mean, statistics.stdev(known) if len(known) > 1 else None


_RESAMPLES = 4000
_LEVEL = 0.95
_BLOCK = 250  # resamples at a time, to bound memory

Correct = Mapping[int, Sequence[bool]]
"""Seed → for every test instance, in one fixed order, whether it was predicted right."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better ``system`` is than ``against``, in accuracy as a fraction.

    ``low`` and ``high`` bound the 95 % interval of the mean difference ``gain``; ``seeds`` are those
    that both have, and ``by_seed`` their differences one by one. With one seed the interval holds for
    the draw of test instances only.
    """

    system: System
    against: System
    labelled: int
    seeds: tuple[int, ...]
    gain: float
    low: float
    high: float
    by_seed: tuple[float, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


class Difference(NamedTuple):
    """A mean paired difference: its common seeds, its 95 % bounds and its value for each seed."""

    seeds: tuple[int, ...]
    gain: float
    low: float
    high: float
    by_seed: tuple[float, ...]


def compared(systems: Iterable[System]) -> list[tuple[System, System]]:
    """Which systems are held against which: (system, against)."""
    known = list(systems)
    return [
        (system, other) for system in known for other in known if system.is_compared_with(other)
    ]


def compare(first: Correct, second: Correct, seed: tuple[int, ...]) -> Difference | None:
    """Mean paired difference with its 95 % percentile bootstrap interval.

    Seeds and test instances are resampled together, each with replacement: a gain counts if it would
    be seen again with other draws of L and other test sentences. Every seed's pair is compared on
    the same instances, and all pairs of one ``seed`` are resampled alike.

    Of S seeds S − 1 are drawn: as many as S would make the variance over seeds (S − 1)/S of what it
    is, a third too small with three. What no resampling can mend is that three seeds hardly ever
    show how far a fourth might lie; benchmarks/intervals.py measures what is left of the 95 %.

    Returns:
        The difference, or None without a common seed.

    Raises:
        ValueError: the systems were not measured on the same number of instances.
    """
    seeds = tuple(sorted(first.keys() & second.keys()))
    if not seeds:
        return None
    if len({len(system[seed]) for system in (first, second) for seed in seeds}) != 1:
        raise ValueError("systems measured on different instances")
    difference = np.array([first[s] for s in seeds], dtype=float) - np.array(
        [second[s] for s in seeds], dtype=float
    )  # [seeds, instances]
    drawn = max(len(seeds) - 1, 1) * difference.shape[1]
    means = np.concatenate(
        [
            ((of_seeds @ difference) * of_instances).sum(1)
            for of_seeds, of_instances in resamples(seed, *difference.shape)
        ]
    )
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(means / drawn, [tail, 1 - tail])
    by_seed = tuple(float(gain) for gain in difference.mean(1))
    return Difference(seeds, float(difference.mean()), float(low), float(high), by_seed)


@lru_cache(maxsize=1)  # drawing takes a second, and every pair of a table needs the same
def resamples(
    seed: tuple[int, ...], seeds: int, instances: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """How often each seed and each instance is drawn, ``[block, seeds]``, ``[block, instances]``."""
    random = np.random.default_rng(seed)
    uniform = [np.full(size, 1 / size) for size in (seeds, instances)]
    return [
        (
            random.multinomial(max(seeds - 1, 1), uniform[0], _BLOCK),
            random.multinomial(instances, uniform[1], _BLOCK),
        )
        for _ in range(_RESAMPLES // _BLOCK)
    ]


def compare_all(
    correct: Mapping[tuple[int, System], Correct], pairs: Sequence[tuple[System, System]]
) -> list[Comparison]:
    """The comparisons of ``pairs`` (system, against) at every |L| where both have a common seed.

    Args:
        correct: (|L|, system) → what it got right.
        pairs: which to compare.
    """
    found = []
    for labelled in sorted({size for size, _ in correct}):
        for system, against in pairs:
            first, second = correct.get((labelled, system)), correct.get((labelled, against))
            figures = compare(first, second, (0, labelled)) if first and second else None
            if figures:
                found.append(Comparison(system, against, labelled, **figures._asdict()))
    return found
