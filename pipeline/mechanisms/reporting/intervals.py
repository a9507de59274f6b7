"""Charts of figures with their intervals at one |L|: accuracies, gains, what a variation changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.reporting.drawing import INK, MUTED, Panel, draw, dress, key_of, paint
from pipeline.mechanisms.reporting.results import Result
from pipeline.mechanisms.reporting.systems import BASELINE, beside, short_name

__all__ = ["Mark", "ablation_dots", "accuracy_dots", "accuracy_mark", "gain_dots", "gain_mark"]

_WIDTH = 3.9  # inches: on a phone, where it is scaled down, text keeps 11 pixels


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure with its interval, all in per cent or points; ``seeds`` are drawn faintly beside."""

    system: str
    value: float
    low: float
    high: float
    seeds: Sequence[float] = ()


def accuracy_dots(block: Sequence[Result]) -> Panel | None:
    """Overall accuracy of each system at one |L|: mean, standard deviation, and each seed."""
    marks = [mark for result in block if (mark := accuracy_mark(result))]
    if not marks:
        return None
    alt = "; ".join(f"{short_name(m.system)} {m.value:.1f} %" for m in marks)
    svg = _rows(marks, [r.system for r in block], "{:.1f}", "accuracy, %")
    return Panel("Accuracy, mean ± sd; small: single seeds", f"overall accuracy: {alt}", svg)


def gain_dots(gains: Mapping[str, Comparison]) -> Panel | None:
    """Gain over the baseline of each system at one |L|, with its 95 % interval; 0 is marked."""
    if not gains:
        return None
    found = [gain_mark(gain) for gain in gains.values()]
    alt = "; ".join(
        f"{short_name(m.system)} {m.value:+.1f} ({m.low:+.1f} to {m.high:+.1f})" for m in found
    )
    # The baseline has a row too, so that the rows of both pictures stand level.
    marks = [Mark(BASELINE, 0.0, 0.0, 0.0), *found]
    svg = _rows(marks, list(gains), "{:+.1f}", "points", zero=True)
    return Panel("Gain over the baseline, 95 % interval", f"gain over the baseline: {alt}", svg)


def ablation_dots(gains: Mapping[str, Comparison]) -> Panel | None:
    """What each variation changes against its generator (Table 3), with the 95 % interval."""
    if not gains:
        return None
    marks = [gain_mark(gain) for gain in gains.values()]
    alt = "; ".join(
        f"{short_name(m.system)} {m.value:+.1f} ({m.low:+.1f} to {m.high:+.1f})" for m in marks
    )
    svg = _rows(marks, list(gains), "{:+.1f}", "points", zero=True)
    return Panel(
        "Δ to the full method, 95 % interval", f"difference from the full method: {alt}", svg
    )


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
    marks: Sequence[Mark], systems: Sequence[str], form: str, x_label: str, *, zero: bool = False
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
    return beside(short_name(system))
