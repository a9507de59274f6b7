"""``evaluation/metrics.json`` as the report reads it: accuracies and paired gains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.metrics import CRITERIA
from pipeline.mechanisms.reporting.systems import BASELINE, system_key, varied

__all__ = ["ENOUGH", "FULL", "Metrics", "Result", "more_than_noise"]

FULL = "full"
"""Name of the draw of L that takes all there is."""

ENOUGH = 3
"""Seeds below which nothing is called more than noise: too few to bootstrap over."""


@dataclass(frozen=True, slots=True)
class Result:
    """One system at one |L|: fractions in [0, 1], or None where undefined, over seeds.

    ``mean`` and ``sd`` have the keys ``overall`` and ``CATEGORIES``; ``criteria`` gives
    (mean, sd) for each of ``CRITERIA``; ``by_seed`` the overall accuracy of each run.
    """

    system: str
    labelled: int
    mean: Mapping[str, float | None]
    sd: Mapping[str, float | None]
    criteria: Mapping[str, tuple[float | None, float | None]]
    by_seed: Mapping[int, float | None]


@dataclass(frozen=True, slots=True)
class Metrics:
    """``evaluation/metrics.json``; ``results`` by |L|, then in the order of Table 2."""

    split: str
    instances: Mapping[str, int]
    results: tuple[Result, ...]
    comparisons: tuple[Comparison, ...] = ()
    full: frozenset[int] = frozenset()
    """Every |L| that is all there is to draw, called ``full``."""

    @staticmethod
    def parse(document: Mapping[str, Any]) -> "Metrics":
        """Read the document; ``comparisons``, and the draws' names, may be missing from it.

        Raises:
            KeyError, TypeError: it is not what ``evaluate`` writes.
        """
        scores: dict[tuple[str, int], dict[int, float | None]] = {}
        for run in document["runs"]:
            cell = scores.setdefault((run["system"], run["labelled"]), {})
            cell[run["seed"]] = run["accuracy"]["overall"]
        results = [
            Result(
                system=entry["system"],
                labelled=entry["labelled"],
                mean=entry["mean"],
                sd=entry["sd"],
                criteria={
                    name: (entry["criteria"][name]["mean"], entry["criteria"][name]["sd"])
                    for name in CRITERIA
                },
                by_seed=scores[entry["system"], entry["labelled"]],
            )
            for entry in document["summary"]
        ]
        results.sort(key=lambda result: (result.labelled, system_key(result.system)))
        comparisons = tuple(
            Comparison(
                **{
                    **one,
                    "seeds": tuple(one["seeds"]),
                    "by_seed": tuple(one.get("by_seed", ())),
                }
            )
            for one in document.get("comparisons", ())
        )
        full = frozenset(e["labelled"] for e in document["summary"] if e.get("draw") == FULL)
        return Metrics(document["split"], document["instances"], tuple(results), comparisons, full)

    @property
    def sizes(self) -> list[int]:
        """Every |L|, in order."""
        return sorted({result.labelled for result in self.results})

    @property
    def main(self) -> int:
        """The |L| the report is about: most systems, then most runs; of equals the middle one.

        Raises:
            ValueError: there is no result.
        """
        weights = {
            size: (len(block), sum(len(result.by_seed) for result in block))
            for size in self.sizes
            for block in [self.block(size)]
        }
        best = [size for size, weight in weights.items() if weight == max(weights.values())]
        return best[(len(best) - 1) // 2]

    def label(self, labelled: int) -> str:
        """|L| as tables and axes name it: ``250``, or ``full (2,113)``."""
        return f"{FULL} ({labelled:,})" if labelled in self.full else f"{labelled:,}"

    def phrase(self, labelled: int) -> str:
        """|L| as it is called within a sentence."""
        count = f"{labelled:,} labelled sentence{'' if labelled == 1 else 's'}"
        return f"all {count}" if labelled in self.full else count

    def result(self, labelled: int, system: str) -> Result | None:
        """One system at one |L|; None where it was not run."""
        wanted = labelled, system
        return next((r for r in self.results if (r.labelled, r.system) == wanted), None)

    def block(self, labelled: int) -> list[Result]:
        """The results with so many labelled sentences."""
        return [result for result in self.results if result.labelled == labelled]

    def gain(self, labelled: int, system: str, against: str = BASELINE) -> Comparison | None:
        """The paired gain of one system over another; None where it was not computed."""
        wanted = labelled, system, against
        return next(
            (c for c in self.comparisons if (c.labelled, c.system, c.against) == wanted), None
        )

    def gains(self, results: Sequence[Result]) -> dict[str, Comparison]:
        """System → its gain over the baseline at its |L|, for those that have one."""
        found = {result.system: self.gain(result.labelled, result.system) for result in results}
        return {system: gain for system, gain in found.items() if gain}

    def ablations(self, labelled: int) -> dict[str, Comparison]:
        """Variation → its gain over the system that it varies, in the order of Table 3."""
        found = {}
        for result in self.block(labelled):
            other = varied(result.system)
            gain = self.gain(labelled, result.system, other) if other else None
            if gain:
                found[result.system] = gain
        return found


def more_than_noise(gain: Comparison) -> bool:
    """Whether the interval leaves 0 out, and enough seeds stand behind it to say so."""
    return gain.clear and len(gain.seeds) >= ENOUGH
