"""Figure 4: accuracy, and the gain over the baseline, over the number of labelled sentences."""

from collections.abc import Mapping, Sequence
from math import log2

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pipeline.mechanisms.reporting.drawing import (
    MUTED,
    Key,
    Panel,
    draw,
    dress,
    key_of,
    label_ends,
    paint,
)
from pipeline.mechanisms.reporting.intervals import Mark, accuracy_mark, gain_mark
from pipeline.mechanisms.reporting.results import FULL, Metrics
from pipeline.mechanisms.reporting.systems import BASELINE, short_name, system_key

__all__ = ["accuracy_over_sizes", "curves_over_sizes", "gain_over_sizes"]

_SIZE = 4.3, 2.9  # inches
_DODGE = 0.02  # of the axis between one system's mark and the next's, so that bars do not hide bars
_NEAR = 0.11  # of the axis between two sizes, below which the names of both do not fit side by side

_Marks = Mapping[str, Mapping[int, Mark]]


def curves_over_sizes(metrics: Metrics) -> tuple[list[str], list[str]]:
    """Systems that have a curve, being run at two |L| at least, and those that have none."""
    systems = sorted({result.system for result in metrics.results}, key=system_key)
    sizes = {s: [r for r in metrics.results if r.system == s] for s in systems}
    return [s for s in systems if len(sizes[s]) > 1], [s for s in systems if len(sizes[s]) < 2]


def accuracy_over_sizes(metrics: Metrics) -> Panel | None:
    """Overall accuracy over |L|, mean ± sd, a line for each system that has a curve."""
    marks: dict[str, dict[int, Mark]] = {}
    for system in curves_over_sizes(metrics)[0]:
        for result in metrics.results:
            if result.system == system and (mark := accuracy_mark(result)):
                marks.setdefault(system, {})[result.labelled] = mark
    if not marks:
        return None
    alt = _told(metrics, marks, "{:.1f} %")
    svg = _lines(metrics, marks, "accuracy, %")
    return Panel("Accuracy, mean ± sd", f"overall accuracy over labelled sentences: {alt}", svg)


def gain_over_sizes(metrics: Metrics) -> Panel | None:
    """The gain over the baseline over |L|, with 95 % intervals; None without comparisons."""
    marks: dict[str, dict[int, Mark]] = {}
    for system in curves_over_sizes(metrics)[0]:
        for size in metrics.sizes:
            if gain := metrics.gain(size, system):
                marks.setdefault(system, {})[size] = gain_mark(gain)
    if not marks:
        return None
    alt = _told(metrics, marks, "{:+.1f}")
    svg = _lines(metrics, marks, "points over the baseline", zero=True)
    return Panel(
        "Gain over the baseline, 95 % interval", f"gain over labelled sentences: {alt}", svg
    )


def _told(metrics: Metrics, marks: _Marks, form: str) -> str:
    return "; ".join(
        f"{short_name(system)}: "
        + ", ".join(
            f"{form.format(mark.value)} at {metrics.label(size)}" for size, mark in by_size.items()
        )
        for system, by_size in marks.items()
    )


def _lines(metrics: Metrics, marks: _Marks, y_label: str, *, zero: bool = False) -> str:
    """A line for each system over |L| on a logarithmic axis, with an upright bar at each size."""
    sizes = metrics.sizes
    first, last = log2(sizes[0]), log2(sizes[-1])
    step = _DODGE * (last - first)

    def plot(axes: Axes) -> None:
        if zero:
            axes.axhline(0, color=paint(MUTED), linewidth=1)
        ends: list[tuple[Key, float]] = []
        for number, (system, by_size) in enumerate(marks.items()):
            key = key_of(system, list(marks))
            colour = paint(key.colour)
            shift = step * (number - (len(marks) - 1) / 2)
            xs = [log2(size) + shift for size in by_size]
            for x, mark in zip(xs, by_size.values(), strict=True):
                axes.plot([x, x], [mark.low, mark.high], color=colour, linewidth=1.2, alpha=0.75)
            values = [mark.value for mark in by_size.values()]
            dash = [float(part) for part in key.dash.split()]
            axes.plot(
                xs, values, color=colour, marker="o", markersize=4.5, linewidth=1.8,
                linestyle=(0, dash) if dash else "-", zorder=3 if system != BASELINE else 2,
            )  # fmt: skip
            ends.append((key, values[-1]))
        dress(axes, "labelled sentences, |L|", y_label)
        axes.set_xticks([log2(size) for size in sizes], _names(metrics))
        margin = step * (len(marks) / 2 + 1)
        axes.set_xlim(first - margin, last + margin)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
        label_ends(axes, ends)

    return draw(_SIZE, plot)


def _names(metrics: Metrics) -> Sequence[str]:
    """The names of the sizes below the axis; one too near its left neighbour goes a line lower."""
    sizes, names, lower = metrics.sizes, [], False
    whole = log2(sizes[-1]) - log2(sizes[0])
    for number, size in enumerate(sizes):
        near = number > 0 and log2(size) - log2(sizes[number - 1]) < _NEAR * whole
        lower = near and not lower
        name = f"{FULL}\n({size:,})" if size in metrics.full else f"{size:,}"
        names.append(f"\n{name}" if lower else name)
    return names
