"""Lines of a file or of standard input, read one at a time and unpacked; sentences as given."""

import io
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from pipeline.core.errors import InputError
from pipeline.text.unpacking import DAMAGED, UnpackingAllowance, decoded, opened, unpacked

_LONGEST = 1 << 20  # bytes: what has no line ends must not be read whole
_NAMED = 100  # characters of a sentence's name in a message
_MARK = "\ufeff"
_EMPTY = re.compile(rb"(?:\r*+\n)*+")
_KNP = re.compile(r"[*+] (\d+ )?(-?\d+[DPIA]|-)( [<\d].*)?")


COLUMNS = "words or columns on lines of their own, where sentences are due"


def is_of_columns(line: str) -> bool:
    """Whether a line is one of a table parted by tabs, or begins a phrase of KNP or CaboCha."""
    return "\t" in line.strip() or begins_phrase(line)


def begins_phrase(line: str) -> bool:
    """Whether a line stands before the words of a phrase: KNP's ``* 3D``, CaboCha's ``* 0 3D 0/1``."""
    return _KNP.fullmatch(line.rstrip()) is not None


@dataclass(frozen=True, slots=True)
class GivenSentence:
    """A sentence as it was given.

    ``line`` is the 1-based line it begins on, ``name`` its ``sent_id`` if it has one, ``rows`` the
    lines of its CoNLL-U form, if that is what it came in. ``words`` is empty of a tree without any.
    """

    words: tuple[str, ...]
    line: int
    name: str | None = None
    rows: tuple[str, ...] = ()


class NumberedLines(Iterator[tuple[int, str]]):
    """Iterator over ``(number, line)``, numbers from 1, lines without their end.

    Of empty lines that follow one another the first is handed out, and ``skipped`` counts the others: a
    file may have millions.

    Args:
        name: the file's name in messages.
        handle: where the bytes come from.
        raw: the file on the disk, whose position tells how far reading is; packed or the same.
        longest: bytes that a line may have.
    """

    def __init__(self, name: str, handle: BinaryIO, raw: BinaryIO, longest: int = _LONGEST) -> None:
        self.name, self._longest = name, longest
        self._handle, self._raw = handle, raw
        self._ahead: deque[str] = deque()
        self._number = 0
        self._after_empty = False
        self.skipped = 0

    def __next__(self) -> tuple[int, str]:
        r"""The next line; only "\n" or "\r\n" ends one, other separators occur inside sentences.

        Raises:
            InputError: not UTF-8, longer than is allowed, or packed data that is damaged.
        """
        line = self._next()
        while self._after_empty and not line:
            self.skipped += 1
            self._skip()
            line = self._next()
        self._after_empty = not line
        return self._number, line

    def _next(self) -> str:
        line = self._ahead.popleft() if self._ahead else self._read(self._number + 1)
        if line is None:
            raise StopIteration
        self._number += 1
        return line

    def _skip(self) -> None:
        """Pass over the empty lines that the buffer has next, without making text of each."""
        if self._ahead or self.interactive:
            return
        handle = cast(io.BufferedReader, self._handle)  # what unpacks has a peek as well
        try:
            while length := _empty(handle.peek(1)):
                count = handle.read(length).count(b"\n")
                self._number += count
                self.skipped += count
        except DAMAGED as error:
            raise self._damaged(self._number + 1, error) from error

    def peek(self) -> Iterator[str]:
        """Yield lines ahead without consuming them; to be called once, before any line is read.

        It ends when they are as long as one line may be: they are kept in memory.
        """
        length = 0
        while length < self._longest:
            line = self._read(self._number + len(self._ahead) + 1)
            if line is None:
                return
            length += len(line) + 1
            self._ahead.append(line)
            yield line

    def problem(
        self, what: str, remedy: str, sentence_id: str | None = None, line: int | None = None
    ) -> InputError:
        """An error at a line, the one handed out last if none is given; of a sentence if it is named."""
        named = sentence_id and sentence_id[:_NAMED]  # it may be as long as a sentence
        at = line or self._number
        return InputError(what, path=self.name, line=at, sentence_id=named, remedy=remedy)

    def _damaged(self, number: int, error: BaseException) -> InputError:
        return self.problem(f"cannot be read: {error}", "check the file", line=number)

    def _read(self, number: int) -> str | None:
        try:
            line = self._handle.readline(self._longest)
        except DAMAGED as error:
            raise self._damaged(number, error) from error
        if not line:
            return None
        if len(line) == self._longest and not line.endswith(b"\n"):
            raise self.problem(
                f"a line of more than {self._longest:,} bytes",
                "break it into sentences",
                line=number,
            )
        text = decoded(line, self.name, number)
        return text.removeprefix(_MARK if number == 1 else "").rstrip("\r\n")

    @property
    def interactive(self) -> bool:
        """Whether the lines are typed at a terminal."""
        return self._raw.isatty()

    @property
    def size(self) -> int | None:
        """Bytes of the file on the disk; None where that is not known, as of a pipe."""
        try:
            status = os.fstat(self._raw.fileno())
        except (OSError, io.UnsupportedOperation):
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def position(self) -> int:
        """How many of ``size`` bytes have been read."""
        return self._raw.tell()


def _empty(data: bytes) -> int:
    """How many bytes empty lines take at the beginning of data."""
    found = _EMPTY.match(data)
    return found.end() if found else 0


@contextmanager
def open_lines(
    path: Path, longest: int = _LONGEST, allowance: UnpackingAllowance | None = None
) -> Iterator[NumberedLines]:
    """Open a file, or with ``-`` standard input; its first bytes tell whether it is packed.

    A line may have ``longest`` bytes, which bounds the memory that reading takes; what a packed file
    unpacks to is counted against the ``allowance``, if there is one.

    Raises:
        InputError: there is no such file, or it is a folder or a pipe, or may not be read; standard input
            is closed.
    """
    typed = str(path) == "-"
    name = "standard input" if typed else str(path)
    given: AbstractContextManager[io.BufferedReader] = opened(path)
    if typed and sys.stdin is None:
        raise InputError("closed", path=name, remedy="name a file, or send one to it")
    if typed:
        given = nullcontext(cast(io.BufferedReader, sys.stdin.buffer))
    elif path.parent == Path("/dev/fd"):  # a shell's <(command), a pipe that somebody writes to
        given = path.open("rb")
    with given as raw:
        yield NumberedLines(name, unpacked(raw, path, allowance), cast(BinaryIO, raw), longest)
