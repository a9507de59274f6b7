"""The progress display of all workers together: rates, rejects, time left, and which workers live."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.core.console import Meter, tell


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


class Dashboard(Meter):
    """A meter of items that several workers do; rates are of this run, whatever an earlier one did.

    Args:
        what: name of the work.
        noun: what the items are called.
        total: how many there are.
        first: how many of them earlier runs did.
        tokens: those that this run will read, by which it is told how long the rest takes; None: by items.
    """

    def __init__(
        self, what: str, noun: str, total: int, first: int = 0, tokens: int | None = None
    ) -> None:
        super().__init__(what, total, first=first)
        self._noun, self._tokens = noun, tokens
        self._shown: Progress | None = None

    def __enter__(self) -> "Dashboard":
        self._begun = self._spoke = self._last = time.monotonic()
        super().__enter__()
        return self

    @property
    def seconds(self) -> float:
        """Time since the display was opened."""
        return time.monotonic() - self._begun

    def amounts(self) -> tuple[int, int]:
        """Of the work that takes time, what is done in this run, and the rest."""
        read = self._shown.tokens if self._shown else 0
        if self._tokens is None or not read:
            return super().amounts()
        return read, max(self._tokens - read, 0)

    def show(self, progress: Progress) -> None:
        """Display the state of the run, if it is time to."""
        self._shown = progress
        done = min(progress.done, self._total)
        self.at(done)  # by which what is left is known
        self.at(done, self._rates(progress))

    def line(self, progress: Progress) -> str:
        """The state of the run in one line of text."""
        done = min(progress.done, self._total)
        return f"{done}/{self._total} {self._noun}  {self._rates(progress)}"

    def _line(self) -> None:
        self._spoke = time.monotonic()
        if self._shown:
            tell(f"[{self._what}] {self.line(self._shown)}")

    def _rates(self, progress: Progress) -> str:
        seconds = max(self.seconds, 1e-6)
        parts = [f"{_short(progress.items / seconds)} {self._noun}/s"]
        if progress.tokens:
            parts.append(f"{_short(progress.tokens / seconds)} tokens/s")
        if rows := progress.kept + progress.refused:
            parts.append(f"rejected {100 * progress.refused / rows:.0f} %")
        if (left := self.left()) is not None:
            parts.append(f"{_duration(left)} left")
        lost = [f"{r} lost {s:.0f} s" for r, s in enumerate(progress.silent) if s is not None]
        workers = f"workers {len(progress.silent) - len(lost)}/{len(progress.silent)}"
        parts.append(f"{workers} ({', '.join(lost)})" if lost else workers)
        return "  ".join(parts)


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
