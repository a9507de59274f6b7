"""From ``metrics.json`` to the paper's tables: accuracy (Table 2), ablation (Table 3), criteria."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from pipeline.ground.coordination import CATEGORIES
from pipeline.mechanisms.metrics import CRITERIA
from pipeline.mechanisms.reporting.systems import (
    BASELINE,
    VARIATIONS,
    parts_of,
    system_key,
    system_name,
    variation_of,
)
from pipeline.mechanisms.reporting.tables import Row, Table, percent

__all__ = ["DEFINITIONS", "Metrics", "Result", "ablation_table", "accuracy_table", "criteria_table"]

DEFINITIONS = {
    "whole": "the first word of the first conjunct and the last word of the last are right: "
    "the outer boundary, the paper's accuracy",
    "outer": "the first and the last conjunct are exactly right",
    "inner": "the two conjuncts next to the coordinator are exactly right",
    "exact": "all conjuncts are exactly right",
}
"""The four criteria of the field, in words."""


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

    @staticmethod
    def parse(document: Mapping[str, Any]) -> "Metrics":
        """Read the document.

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
        return Metrics(document["split"], document["instances"], tuple(results))

    def block(self, labelled: int) -> list[Result]:
        """The results with so many labelled sentences."""
        return [result for result in self.results if result.labelled == labelled]


def _marked(
    results: Sequence[Result],
    name: Callable[[Result], str],
    values: Sequence[Callable[[Result], tuple[float | None, float | None]]],
) -> Iterable[Row]:
    """Rows |L|, name, values, seeds; the best value of each column in each |L| is marked."""
    for labelled, group in groupby(results, lambda result: result.labelled):
        block = list(group)
        tops = []
        for value in values:
            shown = [percent(value(result)[0]) for result in block]
            known = [float(text) for text in shown if text != "–"]
            # Where all are equal, or there is only one, nothing is better than anything.
            tops.append(max(known) if len(set(known)) > 1 else None)
        for index, result in enumerate(block):
            pairs = [value(result) for value in values]
            best = {
                column
                for column, (pair, top) in enumerate(zip(pairs, tops, strict=True), 2)
                if top is not None and pair[0] is not None and float(percent(pair[0])) == top
            }
            cells = [percent(*pair) for pair in pairs]
            yield Row(
                (str(labelled), name(result), *cells, str(len(result.by_seed))),
                frozenset(best),
                begins=index == 0,
            )


def accuracy_table(metrics: Metrics) -> Table:
    """Table 2: accuracy by category, one block per |L|; systems of Table 3 alone are left to it."""
    shown = [r for r in metrics.results if variation_of(r.system) is None]

    def column(name: str) -> Callable[[Result], tuple[float | None, float | None]]:
        # As in the paper, only the overall figure carries its deviation.
        return lambda r: (r.mean[name], r.sd[name] if name == "overall" else None)

    names = [*CATEGORIES, "overall"]
    heads = [f"{name} ({metrics.instances[name]})" for name in names]
    return Table(
        f"Accuracy (%) on {metrics.split}",
        ("|L|", "Model", *heads[:-1], heads[-1].capitalize(), "seeds"),
        tuple(_marked(shown, lambda r: system_name(r.system), [column(name) for name in names])),
        names=2,
        note="Outer boundary per coordinator, mean over seeds, overall ± sample standard deviation; "
        "instances in brackets. Overall includes minor categories such as UCP and QP.",
    )


def ablation_table(metrics: Metrics) -> Table | None:
    """Table 3: what filtering and synchronization contribute; None without such runs."""
    known = [r for r in metrics.results if r.system == BASELINE or parts_of(r.system)]
    if not any(variation_of(r.system) for r in known):
        return None

    def name(result: Result) -> str:
        variation = variation_of(result.system)
        return VARIATIONS[variation] if variation else system_name(result.system)

    rows = _marked(known, name, [lambda r: (r.mean["overall"], r.sd["overall"])])
    return Table(
        f"Ablation: overall accuracy (%) on {metrics.split}",
        ("|L|", "Setting", "Overall", "seeds"),
        tuple(
            replace(row, level=int(variation_of(result.system) is not None))
            for row, result in zip(rows, known, strict=True)
        ),
        names=2,
        note="− filtering: all candidates are learned from (δ = 0). − sync + self-train: only "
        "S′(1) is filled, and the predictor sets the boundaries itself.",
    )


def criteria_table(metrics: Metrics) -> Table:
    """The field's four criteria, overall, for every system."""

    def column(name: str) -> Callable[[Result], tuple[float | None, float | None]]:
        return lambda r: r.criteria[name]

    return Table(
        f"Four criteria (%) on {metrics.split}, n = {metrics.instances['overall']} instances",
        ("|L|", "Model", *CRITERIA, "seeds"),
        tuple(
            _marked(metrics.results, lambda r: system_name(r.system), [column(c) for c in CRITERIA])
        ),
        names=2,
        note="The predictor gives an endpoint pair, read as one conjunct on each side: of a "
        "structure of three or more conjuncts only “whole” can be right.",
    )
