"""Is one system better than another by more than chance? Paired differences with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Comparison", "compare", "compare_all"]

_RESAMPLES = 4000
_LEVEL = 0.95
_BLOCK = 250  # resamples at a time, to bound memory

Correct = Mapping[int, Sequence[bool]]
"""Seed → for every test instance, in one fixed order, whether it was predicted right."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better ``system`` is than ``against``, in accuracy as a fraction.

    ``low`` and ``high`` bound the 95 % interval of the mean difference ``gain``; ``seeds`` are those
    that both have. With one seed the interval holds for the draw of test instances only.
    """

    system: str
    against: str
    labelled: int
    seeds: tuple[int, ...]
    gain: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def compare(
    first: Correct, second: Correct, random: np.random.Generator
) -> tuple[tuple[int, ...], float, float, float] | None:
    """Mean paired difference with its 95 % percentile bootstrap interval.

    Seeds and test instances are resampled together, each with replacement: a gain counts if it would
    be seen again with other draws of L and other test sentences. Every seed's pair is compared on
    the same instances.

    Returns:
        (common seeds, mean, lower bound, upper bound), or None without a common seed.

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
    means = np.concatenate(
        [_resampled(difference, _BLOCK, random) for _ in range(_RESAMPLES // _BLOCK)]
    )
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return seeds, float(difference.mean()), float(low), float(high)


def _resampled(
    difference: NDArray[np.float64], count: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """``count`` means over resampled seeds and instances."""
    seeds, instances = difference.shape
    of_seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), count)
    of_instances = random.multinomial(instances, np.full(instances, 1 / instances), count)
    sums: NDArray[np.float64] = ((of_seeds @ difference) * of_instances).sum(1)
    return sums / difference.size


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
            random = np.random.default_rng([seed, labelled])
            figures = compare(first, second, random) if first and second else None
            if figures:
                found.append(Comparison(system, against, labelled, *figures))
    return found
