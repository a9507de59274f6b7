"""Charts that set two shares side by side: a full dot and an open ring on one line per row."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from pipeline.mechanisms.reporting.drawing import GRID, INK, Panel, draw, dress, paint

__all__ = ["Pair", "dumbbells"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One row: its name and two shares in [0, 1]; None where there is none."""

    name: str
    dot: float | None
    ring: float | None


def dumbbells(title: str, pairs: Sequence[Pair], colour: str, about: tuple[str, str]) -> Panel:
    """A panel of rows from 0 to 100 %.

    Args:
        title: of the panel.
        pairs: the rows, from the top.
        colour: CSS variable of both marks.
        about: what the dot and what the ring stands for, for those who cannot see it.
    """

    def plot(axes: Axes) -> None:
        for y, pair in enumerate(pairs):
            known = [100 * share for share in (pair.dot, pair.ring) if share is not None]
            if len(known) > 1:
                axes.plot(known, [y, y], color=paint(colour), linewidth=1.4, alpha=0.5)
            if pair.ring is not None:
                axes.plot(
                    [100 * pair.ring], [y], "o", markersize=6.5, markeredgewidth=1.6,
                    markerfacecolor=paint("--paper"), markeredgecolor=paint(colour), clip_on=False,
                )  # fmt: skip
            if pair.dot is not None:
                axes.plot(
                    [100 * pair.dot], [y], "o", color=paint(colour), markersize=7, clip_on=False
                )
        dress(axes, "annotations that are right, %", grid="x")
        axes.grid(axis="y", color=paint(GRID), linewidth=0.5)
        axes.set_yticks(range(len(pairs)), [pair.name for pair in pairs])
        axes.tick_params(axis="y", labelcolor=paint(INK))
        axes.set_xlim(-3, 103)  # so that a mark at either end is whole
        axes.set_ylim(len(pairs) - 0.5, -0.5)

    told = "; ".join(
        f"{pair.name} {_told(pair.dot)} {about[0]}, {_told(pair.ring)} {about[1]}" for pair in pairs
    )
    svg = draw((3.6, 0.55 + 0.24 * len(pairs)), plot)
    return Panel(title, f"share of right annotations, {title}: {told}", svg)


def _told(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.0f} %"
