"""``SHA256SUMS``: the checksums of a folder's files, as ``sha256sum`` writes and reads them."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

__all__ = ["CHECKSUMS", "SumLine", "read_sums"]

CHECKSUMS = "SHA256SUMS"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


@dataclass(frozen=True, slots=True)
class SumLine:
    """A line of checksums.

    Attributes:
        number: of the line, from 1.
        text: as it stands there.
        name: of the file, relative to the folder; None if the line cannot be read or leads out of it.
        sha256: hex digest in lower case; empty where there is no name.
    """

    number: int
    text: str
    name: str | None
    sha256: str


def read_sums(path: Path) -> list[SumLine]:
    """The lines of a file of checksums; raises OSError as reading does."""
    text = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    return [_line(number, line) for number, line in enumerate(text.split("\n"), 1)] if text else []


def _line(number: int, text: str) -> SumLine:
    found = _LINE.fullmatch(text)
    if not found or _leads_away(found[2]):
        return SumLine(number, text, None, "")
    return SumLine(number, text, found[2].removeprefix("./"), found[1].lower())


def _leads_away(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts
