"""The members of a .tar archive, read one after the other and never written to the disk.

An archive may come from anybody. So nothing is unpacked but what a reader asks for, links are not
followed, and everything has a limit: the bytes of a member, of its header and of all that is unpacked,
and the number of members.
"""

import bz2
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self, cast

from pipeline.core.errors import InputError
from pipeline.text.unpacking import DAMAGED, Allowance, counted, packing, unpacked

MOST_MEMBERS = 100_000
"""Members of an archive; GENIA's has 2,004."""

_BLOCK = 2**18
_LONGEST_HEADER = 16 * 2**10  # bytes: a header of a long name or of other attributes

_HEADERS = {
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
}
"""Types of what is no member but says more of the next: ``tarfile`` reads it at once."""

_MALFORMED = (
    *DAMAGED,
    tarfile.TarError,
    ValueError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
"""What ``tarfile`` raises of headers that hold nonsense."""


class _Member(tarfile.TarInfo):
    """A member whose header is held against its limits before anything is read for it."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            member = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.strip(b"\0"):  # not the end, for which tarfile would take it
                raise tarfile.ReadError(str(error)) from error
            raise
        if member.size < 0 or (member.type in _HEADERS and member.size > _LONGEST_HEADER):
            raise tarfile.ReadError(f"a header says {member.size} bytes")
        return member


def members(
    raw: io.BufferedReader, path: Path, suffix: str, largest: int, allowance: Allowance
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files whose names end in ``suffix``, in the archive's order.

    Args:
        raw: the archive: a .tar, plain or packed by gzip, bzip2 or xz.
        path: its name.
        suffix: of the names of members; of others only the header is looked at.
        largest: bytes that such a member may have.
        allowance: what the archive may unpack to.

    Raises:
        InputError: the archive is damaged, one of the files is a link or too large, or it has too many
            members, or unpacks to more than is allowed.
    """
    stream = _stream(raw, path, allowance)
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
            for count, member in enumerate(archive, 1):
                archive.members = []  # type: ignore[attr-defined]  # tarfile would keep them all
                if count > MOST_MEMBERS:
                    raise InputError(
                        f"an archive of more than {MOST_MEMBERS:,} members", path=path,
                        remedy="unpack it and name the folder",
                    )  # fmt: skip
                if member.name.endswith(suffix):
                    yield member.name, _content(archive, member, path, largest)
        while stream.read(_BLOCK):
            pass  # at the end stands the checksum
    except _MALFORMED as error:
        raise InputError(
            f"not a readable archive: {error}", path=path, remedy="download it again"
        ) from error


def _stream(raw: io.BufferedReader, path: Path, allowance: Allowance) -> BinaryIO:
    if packing(raw):
        return unpacked(raw, path, allowance)
    if raw.peek(3)[:3] == b"BZh":
        return counted(cast(BinaryIO, bz2.BZ2File(raw)), path, allowance)
    return cast(BinaryIO, raw)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, largest: int) -> bytes:
    place = f"{path}/{member.name}"
    if not member.isreg():
        raise InputError(
            "a member that is a link or no file", path=place, remedy="unpack the archive yourself"
        )
    if member.size > largest:
        raise InputError(
            f"a member of more than {largest // 2**20} MiB", path=place,
            remedy="is it the right archive?",
        )  # fmt: skip
    handle = archive.extractfile(member)
    data = handle.read() if handle else b""
    if len(data) < member.size:
        raise tarfile.ReadError("unexpected end of data")
    return data
