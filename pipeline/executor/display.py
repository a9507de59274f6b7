"""One progress display for all workers: rates, rejects, time left, and who is alive."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_err = Console(stderr=True, highlight=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run at one moment.

    Attributes:
        done: items done of the whole plan, earlier runs included.
        items: items done in this run.
        tokens: tokens read for them, in both twins, 0 if nobody counts.
        kept: rows kept in this run's finished units.
        refused: rows refused in them.
        silent: for each worker, how long nothing has been heard of it, in seconds, if that is too
            long, else None.
    """

    done: int
    items: int
    tokens: int
    kept: int
    refused: int
    silent: Sequence[float | None]


class Dashboard:
    """A live display on a terminal, a plain line every ``every`` seconds elsewhere.

    Rates and the time left come from what was done in this run, whatever an earlier one left.
    """

    def __init__(self, what: str, noun: str, total: int, every: float = 10.0) -> None:
        self._what, self._noun, self._total, self._every = what, noun, total, every
        self._begun = self._spoke = time.monotonic()
        self._last: Progress | None = None
        self._live = (
            Live(console=_err, auto_refresh=False, transient=True) if _err.is_terminal else None
        )

    def __enter__(self) -> "Dashboard":
        self._begun = self._spoke = time.monotonic()
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()
        if self._last and self._last.items:
            self._print(self._last)

    @property
    def seconds(self) -> float:
        """Time since the display was opened."""
        return time.monotonic() - self._begun

    def show(self, progress: Progress) -> None:
        """Display the state of the run, if it is time to."""
        self._last = progress
        if self._live:
            self._live.update(self._panel(progress), refresh=True)
        elif time.monotonic() - self._spoke >= self._every:
            self._print(progress)

    def line(self, progress: Progress) -> str:
        """The progress in one line of text."""
        return f"{min(progress.done, self._total)}/{self._total} {self._noun}  " + "  ".join(
            [*self._rates(progress), f"workers {self._health(progress)}"]
        )

    def _print(self, progress: Progress) -> None:
        self._spoke = time.monotonic()
        print(f"[{self._what}] {self.line(progress)}", file=sys.stderr, flush=True)

    def _rates(self, progress: Progress) -> list[str]:
        seconds = max(self.seconds, 1e-6)
        parts = [f"{_short(progress.items / seconds)} {self._noun}/s"]
        if progress.tokens:
            parts.append(f"{_short(progress.tokens / seconds)} tokens/s")
        if rows := progress.kept + progress.refused:
            parts.append(f"rejected {100 * progress.refused / rows:.0f} %")
        if progress.items:
            left = max(0, self._total - progress.done) * seconds / progress.items
            parts.append(f"{_duration(left)} left")
        return parts

    def _health(self, progress: Progress) -> str:
        alive = sum(each is None for each in progress.silent)
        lost = [f"{r} lost {s:.0f} s" for r, s in enumerate(progress.silent) if s is not None]
        return f"{alive}/{len(progress.silent)}" + (f" ({', '.join(lost)})" if lost else "")

    def _panel(self, progress: Progress) -> Table:
        grid = Table.grid(padding=(0, 1))
        done = min(progress.done, self._total)
        grid.add_row(
            self._what,
            ProgressBar(total=max(self._total, 1), completed=done, width=30),
            f"{done:,}/{self._total:,} {self._noun}",
        )
        marks = Text("  ").join(
            Text(f"{rank} ✓", "green")
            if silent is None
            else Text(f"{rank} lost {silent:.0f} s", "red")
            for rank, silent in enumerate(progress.silent)
        )
        grid.add_row("", "  ".join(self._rates(progress)), Text("workers ") + marks)
        return grid


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
