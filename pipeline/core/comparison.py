"""Comparisons of systems: paired differences with bootstrap intervals, and with Student's t over seeds."""

import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.core.runs import System


def mean_sd(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation (n - 1) over runs; None where they are undefined."""
    known = [value for value in values if value is not None]
    mean = statistics.fmean(known) if known else None
    return mean, statistics.stdev(known) if len(known) > 1 else None


_RESAMPLES = 4000
_LEVEL = 0.95
_BLOCK = 250  # resamples at a time, to bound memory

Counts = NDArray[np.int64]
"""Of each test instance, in one fixed order, what was right, said and there: ``[instances, groups, 3]``."""

Correct = Mapping[int, Sequence[bool]]
"""Seed → for every test instance, in one fixed order, whether it was predicted right."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better ``system`` is than ``against``, in accuracy as a fraction.

    ``low`` and ``high`` bound the 95 % interval of the mean difference ``gain``; ``seeds`` are those
    that both have, and ``by_seed`` their differences one by one. With one seed the interval holds for
    the draw of test instances only. ``across``: the two are not of one level of annotation, so it is no
    gain of one method over another.
    """

    system: System
    against: System
    labelled: int
    seeds: tuple[int, ...]
    gain: float
    low: float
    high: float
    by_seed: tuple[float, ...] = ()
    across: bool = False

    @property
    def clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0

    @property
    def by_t(self) -> tuple[float, float] | None:
        """The interval of ``t_interval``."""
        return t_interval(self.by_seed)


_T_SEEDS = 3  # below which the interval is too wide to tell anything
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""97.5 % quantiles of Student's t with 1, 2 ... degrees of freedom."""


def t_interval(by_seed: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % t-interval of the mean of paired differences, a value for each seed.

    It takes the test instances as given, and few seeds as what they are: with three it is 4.3 standard errors
    to each side, where a bootstrap over them knows nothing wider than what they show.

    Returns:
        Its bounds; None of fewer than three seeds.
    """
    count = len(by_seed)
    if count < _T_SEEDS:
        return None
    z, freedom = 1.959964, count - 1
    t = _T[freedom - 1] if freedom <= len(_T) else z + (z**3 + z) / (4 * freedom)
    mean, half = statistics.fmean(by_seed), t * statistics.stdev(by_seed) / count**0.5
    return mean - half, mean + half


class Difference(NamedTuple):
    """A mean paired difference: its common seeds, its 95 % bounds and its value for each seed."""

    seeds: tuple[int, ...]
    gain: float
    low: float
    high: float
    by_seed: tuple[float, ...]


def compared(
    systems: Iterable[System], levels: Mapping[System, Hashable] | None = None
) -> list[tuple[System, System]]:
    """Which systems are held against which: (system, against).

    Two of one level of annotation are compared as ``System.is_compared_with`` has it, two of different levels
    as ``is_compared_across`` has.

    Args:
        systems: all there are.
        levels: of annotation, by system; None: all have one.
    """
    known = list(systems)

    def wanted(system: System, other: System) -> bool:
        if levels is None or levels[system] == levels[other]:
            return system.is_compared_with(other)
        return system.is_compared_across(other)

    return [(system, other) for system in known for other in known if wanted(system, other)]


FEWEST_DOCUMENTS = 10
"""Of fewer no resampling shows how another would differ, so that instances are resampled instead."""


def documents_of(names: Sequence[str]) -> list[int] | None:
    """Each instance's document by number, as ``compare`` takes them; None where there are too few.

    Args:
        names: the id of each instance's document.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names] if len(numbers) >= FEWEST_DOCUMENTS else None


def compare(
    first: Correct,
    second: Correct,
    seed: tuple[int, ...],
    documents: Sequence[int] | None = None,
) -> Difference | None:
    """Mean paired difference with its 95 % percentile bootstrap interval.

    Seeds and test instances are resampled together, each with replacement: a gain counts if it would
    be seen again with other draws of L and other test sentences. Every seed's pair is compared on
    the same instances, and all pairs of one ``seed`` are resampled alike. Where it is known of which
    document each instance is, whole documents are drawn instead: instances of one are more alike than those
    of two. The mean is then over the instances of the documents drawn.

    Of S seeds S − 1 are drawn: as many as S would make the variance over seeds (S − 1)/S of what it
    is, a third too small with three. What no resampling can mend is that three seeds hardly ever
    show how far a fourth might lie; benchmarks/intervals/intervals.py measures what is left of the 95 %.

    Args:
        first: what a system got right.
        second: what the other one did.
        seed: of the resampling.
        documents: the number of each instance's document, from 0; None: instances are drawn.

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
    sums, sizes = difference, np.ones(difference.shape[1])
    if documents is not None:
        sizes = np.bincount(documents).astype(float)
        sums = np.array([np.bincount(documents, weights=of_seed) for of_seed in difference])
    drawn = max(len(seeds) - 1, 1)
    means = np.concatenate(
        [
            ((of_seeds @ sums) * of_units).sum(1) / (drawn * (of_units @ sizes))
            for of_seeds, of_units in resamples(seed, *sums.shape)
        ]
    )
    return _difference(seeds, float(difference.mean()), difference.mean(1), means)


def compare_counts(
    first: Mapping[int, Counts],
    second: Mapping[int, Counts],
    seed: tuple[int, ...],
    documents: Sequence[int] | None = None,
) -> Difference | None:
    """``compare`` of a figure that is no mean over instances, such as micro- or macro-F1.

    Seeds and documents (or instances) are drawn as there; the figure of each drawn seed is made again of what
    is drawn. Where every instance has one answer and is given one, it is ``compare`` itself.

    Args:
        first: what a system got right, said, and what was there, by seed.
        second: what the other one did, and said.
        seed: of the resampling.
        documents: the number of each instance's document, from 0; None: instances are drawn.

    Returns:
        The difference, or None without a common seed.

    Raises:
        ValueError: the systems were not measured on the same instances and groups.
    """
    seeds = tuple(sorted(first.keys() & second.keys()))
    if not seeds:
        return None
    every = [system[each] for system in (first, second) for each in seeds]
    if len({counts.shape for counts in every}) != 1:
        raise ValueError("systems measured on different instances")
    if all(counts.shape[1] == 1 and (counts[:, 0, 1:] == 1).all() for counts in every):
        one, other = (
            {s: (system[s][:, 0, 0] > 0).tolist() for s in seeds} for system in (first, second)
        )
        return compare(one, other, seed, documents)
    units = np.arange(every[0].shape[0]) if documents is None else np.asarray(documents)
    shape = (int(units.max()) + 1, *every[0].shape[1:])
    summed = np.zeros((len(every), *shape))
    for whole, counts in zip(summed, every, strict=True):
        np.add.at(whole, units, counts)

    def differences(of_units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each draw and seed, ``[draws, seeds]``."""
        totals = np.einsum("du,sugc->dsgc", of_units, summed)
        there = totals[..., 1] + totals[..., 2]
        figures = np.divide(2 * totals[..., 0], there, out=np.zeros_like(there), where=there > 0)
        of_systems: NDArray[np.float64] = figures.mean(-1)
        return of_systems[:, : len(seeds)] - of_systems[:, len(seeds) :]

    means = np.concatenate(
        [
            (of_seeds * differences(of_units.astype(float))).sum(1) / max(len(seeds) - 1, 1)
            for of_seeds, of_units in resamples(seed, len(seeds), shape[0])
        ]
    )
    by_seed = differences(np.ones((1, shape[0])))[0]
    return _difference(seeds, float(by_seed.mean()), by_seed, means)


def _difference(
    seeds: tuple[int, ...], gain: float, by_seed: NDArray[np.float64], means: NDArray[np.float64]
) -> Difference:
    """With the percentiles of the resampled ``means``."""
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Difference(seeds, gain, float(low), float(high), tuple(map(float, by_seed)))


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


Cell = tuple[int, System]
"""|L| and a system."""


def compare_all(
    counted: Mapping[Cell, Mapping[int, Counts]],
    levels: Mapping[Cell, Hashable] | None = None,
    documents: Sequence[int] | None = None,
) -> list[Comparison]:
    """The comparisons that ``compared`` names, at every |L| where both have a common seed.

    Args:
        counted: (|L|, system) → what it got right, said, and what was there.
        levels: (|L|, system) → its level of annotation; None: all have one. Comparisons of two levels are
            marked ``across``.
        documents: of the instances, as ``compare`` takes them.
    """
    found = []
    for labelled in sorted({size for size, _ in counted}):
        here = [system for size, system in counted if size == labelled]
        of = None if levels is None else {system: levels[labelled, system] for system in here}
        for system, against in compared(here, of):
            pair = counted[labelled, system], counted[labelled, against]
            if figures := compare_counts(*pair, (0, labelled), documents):
                across = of is not None and of[system] != of[against]
                found.append(
                    Comparison(system, against, labelled, **figures._asdict(), across=across)
                )
    return found
