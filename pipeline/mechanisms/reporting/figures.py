"""Small line charts as inline SVG: learning curves and acceptance over time.

One chart is one small panel, so a page can lay panels out in as many columns as it is wide. Colours
are CSS variables of the page (``--muted``, ``--c-bert``, …), so light and dark are the page's business;
bytes depend on the data alone.
"""

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pipeline.ground.coordination import REFERENCE_LABELS
from pipeline.ground.files import digest_of
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import BASELINE, parts_of, system_key, system_name

__all__ = ["Key", "Panel", "acceptance", "acceptance_by_label", "key_of", "learning_curves"]

_MUTED, _GRID = "--muted", "--grid"
_OTHERS = ("--c-1", "--c-2", "--c-3", "--c-4")
_VARIABLES = (_MUTED, _GRID, "--c-baseline", "--c-bert", "--c-t5", *_OTHERS)
_DASHES = {None: "", "no-filter": "6 2", "self-train": "1.5 2"}
_ENOUGH = 100  # candidates of a label seen, below which it has no panel
_BIN = 50  # candidates seen, below which validations are pooled into one point


@dataclass(frozen=True, slots=True)
class Key:
    """How a system is drawn: its name, CSS colour variable and dash pattern ("" is solid)."""

    name: str
    colour: str
    dash: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A small chart: ``title`` and ``alt`` are plain text, ``svg`` is an inline element."""

    title: str
    alt: str
    svg: str


@dataclass(frozen=True, slots=True)
class _Line:
    points: Sequence[tuple[float, float]]
    key: Key
    thin: bool = False


def key_of(system: str, systems: Iterable[str] = ()) -> Key:
    """The key of a system: a colour for each generator, a dash for each variation of Table 3.

    Args:
        system: its name.
        systems: all systems drawn, by which unknown names get colours of their own.
    """
    name = system_name(system)
    if system == BASELINE:
        return Key(name, "--c-baseline", "")
    parts = parts_of(system)
    if parts:
        return Key(name, f"--c-{parts[0]}", _DASHES[parts[1]])
    strange = sorted({s for s in (*systems, system) if s != BASELINE and not parts_of(s)})
    return Key(name, _OTHERS[strange.index(system) % len(_OTHERS)], "")


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
        panels.append(Panel(system_name(system), alt, svg))
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


def _placeholder(variable: str) -> str:
    """A colour that stands for a CSS variable until the SVG is written."""
    return f"#0123{_VARIABLES.index(variable):02x}"


def _draw(
    lines: Sequence[_Line],
    y_label: str,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
    mark: float = 0,
) -> str:
    with rc_context():
        rcdefaults()
        # Text stays text, so it takes the page's font; the salt makes ids a function of the data.
        rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "conjoin", "font.size": 9})
        figure = Figure(figsize=(3.6, 2.3), layout="constrained")
        axes = figure.add_subplot()
        if mark:
            axes.axvline(mark, color=_placeholder(_MUTED), linewidth=0.8, dashes=(2, 2))
        for line in lines:
            _plot(axes, line)
        axes.set_xlim(*x_limits)
        axes.set_ylim(*y_limits)
        _dress(axes, y_label)
        buffer = io.StringIO()
        figure.savefig(
            buffer, format="svg", transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    return _inline(buffer.getvalue())


def _plot(axes: Axes, line: _Line) -> None:
    dash = [float(part) for part in line.key.dash.split()]
    axes.plot(
        [x for x, _ in line.points],
        [y for _, y in line.points],
        color=_placeholder(line.key.colour),
        linewidth=0.8 if line.thin else 1.8,
        alpha=0.45 if line.thin else 1.0,
        linestyle=(0, dash) if dash and not line.thin else "-",
        marker="o" if len(line.points) == 1 else None,
        markersize=4,
        clip_on=False,
    )


def _dress(axes: Axes, y_label: str) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_placeholder(_MUTED))
    axes.grid(axis="y", color=_placeholder(_GRID), linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(color=_placeholder(_MUTED), labelcolor=_placeholder(_MUTED), length=0)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_xlabel("updates", color=_placeholder(_MUTED))
    axes.set_ylabel(y_label, color=_placeholder(_MUTED))


def _inline(svg: str) -> str:
    """The bare ``<svg>`` element with CSS variables for colours and ids of no other picture."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # Ids repeat from picture to picture: those nothing points to go, the others get a prefix.
    own = f"p{digest_of(svg)[:10]}"
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{own}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(|href=")#', rf"\g<1>#{own}", svg)
    svg = re.sub(r"#0123([0-9a-f]{2})", _variable, svg)
    box = re.search(r'viewBox="[^"]+"', svg)
    return re.sub(r"<svg[^>]*>", f'<svg {box[0] if box else ""} aria-hidden="true">', svg, count=1)


def _variable(match: re.Match[str]) -> str:
    return f"var({_VARIABLES[int(match[1], 16)]})"
