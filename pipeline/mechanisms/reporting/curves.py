"""Small line charts: learning curves and acceptance over time."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pipeline.ground.coordination import REFERENCE_LABELS
from pipeline.mechanisms.reporting.drawing import MUTED, Key, Panel, draw, dress, key_of, paint
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import BASELINE, short_name, system_key, system_name

__all__ = ["acceptance", "acceptance_by_label", "learning_curves"]

_ENOUGH = 100  # candidates of a label seen, below which it has no panel
_BIN = 50  # candidates seen, below which validations are pooled into one point


@dataclass(frozen=True, slots=True)
class _Line:
    points: Sequence[tuple[float, float]]
    key: Key
    thin: bool = False


def learning_curves(runs: Sequence[Run]) -> list[Panel]:
    """Validation accuracy over updates: a panel per system, a thin line per seed, their mean thick.

    The baseline's mean stands in every panel, to compare with; all panels share their axes. The
    mean ends where the first seed ends. Runs are of one |L|; those without history are left out.
    """
    told = [run for run in runs if _curve(run)]
    systems = sorted({run.system for run in told}, key=system_key)
    points = [point for run in told for point in _curve(run)]
    if not points:
        return []
    limits = _limits([value for _, value in points])
    last = max(step for step, _ in points)
    means = {s: _mean([_curve(run) for run in told if run.system == s]) for s in systems}
    panels = []
    for system in systems:
        own = [run for run in told if run.system == system]
        key = replace(key_of(system, systems), dash="")  # titled, and dashes hide small steps
        lines = [_Line(_curve(run), key, thin=True) for run in own]
        if BASELINE in means and system != BASELINE:
            lines.append(_Line(means[BASELINE], key_of(BASELINE)))
        lines.append(_Line(means[system], key))
        begins = own[0].warm_steps if system != BASELINE else 0
        svg = _draw(lines, "validation accuracy, %", (0, last), limits, begins)
        alt = (
            f"{system_name(system)}: validation accuracy over {int(means[system][-1][0])} updates, "
            f"at the end {means[system][-1][1]:.0f} % on average of {len(own)} runs"
        )
        panels.append(Panel(short_name(system), alt, svg))
    return panels


def acceptance(runs: Sequence[Run]) -> list[Panel]:
    """Share of examined candidates that were accepted, over updates: all systems with a threshold.

    Seeds are pooled. Empty where no run inspects candidates (baselines, and δ = 0).
    """
    told = [run for run in runs if run.mode in {"filter", "self-train"}]
    curves = {
        system: _pooled([run for run in told if run.system == system], None)
        for system in sorted({run.system for run in told}, key=system_key)
    }
    curves = {s: c for s, c in curves.items() if c}
    return [_share_panel("all labels", curves, list(curves), told)] if curves else []


def acceptance_by_label(runs: Sequence[Run]) -> tuple[list[Panel], dict[str, int]]:
    """The same for each label of a reference span, with generation's own boundaries (filter) only.

    Returns:
        A panel per label, and the labels left out as too rare, with how many candidates were seen.
    """
    told = [run for run in runs if run.mode == "filter"]
    systems = sorted({run.system for run in told}, key=system_key)
    seen: Counter[str] = Counter()
    for run in told:
        for record in run.history:
            for label, (_, count) in record.get("acceptance", {}).items():
                seen[label] += count
    known = [label for label in REFERENCE_LABELS if label in seen]
    panels, rare = [], {}
    for label in [*known, *sorted(seen.keys() - set(known))]:
        curves = {s: _pooled([run for run in told if run.system == s], label) for s in systems}
        curves = {s: c for s, c in curves.items() if len(c) > 1}
        if seen[label] < _ENOUGH or not curves:
            rare[label] = seen[label]
        else:
            panels.append(_share_panel(label, curves, systems, told))
    return panels, rare


def _share_panel(
    title: str,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    systems: Sequence[str],
    runs: Sequence[Run],
) -> Panel:
    lines = [_Line(points, key_of(system, systems)) for system, points in curves.items()]
    # All panels of one kind share their axes, whatever is drawn in them.
    span = min(r.warm_steps for r in runs), max(h["step"] for r in runs for h in r.history)
    ends = "; ".join(f"{system_name(s)} ends at {c[-1][1]:.0f} %" for s, c in curves.items())
    svg = _draw(lines, "accepted, %", span, (0, 100))
    return Panel(title, f"acceptance over updates, {title}: {ends}", svg)


def _curve(run: Run) -> list[tuple[float, float]]:
    return [(r["step"], 100 * r["validation_accuracy"]) for r in run.history]


def _mean(curves: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    values = defaultdict(list)
    for curve in curves:
        for step, value in curve:
            values[step].append(value)
    # Past the end of the first seed the mean would jump to the seeds that are left.
    end = min(curve[-1][0] for curve in curves)
    return [(step, sum(v) / len(v)) for step, v in sorted(values.items()) if step <= end]


def _pooled(runs: Sequence[Run], label: str | None) -> list[tuple[float, float]]:
    """Acceptance in per cent over steps, all runs together, in bins of at least ``_BIN`` seen."""
    steps: dict[int, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for record in run.history:
            for name, (accepted, seen) in record.get("acceptance", {}).items():
                if label in (None, name):
                    steps[record["step"]].update(accepted=accepted, seen=seen)
    points, waiting = [], Counter[str]()
    for step, counts in sorted(steps.items()):
        waiting.update(counts)
        if waiting["seen"] >= _BIN:
            points.append((float(step), 100 * waiting["accepted"] / waiting["seen"]))
            waiting = Counter()
    return points


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Whole tens around the values, at least ten apart, within 0 and 100."""
    low = max(0.0, -(-min(values) // 10) * 10 - 10)
    return low, max(low + 10, -(-max(values) // 10) * 10)


def _draw(
    lines: Sequence[_Line],
    y_label: str,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    mark: float = 0,
) -> str:
    def plot(axes: Axes) -> None:
        if mark:
            axes.axvline(mark, color=paint(MUTED), linewidth=0.8, dashes=(2, 2))
        for line in lines:
            _plot(axes, line)
        axes.set_xlim(*x_limits)
        axes.set_ylim(*y_limits)
        dress(axes, "updates", y_label)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))

    return draw((3.6, 2.3), plot)


def _plot(axes: Axes, line: _Line) -> None:
    dash = [float(part) for part in line.key.dash.split()]
    axes.plot(
        [x for x, _ in line.points],
        [y for _, y in line.points],
        color=paint(line.key.colour),
        linewidth=0.8 if line.thin else 1.8,
        alpha=0.45 if line.thin else 1.0,
        linestyle=(0, dash) if dash and not line.thin else "-",
        marker="o" if len(line.points) == 1 else None,
        markersize=4,
        clip_on=False,
    )
