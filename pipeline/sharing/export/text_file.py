"""Formats that are one text file: a function from a sentence to its text."""

import io
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pipeline.core.claims import Listed
from pipeline.core.tally import Tally
from pipeline.sharing.export.protocol import Format, Item, written


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file that has the text of each sentence.

    Attributes:
        text: of a sentence.
        begins: what such files begin with, one or another, by which an earlier export is known.
        head: what stands before the first sentence.
        trees: as of ``Format``.
        dependencies: as of ``Format``.
        caution: as of ``Format``.
    """

    text: Callable[[Item], str]
    begins: tuple[str, ...]
    head: str = ""
    trees: bool = False
    dependencies: bool = False
    caution: str = ""

    folder = False

    def require_writer(self) -> None:
        """See ``Format``: Python is enough."""

    def earlier(self, out: Path, formats: Iterable[Format]) -> Listed:
        """See ``Format``: an export in any text format."""
        firsts = [
            begin.encode()
            for each in formats
            if isinstance(each, TextFile)
            for begin in each.begins
        ]
        with out.open("rb") as file:
            begin = file.read(max(map(len, firsts)))
        return () if begin.startswith(tuple(firsts)) else None

    def write(self, out: Path, items: Iterable[Item], tally: Tally) -> None:
        """See ``Format``."""
        with out.open("w", encoding="utf-8", newline="\n") as file:
            self._write(file, items, tally)

    def stream(self, items: Iterable[Item], tally: Tally) -> None:
        """Write to standard output, in UTF-8 whatever the terminal's encoding."""
        sys.stdout.flush()
        out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n")
        try:
            self._write(out, items, tally)
        finally:
            out.detach()  # else it would close standard output

    def _write(self, file: TextIO, items: Iterable[Item], tally: Tally) -> None:
        texts = written(items, self.text, tally)
        for first in texts:  # where there is none, nothing is written
            file.write(self.head + first)
            break
        file.writelines(texts)
        file.flush()
