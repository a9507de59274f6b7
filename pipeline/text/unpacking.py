"""Files that may be packed: opened, read, and unpacked no further than is allowed.

A packed file of a few megabytes may unpack to a thousand times as much, and fill the memory or the disk.
What is read from packed files counts against an ``UnpackingAllowance``, which its reader makes of a setting.
"""

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, cast

from pydantic import Field

from pipeline.core.errors import InputError
from pipeline.core.files import require_regular

DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""What reading packed data raises where it is damaged or ends too early."""

_UNITS = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

Size = Annotated[str, Field(pattern=rf"^[1-9][0-9]{{0,5}} ?({'|'.join(_UNITS)})$")]
"""A number of bytes as an option has it: ``512MiB``, ``4GiB``."""

USUAL = "512MiB"
"""What the files of a treebank may unpack to: GENIA has 24 MiB, the Penn Treebank less than 100."""

_BLOCK = 2**18


def bytes_of(size: str) -> int:
    """The number of bytes that a ``Size`` names."""
    number, unit = re.findall(r"[0-9]+|[A-Za-z]+", size)
    return int(number) * _UNITS[unit]


class UnpackingAllowance:
    """How many bytes packed files may yet unpack to, all of a command's together.

    Args:
        size: at first; it stands in the message.
    """

    def __init__(self, size: str = USUAL) -> None:
        self._size, self._left = size, bytes_of(size)

    def take(self, count: int, path: Path | str) -> None:
        """Count bytes that were unpacked of a file.

        Raises:
            InputError: they are more than was left.
        """
        self._left -= count
        if self._left < 0:
            raise InputError(
                f"packed files unpack to more than {self._size}", path=path,
                remedy="if they are what they should be, allow more by --largest-unpacked",
            )  # fmt: skip


class _Counted(io.RawIOBase):
    """What another stream unpacks, counted."""

    def __init__(self, handle: BinaryIO, allowance: UnpackingAllowance, path: Path) -> None:
        super().__init__()
        self._handle, self._allowance, self._path = handle, allowance, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._handle.read(len(buffer))
        self._allowance.take(len(data), self._path)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """A regular file, open for reading its bytes as they are on the disk.

    Raises:
        InputError: there is no such file, it is a folder or a pipe, or may not be read.
    """
    require_regular(path)
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(path.open("rb"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InputError("no such file", path=path, remedy="check the name") from error
        except IsADirectoryError as error:
            raise InputError("a folder", path=path, remedy="name a file in it") from error
        except PermissionError as error:
            raise InputError("may not be read", path=path, remedy="check the rights") from error
        yield handle


def read_at_most(path: Path, largest: int, *, kind: str, remedy: str) -> bytes:
    """The bytes of a file of bounded size, as they are on the disk.

    Args:
        path: the file.
        largest: the most bytes that it may have, a whole number of MiB.
        kind: what it should be, for the error: ``article``.
        remedy: for the error.

    Raises:
        InputError: as ``opened``, or it has more.
    """
    with opened(path) as handle:
        data = handle.read(largest + 1)
    if len(data) > largest:
        said = f"more than {largest // 2**20} MiB, which no {kind} has"
        raise InputError(said, path=path, remedy=remedy)
    return data


def packing(raw: io.BufferedReader) -> str | None:
    """How a file is packed, by its first bytes: ``gzip``, ``xz`` or not at all."""
    first = raw.peek(6)[:6]
    if first.startswith(b"\x1f\x8b"):
        return "gzip"
    return "xz" if first == b"\xfd7zXZ\x00" else None


def unpacked(
    raw: io.BufferedReader, path: Path, allowance: UnpackingAllowance | None = None
) -> BinaryIO:
    """The stream of a file's content: unpacked if its first bytes are those of gzip or xz.

    Args:
        raw: the file.
        path: its name.
        allowance: what it unpacks is counted against it; None lets a reader that keeps nothing go on.
    """
    kind = packing(raw)
    if kind is None:
        return cast(BinaryIO, raw)
    unpack = gzip.GzipFile(fileobj=raw) if kind == "gzip" else lzma.LZMAFile(raw)  # noqa: SIM115 - the caller's
    handle = cast(BinaryIO, unpack)
    if allowance is None:
        return handle
    return counted(handle, path, allowance)


def counted(handle: BinaryIO, path: Path, allowance: UnpackingAllowance) -> BinaryIO:
    """A stream that unpacks a file, whose bytes are counted against an allowance."""
    return cast(BinaryIO, io.BufferedReader(_Counted(handle, allowance, path), _BLOCK))


def read_whole(path: Path, allowance: UnpackingAllowance | None = None) -> str:
    """The text of a file; a packed one is unpacked only where an allowance is given.

    Raises:
        InputError: as ``read_unpacked``, or it is no text in UTF-8; the line is named.
    """
    return decoded(read_unpacked(path, allowance), path)


def read_unpacked(path: Path, allowance: UnpackingAllowance | None) -> bytes:
    """The bytes of a file; a packed one is unpacked only where an allowance is given.

    Raises:
        InputError: it cannot be opened or is damaged, or unpacks to more than is allowed.
    """
    with opened(path) as raw:
        try:
            return (unpacked(raw, path, allowance) if allowance else raw).read()
        except DAMAGED as error:
            raise InputError(
                f"cannot be read: {error}", path=path, remedy="check the file"
            ) from error


def decoded(data: bytes, path: Path | str, line: int = 1) -> str:
    """The text of bytes that begin on a line of a file, without a byte-order mark if it is the first.

    Raises:
        InputError: they are no text in UTF-8; the line is named.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "not UTF-8 text", path=path, line=line + data.count(b"\n", 0, error.start),
            remedy="convert the file",
        ) from error  # fmt: skip
    if (place := text.find("\0")) >= 0:
        raise InputError(
            "a NUL character, so not UTF-8 text", path=path, line=line + text.count("\n", 0, place),
            remedy="convert the file, if it is UTF-16, or mend it",
        )  # fmt: skip
    return text.removeprefix("\ufeff") if line == 1 else text
