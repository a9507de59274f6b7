"""Output for people: progress with time left, tables, messages; plain lines off a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

# Off a terminal rich would wrap tables at 80 columns, too narrow for a log file.
_out = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
_err = Console(stderr=True, highlight=False)
_EVERY = 10.0  # seconds between two plain lines
_T = TypeVar("_T")


class Meter:
    """A progress display: a rich bar on a terminal, a plain line every ten seconds elsewhere.

    Rich prints only its last state off a terminal, which would leave a log file silent for hours.
    Use as a context manager; call ``advance`` as work is done.

    Args:
        what: name of the work.
        total: how many units of work there are.
        first: how many of them were done before, which do not count for the speed.
    """

    def __init__(self, what: str, total: int, first: int = 0) -> None:
        self._what, self._total = what, total
        self._done = self._first = first
        self._note = ""
        self._begun = self._spoke = time.monotonic()
        self._bar: Progress | None = None
        if _err.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=_err,
            )
            self._task = self._bar.add_task(what, total=total, completed=first, note="")

    def __enter__(self) -> "Meter":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar:
            self._bar.stop()
        elif self._done > self._first:
            self._line()

    def advance(self, count: int = 1, note: str | None = None) -> None:
        """Report ``count`` more units done, with an optional short note (loss, rate)."""
        self.at(self._done + count, note)

    @property
    def rate(self) -> float:
        """Units done per second since the display began."""
        elapsed = time.monotonic() - self._begun
        return (self._done - self._first) / elapsed if elapsed else 0.0

    def at(self, done: int, note: str | None = None) -> None:
        """Report ``done`` units done in all."""
        self._done = done
        self._note = self._note if note is None else note
        if self._bar:
            self._bar.update(self._task, completed=done, note=self._note)
        elif time.monotonic() - self._spoke >= _EVERY and done < self._total:
            self._line()

    def _line(self) -> None:
        now = time.monotonic()
        self._spoke, elapsed, rate = now, now - self._begun, self.rate
        left = (self._total - self._done) / rate if rate else 0.0
        text = f"[{self._what}] {self._done}/{self._total}  {elapsed:.0f} s, {left:.0f} s left"
        print(text + (f"  {self._note}" if self._note else ""), file=sys.stderr, flush=True)


def track(items: Sequence[_T], what: str) -> Iterator[_T]:
    """Iterate over ``items`` under a ``Meter``."""
    with Meter(what, len(items)) as meter:
        for item in items:
            yield item
            meter.advance()


def say(text: str) -> None:
    """Print a line of result to standard output, without markup."""
    _out.print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning to standard error, without markup."""
    _err.print(f"warning: {text}", style="yellow", markup=False, soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to standard output: first column left, the others right."""
    say(title)  # rich would wrap it at the width of the table
    grid = Table(show_edge=False)
    for index, name in enumerate(columns):
        grid.add_column(name, justify="left" if index == 0 else "right")
    for row in rows:
        grid.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    _out.print(grid)
