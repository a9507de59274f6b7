"""Is one system better than another by more than chance? Paired differences with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Comparison", "Difference", "compare", "compare_all", "compared"]

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

    system: str
    against: str
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


def compared(modes: Mapping[str, str]) -> list[tuple[str, str]]:
    """Which systems are held against which: (system, against).

    Every system against each baseline, each variation (``t5-no-filter``) against what it varies, and
    what a model adapted on twins gives (``t5-twins``) against its control (``t5-more``).

    Args:
        modes: system → its mode of training.
    """
    return [
        (system, other)
        for system in modes
        for other in modes
        if system != other
        and (
            (modes[other] == "baseline" and modes[system] != "baseline")
            or system.startswith(f"{other}-")
            or system.replace("-twins", "-more") == other
        )
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
            for of_seeds, of_instances in _resamples(seed, *difference.shape)
        ]
    )
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(means / drawn, [tail, 1 - tail])
    by_seed = tuple(float(gain) for gain in difference.mean(1))
    return Difference(seeds, float(difference.mean()), float(low), float(high), by_seed)


@lru_cache(maxsize=1)  # drawing takes a second, and every pair of a table needs the same
def _resamples(
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
    correct: Mapping[tuple[int, str], Correct],
    pairs: Sequence[tuple[str, str]],
    seed: int = 0,
) -> list[Comparison]:
    """The comparisons of ``pairs`` (system, against) at every |L| where both have a common seed.

    Args:
        correct: (|L|, system) → what it got right.
        pairs: which to compare.
        seed: seed of the bootstrap.
    """
    found = []
    for labelled in sorted({size for size, _ in correct}):
        for system, against in pairs:
            first, second = correct.get((labelled, system)), correct.get((labelled, against))
            figures = compare(first, second, (seed, labelled)) if first and second else None
            if figures:
                found.append(Comparison(system, against, labelled, **figures._asdict()))
    return found
