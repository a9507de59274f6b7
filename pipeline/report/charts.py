"""How the report draws: matplotlib to inline SVG whose colours are CSS variables of the page.

One chart is one small panel, so a page can lay panels out in as many columns as it is wide, and the
page chooses between light and dark. The bytes depend on the data alone.
"""

import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pipeline.core.files import digest_of
from pipeline.core.runs import System
from pipeline.report.results import baseline_of, is_papers, label_name

INK, MUTED, GRID = "--ink", "--muted", "--grid"
_OTHERS = ("--c-1", "--c-2", "--c-3", "--c-4", "--c-5")
PALETTE = {
    "--paper": ("#fdfdfb", "#14171a"),
    INK: ("#1d2126", "#e6e8e9"),
    MUTED: ("#5b636d", "#a0a8b0"),
    GRID: ("#dfe1e0", "#31373d"),
    "--c-baseline": ("#7a828c", "#98a1ab"),
    "--c-bert": ("#1f6fc4", "#62a8f2"),
    "--c-t5": ("#c8500f", "#f5894a"),
    "--c-1": ("#23815a", "#4fbd8d"),
    "--c-2": ("#8a4bc0", "#bd8cec"),
    "--c-3": ("#97700a", "#d3a838"),
    "--c-4": ("#bb3a72", "#ee7aa9"),
    "--c-5": ("#0b7f8a", "#43bccb"),
}
"""CSS variable → its colour on a light and on a dark page."""

_VARIABLES = tuple(PALETTE)
_DASHES = {None: "", "no-filter": "6 2", "self-train": "1.5 2"}


@dataclass(frozen=True, slots=True)
class Key:
    """How a system is drawn: its name, CSS colour variable and dash pattern ("" is solid)."""

    name: str
    colour: str
    dash: str = ""

    @property
    def style(self) -> str | tuple[float, list[float]]:
        """The line style as matplotlib takes it."""
        return (0, [float(part) for part in self.dash.split()]) if self.dash else "-"


@dataclass(frozen=True, slots=True)
class Panel:
    """A small chart: ``title`` and ``alt`` are plain text, ``svg`` is an inline element."""

    title: str
    alt: str
    svg: str


def key_of(system: System, systems: Iterable[System] = ()) -> Key:
    """The key of a system: a colour for each generator, a dash for each variation of Table 3.

    Args:
        system: the system.
        systems: all systems drawn, by which those that the paper lacks get colours of their own.
    """
    every = {*systems, system}
    dash = _DASHES.get(system.variation, "4 1.5 1.5 1.5") if system.generator else ""
    if system == (baseline := baseline_of(every)):
        colour = "--c-baseline"
    elif is_papers(system):
        colour = f"--c-{str(system.generator).lower()}"
    else:
        groups: dict[object, str] = {}  # what has one colour → the first name of it
        for other in sorted(every):
            if other != baseline and not is_papers(other):
                groups.setdefault(_coloured(other), other)
        colour = _OTHERS[list(groups).index(_coloured(system)) % len(_OTHERS)]
    return Key(label_name(system), colour, dash)


def _coloured(system: System) -> object:
    """By what a system that the paper lacks has its colour: its generator, for the rows of Table 3."""
    rows = system.generator and system.variation in _DASHES
    return (system.generator, system.caption) if rows else system


def paint(variable: str) -> str:
    """A colour that stands for a CSS variable until the SVG is written."""
    return f"#0123{_VARIABLES.index(variable):02x}"


def draw(size: tuple[float, float], plot: Callable[[Axes], None], name: str = "") -> str:
    """An inline SVG element of what ``plot`` draws; ``size`` is width and height in inches.

    A ``name`` keeps the ids of two pictures of one page apart even where they show the same.
    """
    with rc_context():
        rcdefaults()
        # Text stays text, so it takes the page's font; the salt makes ids a function of the data.
        rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "conjoin", "font.size": 9})
        rcParams["text.parse_math"] = False  # a system's name may hold dollar signs
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(
            buffer, format="svg", transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    return _inline(buffer.getvalue(), name)


def dress(axes: Axes, x_label: str, y_label: str = "", grid: str = "y") -> None:
    """Take away what is not data: no frame but the bottom line, grey labels, a faint grid."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(paint(MUTED))
    axes.grid(axis="x" if grid == "x" else "y", color=paint(GRID), linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(color=paint(MUTED), labelcolor=paint(MUTED), length=0)
    axes.set_xlabel(x_label, color=paint(MUTED))
    axes.set_ylabel(y_label, color=paint(MUTED))


_BELOW, _NAME, _MORE = 0.6, 0.17, 0.14  # inches below the axes, of a name, and of its further lines


def height_of_names(systems: Iterable[System]) -> float:
    """Inches that a chart needs for names at the ends of its lines."""
    lines = [in_lines(label_name(system)).count("\n") for system in systems]
    return _BELOW + _NAME * len(lines) + _MORE * sum(lines)


def in_lines(name: str) -> str:
    """A name beside a chart, in lines short enough to leave the axes more than half of the width."""
    for sign in ("by τ", "− ", "∗ "):  # none stands at the end or the beginning of a line alone
        name = name.replace(sign, sign.replace(" ", "\N{NO-BREAK SPACE}"))
    return fill(name, 24)


def label_ends(axes: Axes, ends: Sequence[tuple[Key, float]]) -> None:
    """Each line's name at the right of the axes, level with its end, in its colour.

    Call it when the limits stand. Names of lines that end together are set below one another.
    """
    ordered = sorted(ends, key=lambda end: end[1])
    names = [in_lines(key.name) for key, _ in ordered]
    low, high = axes.get_ylim()
    height = axes.figure.bbox.height / axes.figure.dpi - _BELOW
    heights = [(_NAME + _MORE * name.count("\n")) / height for name in names]
    places = spread([(value - low) / (high - low) for _, value in ordered], heights)
    for (key, _), name, place in zip(ordered, names, places, strict=True):
        axes.text(
            1.02, place, name, color=paint(key.colour), fontsize=8,
            va="center" if "\n" in name else "center_baseline", transform=axes.transAxes,
        )  # fmt: skip


def spread(places: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Ascending places moved as little as it takes for what is so high, around each, not to overlap.

    All of it lies between 0 and 1, if it is no higher than that.
    """
    middles = [height / 2 + sum(heights[:number]) for number, height in enumerate(heights)]
    groups: list[list[float]] = []  # of neighbours that push each other: [sum of moves, count]
    for place, middle in zip(places, middles, strict=True):
        groups.append([place - middle, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    moves = [total / count for total, count in groups for _ in range(int(count))]
    room = max(0.0, 1 - sum(heights))
    moves = [min(max(move, 0.0), room) for move in moves]
    return [middle + move for middle, move in zip(middles, moves, strict=True)]


def _inline(svg: str, name: str) -> str:
    """The bare ``<svg>`` element with CSS variables for colours and ids of no other picture."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # Ids repeat from picture to picture: those nothing points to go, the others get a prefix.
    own = f"p{digest_of(name + svg)[:10]}"
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{own}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(|href=")#', rf"\g<1>#{own}", svg)
    svg = re.sub(r"#0123([0-9a-f]{2})", _variable, svg)
    box = re.search(r'viewBox="[^"]+"', svg)
    return re.sub(r"<svg[^>]*>", f'<svg {box[0] if box else ""} aria-hidden="true">', svg, count=1)


def _variable(match: re.Match[str]) -> str:
    return f"var({_VARIABLES[int(match[1], 16)]})"


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
) -> str:
    """An inline SVG of lines over updates.

    Args:
        lines: what to draw.
        y_label: of the upright axis.
        x_limits: updates, from and to.
        y_limits: values, from and to.
        name: of the picture, which no other of the page has.
        mark: number of updates at which a dashed upright stands; 0 for none.
        named: whether the lines' names stand at their ends.
    """

    def plot(axes: Axes) -> None:
        if mark:
            axes.axvline(mark, color=paint(MUTED), linewidth=0.8, dashes=(2, 2))
        for line in lines:
            axes.plot(
                *zip(*line.points, strict=True), color=paint(line.key.colour),
                linewidth=0.8 if line.thin else 1.8, alpha=0.45 if line.thin else 1.0,
                linestyle="-" if line.thin else line.key.style,
                marker="o" if len(line.points) == 1 else None, markersize=4, clip_on=False,
            )  # fmt: skip
        axes.set_xlim(*x_limits)
        axes.set_ylim(*y_limits)
        dress(axes, "updates", y_label)
        whole = y_limits[1] - y_limits[0] >= 4
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 2.5, 5, 10]))
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
