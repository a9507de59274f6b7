"""Charts of figures with their intervals: accuracies, gains over the baseline, both over |L|."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.reporting.drawing import INK, MUTED, Panel, draw, dress, key_of, paint
from pipeline.mechanisms.reporting.results import Metrics, Result
from pipeline.mechanisms.reporting.systems import BASELINE, short_name, system_key

__all__ = ["accuracy_dots", "accuracy_over_sizes", "gain_dots", "gain_over_sizes"]

_WIDTH = 3.9  # inches: on a phone, where it is scaled down, text keeps 11 pixels
_DODGE = (
    0.035  # of the axis between one system's mark and the next's, so that bars do not hide bars
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A figure with its interval, all in per cent or points; ``seeds`` are drawn faintly beside."""

    system: str
    value: float
    low: float
    high: float
    seeds: Sequence[float] = ()


def accuracy_dots(block: Sequence[Result]) -> Panel | None:
    """Overall accuracy of each system at one |L|: mean, standard deviation, and each seed."""
    marks = [mark for result in block if (mark := _accuracy(result))]
    if not marks:
        return None
    alt = "; ".join(f"{short_name(m.system)} {m.value:.1f} %" for m in marks)
    svg = _rows(marks, [r.system for r in block], "{:.1f}", "accuracy, %")
    return Panel("Accuracy, mean ± sd; small: single seeds", f"overall accuracy: {alt}", svg)


def gain_dots(gains: Mapping[str, Comparison]) -> Panel | None:
    """Gain over the baseline of each system at one |L|, with its 95 % interval; 0 is marked."""
    if not gains:
        return None
    found = [_gain(gain) for gain in gains.values()]
    alt = "; ".join(
        f"{short_name(m.system)} {m.value:+.1f} ({m.low:+.1f} to {m.high:+.1f})" for m in found
    )
    # The baseline has a row too, so that the rows of both pictures stand level.
    marks = [_Mark(BASELINE, 0.0, 0.0, 0.0), *found]
    svg = _rows(marks, list(gains), "{:+.1f}", "points", zero=True)
    return Panel("Gain over the baseline, 95 % interval", f"gain over the baseline: {alt}", svg)


def accuracy_over_sizes(metrics: Metrics) -> Panel:
    """Figure 4: overall accuracy over |L|, mean ± sd, one line per system."""
    marks = {
        system: {
            r.labelled: m for r in metrics.results if r.system == system and (m := _accuracy(r))
        }
        for system in _systems(metrics)
    }
    alt = _told(marks, "{:.1f} %")
    svg = _lines(marks, metrics.sizes, "accuracy, %")
    return Panel("Accuracy, mean ± sd", f"overall accuracy over labelled sentences: {alt}", svg)


def gain_over_sizes(metrics: Metrics) -> Panel | None:
    """The gain over the baseline over |L|, with 95 % intervals; None without comparisons."""
    marks = {
        system: {
            size: _gain(gain) for size in metrics.sizes if (gain := metrics.gain(size, system))
        }
        for system in _systems(metrics)
    }
    marks = {system: by_size for system, by_size in marks.items() if by_size}
    if not marks:
        return None
    alt = _told(marks, "{:+.1f}")
    svg = _lines(marks, metrics.sizes, "points over the baseline", zero=True)
    return Panel(
        "Gain over the baseline, 95 % interval", f"gain over labelled sentences: {alt}", svg
    )


def _systems(metrics: Metrics) -> list[str]:
    return sorted({result.system for result in metrics.results}, key=system_key)


def _accuracy(result: Result) -> _Mark | None:
    mean, sd = result.mean["overall"], result.sd["overall"] or 0.0
    if mean is None:
        return None
    seeds = [100 * value for value in result.by_seed.values() if value is not None]
    return _Mark(result.system, 100 * mean, 100 * (mean - sd), 100 * (mean + sd), seeds)


def _gain(gain: Comparison) -> _Mark:
    return _Mark(gain.system, 100 * gain.gain, 100 * gain.low, 100 * gain.high)


def _told(marks: Mapping[str, Mapping[int, _Mark]], form: str) -> str:
    return "; ".join(
        f"{short_name(system)}: "
        + ", ".join(f"{form.format(mark.value)} at {size}" for size, mark in by_size.items())
        for system, by_size in marks.items()
    )


def _rows(
    marks: Sequence[_Mark], systems: Sequence[str], form: str, x_label: str, *, zero: bool = False
) -> str:
    """A row for each mark from the top: its name, dot and interval, and its value at the right."""

    def plot(axes: Axes) -> None:
        if zero:
            axes.axvline(0, color=paint(MUTED), linewidth=1)
        for y, mark in enumerate(marks):
            colour = paint(key_of(mark.system, systems).colour)
            axes.plot([mark.low, mark.high], [y, y], color=colour, linewidth=2.2, clip_on=False)
            axes.plot(
                mark.seeds, [y + 0.27] * len(mark.seeds), "o", color=colour, alpha=0.7,
                markersize=3.2, markeredgewidth=0, clip_on=False,
            )  # fmt: skip
            axes.plot([mark.value], [y], "o", color=colour, markersize=7, clip_on=False)
            axes.text(
                1.03, y, _signed(form, mark.value), color=paint(INK),
                va="center_baseline", transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        dress(axes, x_label, grid="x")
        axes.set_yticks(range(len(marks)), [_label(mark.system) for mark in marks])
        axes.tick_params(axis="y", labelcolor=paint(INK))
        axes.set_ylim(len(marks) - 0.5, -0.5)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))

    return draw((_WIDTH, 0.5 + 0.3 * len(marks)), plot)


def _signed(form: str, value: float) -> str:
    text = form.format(value).replace("-", "−")
    return text if value else text.lstrip("+")


def _label(system: str) -> str:
    return short_name(system).replace(", ", " ")


def _lines(
    marks: Mapping[str, Mapping[int, _Mark]],
    sizes: Sequence[int],
    y_label: str,
    *,
    zero: bool = False,
) -> str:
    """A line for each system over |L| on a logarithmic axis, with an upright bar at each size."""
    first, last = log2(sizes[0]), log2(sizes[-1])
    step = _DODGE * max(last - first, 1.0)

    def plot(axes: Axes) -> None:
        if zero:
            axes.axhline(0, color=paint(MUTED), linewidth=1)
        for number, (system, by_size) in enumerate(marks.items()):
            key = key_of(system, list(marks))
            colour = paint(key.colour)
            shift = step * (number - (len(marks) - 1) / 2)
            xs = [log2(size) + shift for size in by_size]
            for x, mark in zip(xs, by_size.values(), strict=True):
                axes.plot([x, x], [mark.low, mark.high], color=colour, linewidth=1.2, alpha=0.75)
            dash = [float(part) for part in key.dash.split()]
            axes.plot(
                xs, [mark.value for mark in by_size.values()], color=colour, marker="o",
                markersize=5, linewidth=1.8, linestyle=(0, dash) if dash else "-",
                zorder=3 if system != BASELINE else 2,
            )  # fmt: skip
        dress(axes, "labelled sentences, |L|", y_label)
        axes.set_xticks([log2(size) for size in sizes], [str(size) for size in sizes])
        margin = step * (len(marks) / 2 + 1)
        axes.set_xlim(first - margin, last + margin)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))

    return draw((_WIDTH, 2.9), plot)
