"""Output for people: progress with time left, tables, messages; plain lines off a terminal.

What is printed holds names and labels of corpora that anybody may have made. So nothing in it is markup,
and what would steer the terminal is shown instead (``plain``).
"""

import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Literal, TypeVar

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


class _Spoken(Console):
    """A console that goes on when nobody reads it any more: what is said is not what a command makes."""

    def on_broken_pipe(self) -> None:
        """Say no more; rich would end the process here, before anything is written."""
        self.quiet = True
        forsake(self.file)


def forsake(stream: IO[str]) -> None:
    """Let what is written to a stream that nobody reads go nowhere, and what is in its buffer."""
    with suppress(OSError, ValueError):  # no file behind it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


# Off a terminal rich would wrap tables at 80 columns, too narrow for a log file. Who uses conjoin from
# Python may have no standard output at all.
_on_terminal = sys.stdout is not None and sys.stdout.isatty()
_out = _Spoken(highlight=False, markup=False, emoji=False, width=None if _on_terminal else 120)
_err = _Spoken(stderr=True, highlight=False, markup=False, emoji=False)
_EVERY = 10.0  # seconds between two plain lines
# Of a process that is forked while a thread speaks, the copy would wait for ever to speak itself.
_speaking = threading.Lock()
os.register_at_fork(
    before=_speaking.acquire,
    after_in_parent=_speaking.release,
    after_in_child=_speaking.release,
)
_T = TypeVar("_T")

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line feed, marks that turn the direction of writing, line ends of
Unicode, and halves of characters, which a file name that is not UTF-8 is read as and no terminal takes."""


def plain(text: str) -> str:
    """Text in which nothing steers a terminal: an escape character is shown as backslash, x, 1b."""
    return _STEERING.sub(lambda found: ascii(found[0])[1:-1], text)


def plain_json(text: str) -> str:
    """The same of JSON, which stays JSON and says what it said."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """The same on one line: a line feed is shown as well."""
    return plain(text).replace("\n", "\\n").replace("\t", "\\t")


def shell_line(words: Iterable[str]) -> str:
    r"""A command line to copy: a word that would steer the terminal is quoted as ``$'\x1b'``."""
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if not _STEERING.search(word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{_STEERING.sub(_in_shell, escaped)}'"


def _in_shell(found: re.Match[str]) -> str:
    """The escape of a character; half a character stands for a byte of a file name."""
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"


class Meter:
    """A progress display: a rich bar on a terminal, a plain line every ten seconds elsewhere.

    Rich prints only its last state off a terminal, which would leave a log file silent for hours. The lines
    come whether or not a unit of work is done meanwhile: one may take minutes.
    Use as a context manager; call ``advance`` as work is done.

    Args:
        what: name of the work.
        total: how many units of work there are.
        first: how many of them were done before, which do not count for the speed.
    """

    def __init__(self, what: str, total: int, first: int = 0) -> None:
        self._what, self._total = one_line(what), total
        self._done = self._first = first
        self._note = ""
        self._begun = self._spoke = time.monotonic()
        self._moved: float | None = None  # when the first of it was done
        self._last = self._begun  # when the last was
        self._ended = threading.Event()
        self._speaker: threading.Thread | None = None
        self._bar: Progress | None = None
        if _err.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=_err,
            )
            self._task = self._bar.add_task(self._what, total=total, completed=first, note="")

    def __enter__(self) -> "Meter":
        _RUNNING.append(self)
        if self._bar:
            self._bar.start()
        else:
            self._speaker = threading.Thread(target=self._speak, daemon=True)
            self._speaker.start()
        return self

    def _speak(self) -> None:
        while not self._ended.wait(max(0.1, self._spoke + _EVERY - time.monotonic())):
            with _speaking:
                if time.monotonic() - self._spoke >= _EVERY and not self._ended.is_set():
                    self._line()

    def __exit__(self, *exc: object) -> None:
        if self not in _RUNNING:
            return
        _RUNNING.remove(self)
        self._ended.set()
        if self._speaker:
            self._speaker.join()
        if self._bar:
            self._bar.stop()
        elif self._done > self._first:
            self._line()

    def advance(self, count: int = 1, note: str | None = None) -> None:
        """Report ``count`` more units done, with an optional short note (loss, rate)."""
        self.at(self._done + count, note)

    def note(self, text: str) -> None:
        """Report what goes on before another unit of work is done."""
        self.at(self._done, text)

    @property
    def rate(self) -> float:
        """Units done per second since the display began."""
        elapsed = time.monotonic() - self._begun
        return (self._done - self._first) / elapsed if elapsed else 0.0

    def amounts(self) -> tuple[int, int]:
        """Units done since the display began, and those that are still to be done."""
        return self._done - self._first, self._total - self._done

    def left(self) -> float | None:
        """Seconds that the rest will take; None where nothing is done yet.

        Work that comes in batches is done when a batch is: until the next one the forecast is that of the
        last less the time since, which else would count for no work.
        """
        if self._moved is None:
            return None
        spent, (done, still) = self._last - self._begun, self.amounts()
        rest = still * spent / done
        return abs(rest - (time.monotonic() - self._last))  # overdue, it has been so long

    def finish(self) -> None:
        """Report all units done, also those that turned out to be no work."""
        self.at(self._total)

    def at(self, done: int, note: str | None = None) -> None:
        """Report ``done`` units done in all."""
        if done > self._done:
            self._last = time.monotonic()
            if self._moved is None:
                self._moved = self._last
        self._done = done
        self._note = self._note if note is None else one_line(note)
        if self._bar:
            self._bar.update(self._task, completed=done, note=self._note)
        elif time.monotonic() - self._spoke >= _EVERY and done < self._total:
            self._line()

    def _line(self) -> None:
        now = time.monotonic()
        self._spoke, elapsed = now, now - self._begun
        text = f"[{self._what}] {self._done}/{self._total}  {elapsed:.0f} s"
        # The first of many that come at once say nothing of the speed.
        if self._done == self._total:
            text += ", 0 s left"
        elif self._moved is not None and now - self._moved >= _EVERY / 2:
            text += f", {self.left():.0f} s left"
        tell(text + (f"  {self._note}" if self._note else ""))


_RUNNING: list[Meter] = []


def end_meters() -> None:
    """End all displays of progress: those of generators would outlive the error that ends a command."""
    while _RUNNING:
        _RUNNING[-1].__exit__()


def track(items: Sequence[_T], what: str) -> Iterator[_T]:
    """Iterate over ``items`` under a ``Meter``."""
    with Meter(what, len(items)) as meter:
        for item in items:
            yield item
            meter.advance()


@contextmanager
def in_one_piece(what: str) -> Iterator[None]:
    """Show that work without parts goes on: a bar on a terminal, elsewhere a line if it takes long."""
    with Meter(what, 1) as meter:
        yield
        if _err.is_terminal:
            meter.finish()


def unread() -> bool:
    """Whether somebody stopped reading, so that something said here has reached nobody."""
    return _out.quiet or _err.quiet


def say(text: str) -> None:
    """Print a line of result to standard output."""
    _out.print(plain(text), soft_wrap=True)


def tell(text: str) -> None:
    """Print a line about the work or its result to standard error."""
    _err.print(plain(text), soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    _err.print(f"warning: {plain(text)}", style="yellow", soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to standard output: first column left, the others right."""
    say(title)  # rich would wrap it at the width of the table
    grid = Table(show_edge=False)
    for index, name in enumerate(columns):
        # Where the terminal is narrow, names go on in the next line: cut, two could look alike.
        justify: Literal["left", "right"] = "left" if index == 0 else "right"
        grid.add_column(one_line(name), justify=justify, overflow="fold")
    for row in rows:
        grid.add_row(*map(_cell, row))
    _out.print(grid)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else one_line(str(value))
