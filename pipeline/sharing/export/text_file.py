"""Formats that are one text file: a function from a sentence to its text."""

import io
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pipeline.core.errors import InputError
from pipeline.core.files import atomic
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
        caution: as of ``Format``.
    """

    text: Callable[[Item], str]
    begins: tuple[str, ...]
    head: str = ""
    trees: bool = False
    caution: str = ""

    opened = staticmethod(atomic)

    def check(self, out: Path, formats: Iterable[Format]) -> None:
        """See ``Format``: no folder, and no file but an empty one or an export in any text format."""
        if out.is_dir():
            raise InputError("this is a folder", path=out, remedy="name a file in it")
        if out.exists() and not _is_text_export(out, formats):
            raise InputError(
                "this file is no earlier export", path=out,
                remedy="choose another --out, or remove it yourself",
            )  # fmt: skip

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


def _is_text_export(path: Path, formats: Iterable[Format]) -> bool:
    if not path.is_file():  # a pipe, a device
        return False
    firsts = [
        begin.encode() for each in formats if isinstance(each, TextFile) for begin in each.begins
    ]
    with path.open("rb") as file:
        begin = file.read(max(map(len, firsts)))
    return not begin or begin.startswith(tuple(firsts))
