"""A small line chart over updates: what learning curves, acceptance and reuse are drawn with."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from pipeline.mechanisms.reporting.drawing import MUTED, Key, draw, dress, label_ends, paint

__all__ = ["Line", "Points", "line_chart", "mean_of"]

Points = Sequence[tuple[float, float]]
"""(updates, value), ascending."""

_SIZE = 3.6, 2.3  # inches
_WIDE = 4.3, 2.6  # where names stand beside the lines


@dataclass(frozen=True, slots=True)
class Line:
    """Points and how they are drawn; a thin line is one of several that another sums up."""

    points: Points
    key: Key
    thin: bool = False


def line_chart(
    lines: Sequence[Line],
    y_label: str,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    *,
    name: str = "",
    mark: float = 0,
    named: bool = False,
    x_label: str = "updates",
    logarithmic: bool = False,
) -> str:
    """An inline SVG of the lines.

    Args:
        lines: what to draw.
        y_label: of the upright axis.
        x_limits: updates, from and to.
        y_limits: values, from and to.
        name: of the picture, which no other of the page has.
        mark: number of updates at which a dashed upright stands; 0 for none.
        named: whether the lines' names stand at their ends.
        x_label: what the level axis counts, where that is not updates.
        logarithmic: whether the upright axis is; its values are above 0.
    """

    def plot(axes: Axes) -> None:
        if mark:
            axes.axvline(mark, color=paint(MUTED), linewidth=0.8, dashes=(2, 2))
        for line in lines:
            _plot(axes, line)
        axes.set_xlim(*x_limits)
        if logarithmic:
            axes.set_yscale("log")
        axes.set_ylim(*y_limits)
        dress(axes, x_label, y_label)
        whole = y_limits[1] - y_limits[0] >= 4
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 2.5, 5, 10]))
        if logarithmic:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
            axes.yaxis.set_major_formatter("{x:,.0f}")
            axes.yaxis.set_minor_locator(NullLocator())
        else:
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=whole, steps=[1, 2, 5, 10]))
        if named:
            label_ends(axes, [(line.key, line.points[-1][1]) for line in lines if not line.thin])

    return draw(_WIDE if named else _SIZE, plot, name)


def mean_of(curves: Sequence[Points]) -> list[tuple[float, float]]:
    """The mean of curves at each step that any of them has, as far as all of them go."""
    values = defaultdict(list)
    for curve in curves:
        for step, value in curve:
            values[step].append(value)
    # Past the end of the first seed the mean would jump to the seeds that are left.
    end = min(curve[-1][0] for curve in curves)
    return [(step, sum(v) / len(v)) for step, v in sorted(values.items()) if step <= end]


def _plot(axes: Axes, line: Line) -> None:
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
