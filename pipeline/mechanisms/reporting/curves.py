"""Small line charts of training: learning curves, losses, and how often candidates came again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pipeline.mechanisms.reporting.drawing import Panel, key_of
from pipeline.mechanisms.reporting.lines import Line, Points, line_chart, mean_of
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import BASELINE, short_name, system_key, system_name

__all__ = ["learning_curves", "losses", "reuse"]


def learning_curves(runs: Sequence[Run]) -> list[Panel]:
    """Validation accuracy over updates: a panel per system, a thin line per seed, their mean thick.

    The baseline's mean stands in every panel, to compare with; all panels share their axes. The
    mean ends where the first seed ends. Runs are of one |L|; those without history are left out.
    """
    told = [run for run in runs if _accuracies(run)]
    systems = sorted({run.system for run in told}, key=system_key)
    points = [point for run in told for point in _accuracies(run)]
    if not points:
        return []
    limits = _limits([value for _, value in points])
    last = max(step for step, _ in points)
    means = {s: mean_of([_accuracies(run) for run in told if run.system == s]) for s in systems}
    panels = []
    for system in systems:
        own = [run for run in told if run.system == system]
        key = replace(key_of(system, systems), dash="")  # titled, and dashes hide small steps
        lines = [Line(_accuracies(run), key, thin=True) for run in own]
        if BASELINE in means and system != BASELINE:
            lines.append(Line(means[BASELINE], key_of(BASELINE)))
        lines.append(Line(means[system], key))
        begins = own[0].warm_steps if system != BASELINE else 0
        svg = line_chart(
            lines, "validation accuracy, %", (0, last), limits, name=system, mark=begins
        )
        alt = (
            f"{system_name(system)}: validation accuracy over {int(means[system][-1][0])} updates, "
            f"at the end {means[system][-1][1]:.0f} % on average of {len(own)} runs"
        )
        panels.append(Panel(short_name(system), alt, svg))
    return panels


def losses(runs: Sequence[Run]) -> list[Panel]:
    """The loss of training over updates, each system's mean over its seeds; empty without any."""
    return _shared("Training loss", "loss", runs, lambda run, record: record.get("loss"))


def reuse(runs: Sequence[Run]) -> list[Panel]:
    """How far training went through its candidates, and how many of those it examined came again.

    Two panels, systems' means over seeds: the share of the corpus examined so far, and the share of
    all examinations that were not the candidate's first. Empty for runs of before ``distinct`` was kept.
    """

    def used(run: Run, record: dict[str, Any]) -> float | None:
        pool = run.card.get("candidates")
        return 100 * record["distinct"] / pool if pool and "distinct" in record else None

    def again(_: Run, record: dict[str, Any]) -> float | None:
        if not record.get("seen") or "distinct" not in record:
            return None
        return 100 * (1 - float(record["distinct"]) / float(record["seen"]))

    return [
        *_shared("Share of the corpus examined", "different candidates, %", runs, used),
        *_shared("Examined before", "of those examined so far, %", runs, again),
    ]


def _shared(
    title: str,
    y_label: str,
    runs: Sequence[Run],
    value: Callable[[Run, dict[str, Any]], float | None],
) -> list[Panel]:
    """One panel with a line for each system, the mean over its seeds, from 0 up."""
    curves: dict[str, list[Points]] = {}
    for run in sorted(runs, key=lambda run: system_key(run.system)):
        points = [(r["step"], v) for r in run.history if (v := value(run, r)) is not None]
        if points:
            curves.setdefault(run.system, []).append(points)
    if not curves:
        return []
    means = {system: mean_of(points) for system, points in curves.items()}
    lines = [Line(points, key_of(system, list(means))) for system, points in means.items()]
    every = [point for line in lines for point in line.points]
    top = max(value for _, value in every)
    last = max(step for step, _ in every)
    svg = line_chart(lines, y_label, (0, last), (0, 1.05 * top or 1), name=title, named=True)
    ends = "; ".join(f"{system_name(s)} ends at {p[-1][1]:.2f}" for s, p in means.items())
    return [Panel(title, f"{title} over updates: {ends}", svg)]


def _accuracies(run: Run) -> list[tuple[float, float]]:
    return [(r["step"], 100 * r["validation_accuracy"]) for r in run.history]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Whole tens around the values, at least ten apart, within 0 and 100."""
    low = max(0.0, -(-min(values) // 10) * 10 - 10)
    return low, max(low + 10, -(-max(values) // 10) * 10)
