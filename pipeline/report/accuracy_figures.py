"""Charts of accuracies and gains with their intervals: at one |L|, and over |L| (Figure 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pipeline.core.comparison import Comparison
from pipeline.core.runs import System
from pipeline.report.charts import (
    INK,
    MUTED,
    Key,
    Panel,
    draw,
    dress,
    height_of_names,
    in_lines,
    key_of,
    label_ends,
    paint,
)  # fmt: skip
from pipeline.report.results import FULL, Metrics, Result, label_name, short_name, system_key

_WIDTH = 3.9  # inches: on a phone, where it is scaled down, text keeps 11 pixels
_ROW = 0.3  # inches for a name of one line
_LINE = 0.15  # and for each further line


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure with its interval, all in per cent or points; ``seeds`` are drawn faintly beside."""

    system: System
    value: float
    low: float
    high: float
    seeds: Sequence[float] = ()


def accuracy_dots(block: Sequence[Result], name: str = "", figure: str = "accuracy") -> list[Panel]:
    """The overall ``figure`` of each system at one |L|: mean, standard deviation, and each seed.

    A ``name``, here and below, is the picture's, where the page may show the same twice.
    """
    marks = [mark for result in block if (mark := accuracy_mark(result))]
    if not marks:
        return []
    alt = "; ".join(f"{short_name(m.system)} {m.value:.1f} %" for m in marks)
    svg = _rows(marks, [r.system for r in block], "{:.1f}", f"{figure}, %", name=name)
    title = f"{figure[:1].upper()}{figure[1:]}, mean ± sd; small: single seeds"
    return [Panel(title, f"overall {figure}: {alt}", svg)]


def gain_dots(gains: Mapping[System, Comparison], name: str = "") -> list[Panel]:
    """Gain of each system at one |L| over its rival, with its 95 % interval; 0 is marked."""
    # What gains are over has a row too, so that the rows of both pictures stand level.
    rivals = {gain.against for gain in gains.values()} - gains.keys()
    first = [Mark(system, 0.0, 0.0, 0.0) for system in sorted(rivals, key=system_key)]
    return _differences(gains, "Gain at equal annotation", first, name)


def ablation_dots(gains: Mapping[System, Comparison]) -> list[Panel]:
    """What each variation changes against its generator (Table 3), with the 95 % interval."""
    return _differences(gains, "Δ to the full method", [])


def _differences(
    gains: Mapping[System, Comparison], what: str, first: list[Mark], name: str = ""
) -> list[Panel]:
    if not gains:
        return []
    marks = [gain_mark(gain) for gain in gains.values()]
    alt = "; ".join(
        f"{short_name(m.system)} {m.value:+.1f} ({m.low:+.1f} to {m.high:+.1f})" for m in marks
    )
    svg = _rows([*first, *marks], list(gains), "{:+.1f}", "points", zero=True, name=name)
    return [Panel(f"{what}, 95 % interval", f"{what}: {alt}", svg)]


def accuracy_mark(result: Result) -> Mark | None:
    """Overall accuracy of a system at one |L| ± its standard deviation; None where undefined."""
    mean, sd = result.mean["overall"], result.sd["overall"] or 0.0
    if mean is None:
        return None
    seeds = [100 * value for value in result.by_seed.values() if value is not None]
    return Mark(result.system, 100 * mean, 100 * (mean - sd), 100 * (mean + sd), seeds)


def gain_mark(gain: Comparison) -> Mark:
    """A gain with its 95 % interval."""
    return Mark(gain.system, 100 * gain.gain, 100 * gain.low, 100 * gain.high)


def _rows(
    marks: Sequence[Mark], systems: Sequence[System], form: str, x_label: str, *, zero: bool = False,
    name: str = "",
) -> str:  # fmt: skip
    """A row for each mark from the top: its name, dot and interval, and its value at the right."""
    names = [in_lines(label_name(mark.system)) for mark in marks]
    heights = [_ROW + _LINE * name.count("\n") for name in names]
    places = [sum(heights[:number]) + height / 2 for number, height in enumerate(heights)]

    def plot(axes: Axes) -> None:
        if zero:
            axes.axvline(0, color=paint(MUTED), linewidth=1)
        for y, mark in zip(places, marks, strict=True):
            colour = paint(key_of(mark.system, systems).colour)
            axes.plot([mark.low, mark.high], [y, y], color=colour, linewidth=2.2, clip_on=False)
            axes.plot(
                mark.seeds, [y + 0.27 * _ROW] * len(mark.seeds), "o", color=colour, alpha=0.7,
                markersize=3.2, markeredgewidth=0, clip_on=False,
            )  # fmt: skip
            axes.plot([mark.value], [y], "o", color=colour, markersize=7, clip_on=False)
            text = form.format(mark.value).replace("-", "−")
            axes.text(
                1.03, y, text if mark.value else text.lstrip("+"), color=paint(INK),
                va="center_baseline", transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        dress(axes, x_label, grid="x")
        axes.set_yticks(places, names)
        axes.tick_params(axis="y", labelcolor=paint(INK))
        axes.set_ylim(sum(heights), 0)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))

    return draw((_WIDTH, 0.5 + sum(heights)), plot, name)


_SIZE = 4.3, 2.9  # inches
_DODGE = 0.02  # of the axis between one system's mark and the next's, so that bars do not hide bars
_NEAR = 0.11  # of the axis between two sizes, below which the names of both do not fit side by side

_Marks = Mapping[System, Mapping[int, Mark]]


def curves_over_sizes(metrics: Metrics) -> tuple[list[System], list[System]]:
    """Systems that have a curve, being run at two |L| at least, and those that have none."""
    systems = sorted({result.system for result in metrics.results}, key=system_key)
    sizes = {s: [r for r in metrics.results if r.system == s] for s in systems}
    return [s for s in systems if len(sizes[s]) > 1], [s for s in systems if len(sizes[s]) < 2]


def accuracy_over_sizes(metrics: Metrics) -> list[Panel]:
    """Overall accuracy over |L|, mean ± sd, a line for each system that has a curve."""
    marks: dict[System, dict[int, Mark]] = {}
    for system in curves_over_sizes(metrics)[0]:
        for result in metrics.results:
            if result.system == system and (mark := accuracy_mark(result)):
                marks.setdefault(system, {})[result.labelled] = mark
    figure = metrics.words.name
    title = f"{figure[:1].upper()}{figure[1:]}, mean ± sd"
    return _over_sizes(metrics, marks, title, f"{figure}, %", "{:.1f} %")


def gain_over_sizes(metrics: Metrics) -> list[Panel]:
    """The gain at equal annotation over |L|, with 95 % intervals; none without comparisons."""
    return _gains(metrics, curves_over_sizes(metrics)[0])


def chosen_gains_over_sizes(metrics: Metrics, systems: Sequence[System]) -> list[Panel]:
    """The same of these systems alone, with or without a curve, for the head of the page."""
    return _gains(metrics, systems, "opening")


def _gains(metrics: Metrics, systems: Sequence[System], name: str = "") -> list[Panel]:
    marks: dict[System, dict[int, Mark]] = {}
    for system in systems:
        for size in metrics.sizes:
            if gain := metrics.gain(size, system):
                marks.setdefault(system, {})[size] = gain_mark(gain)
    title = "Gain at equal annotation, 95 % interval"
    # As ``opening.is_of_variants`` of the systems that are drawn.
    of_variants = any(s.has_variants for s in marks) and not any(s.has_candidates for s in marks)
    y_label = f"points over the best without {'variants' if of_variants else 'candidates'}"
    return _over_sizes(metrics, marks, title, y_label, "{:+.1f}", zero=True, name=name)


def _over_sizes(
    metrics: Metrics, marks: _Marks, title: str, y_label: str, form: str, *, zero: bool = False,
    name: str = "",
) -> list[Panel]:  # fmt: skip
    if not marks:
        return []
    alt = "; ".join(
        f"{short_name(system)}: "
        + ", ".join(f"{form.format(m.value)} at {metrics.label(size)}" for size, m in found.items())
        for system, found in marks.items()
    )
    svg = _lines(metrics, marks, y_label, zero=zero, name=name)
    return [Panel(title, f"{title}, over labelled {metrics.words.unit}s: {alt}", svg)]


def _lines(metrics: Metrics, marks: _Marks, y_label: str, *, zero: bool, name: str) -> str:
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
            axes.plot(
                xs, values, color=colour, marker="o", markersize=4.5, linewidth=1.8,
                linestyle=key.style, zorder=3 if system != metrics.baseline else 2,
            )  # fmt: skip
            ends.append((key, values[-1]))
        dress(axes, f"labelled {metrics.words.unit}s, |L|", y_label)
        axes.set_xticks([log2(size) for size in sizes], _names(metrics))
        margin = step * (len(marks) / 2 + 1)
        axes.set_xlim(first - margin, last + margin)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
        label_ends(axes, ends)

    return draw((_SIZE[0], max(_SIZE[1], height_of_names(marks))), plot, name)


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
