"""The file of decisions while a person decides: what is said to be saved is on the disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from pipeline.core.console import warn
from pipeline.core.decisions import FIRST, Decided, Event, line_of, read_decided
from pipeline.core.files import flush, folder_lock, writing
from pipeline.text.unpacking import decoded, read_whole


class Saved:
    """What is decided, and the file that says so.

    Args:
        path: of the file, which nobody else writes to.
        handle: the same, open for reading and writing.

    Attributes:
        path: as given.
        decided: what stands.

    Raises:
        InputError: a line is none of such a file.
    """

    def __init__(self, path: Path, handle: BinaryIO) -> None:
        self.path, self._handle = path, handle
        self._one_at_a_time = Lock()
        data = handle.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            # The process was killed while it wrote: nobody was told that this was saved.
            warn(f"the last line of {path} was cut off, and is taken out")
            handle.truncate(whole)
        self._size = whole
        lines = decoded(data[:whole], path).split("\n")[:-1]
        self.decided: Decided = read_decided(enumerate(lines, 1), path)

    def add(self, event: Event) -> Decided:
        """Write an event down, and what stands then.

        Raises:
            InputError: it cannot follow, or the disk is full or fails: then nothing has changed.
        """
        with self._one_at_a_time:
            decided = self.decided.after(event)
            line = line_of(event).encode()
            try:
                with writing(self.path):
                    self._handle.seek(self._size)
                    self._handle.write(line)
                    self._handle.flush()
                    os.fsync(self._handle.fileno())
            except BaseException:
                with suppress(OSError):
                    self._handle.truncate(self._size)
                raise
            self._size += len(line)
            self.decided = decided
            return decided


@contextmanager
def saved(path: Path) -> Iterator[Saved]:
    """The decisions of a file, which is made if need be, while no other process writes to it.

    Raises:
        InputError: another does, or it cannot be written or read.
    """
    with folder_lock(path.parent, path.name, shown=path), path.open("r+b") as handle:
        flush(path.parent)
        yield Saved(path, handle)


def is_saved(path: Path) -> bool:
    """Whether a file begins as one of decisions does.

    Raises:
        InputError: it cannot be read.
    """
    return path.is_file() and read_whole(path).startswith(FIRST)
