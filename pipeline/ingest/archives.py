"""The members of a .tar or .zip archive, read one after the other and never written to the disk.

An archive may come from anybody. So nothing is unpacked but what a reader asks for, links are not
followed, and everything has a limit: the bytes of a member, of its header and of all that is unpacked,
and the number of members.
"""

import bz2
import io
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Self, cast

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular, utf8_name
from pipeline.text.unpacking import (
    DAMAGED,
    UnpackingAllowance,
    counted,
    opened,
    packing,
    read_at_most,
    unpacked,
)

ARCHIVE = re.compile(r"\.(zip|t(ar|gz|bz2?|xz)|tar\.(gz|bz2|xz))$", re.IGNORECASE)
"""How the name of an archive ends."""

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


def is_archive(path: Path) -> bool:
    """Whether a file's name, or its first bytes, are those of an archive."""
    if ARCHIVE.search(path.name):
        return True
    with opened(path) as raw:
        first = raw.peek(512)[:512]
    return first[:4] == b"PK\x03\x04" or first[257:262] == b"ustar"


def files_in_archive(
    path: Path, largest: int, allowance: UnpackingAllowance
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of all files of an archive in its order, with progress shown.

    Args:
        path: the archive, .tar, plain or packed, or .zip.
        largest: bytes that a file may have.
        allowance: what the archive may unpack to.

    Raises:
        InputError: as of ``members`` and ``zip_members``.
    """
    with opened(path) as raw, Meter("ingest (bytes)", path.stat().st_size) as meter:
        zipped = raw.peek(4)[:4] == b"PK\x03\x04"
        inside = (
            zip_members(raw, path, largest, allowance)
            if zipped
            else members(raw, path, "", largest, allowance)
        )
        for name, data in inside:
            yield str(PurePosixPath(name)), data
            meter.at(raw.tell())


def members(
    raw: io.BufferedReader, path: Path, suffix: str, largest: int, allowance: UnpackingAllowance
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files whose names end in ``suffix``, in the archive's order.

    Folders are passed over where every file is wanted.

    Args:
        raw: the archive: a .tar, plain or packed by gzip, bzip2 or xz.
        path: its name.
        suffix: of the names of members; of others only the header is looked at. Empty: every file.
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
                    raise _too_many(path)
                if member.name.endswith(suffix) and (suffix or not member.isdir()):
                    yield member.name, _content(archive, member, path, largest)
        while stream.read(_BLOCK):
            pass  # at the end stands the checksum
    except _MALFORMED as error:
        raise InputError(
            f"not a readable archive: {error}", path=path, remedy="download it again"
        ) from error


def zip_members(
    raw: io.BufferedReader, path: Path, largest: int, allowance: UnpackingAllowance
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files of a .zip archive, in its order.

    Args:
        raw: the archive.
        path: its name.
        largest: bytes that a file may have.
        allowance: what the archive may unpack to.

    Raises:
        InputError: as of ``members``, or a file is encrypted or packed in a way that Python does not read.
    """
    try:
        with zipfile.ZipFile(raw) as archive:
            if len(archive.infolist()) > MOST_MEMBERS:
                raise _too_many(path)
            for member in archive.infolist():
                if not member.is_dir():
                    yield member.filename, _zipped(archive, member, path, largest, allowance)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, *_MALFORMED) as error:
        raise InputError(
            f"not a readable archive: {error}", path=path, remedy="download it again"
        ) from error


def _zipped(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    path: Path,
    largest: int,
    allowance: UnpackingAllowance,
) -> bytes:
    place = f"{path}/{member.filename}"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind and not stat.S_ISREG(kind):
        raise _no_file(place)
    with archive.open(member) as packed:
        # A header may say less than the file unpacks to.
        data = counted(cast(BinaryIO, packed), path, allowance).read(largest + 1)
    if len(data) > largest:
        raise _too_large(place, largest)
    return data


def _too_many(path: Path) -> InputError:
    what = f"an archive of more than {MOST_MEMBERS:,} members"
    return InputError(what, path=path, remedy="unpack it and name the folder")


def _no_file(place: str) -> InputError:
    what = "a member that is a link, a sparse file or no file"
    return InputError(what, path=place, remedy="unpack the archive yourself")


def _too_large(place: str, largest: int) -> InputError:
    what = f"a member of more than {largest // 2**20} MiB"
    return InputError(what, path=place, remedy="is it the right archive?")


def _stream(raw: io.BufferedReader, path: Path, allowance: UnpackingAllowance) -> BinaryIO:
    if packing(raw):
        return unpacked(raw, path, allowance)
    if raw.peek(3)[:3] == b"BZh":
        return counted(cast(BinaryIO, bz2.BZ2File(raw)), path, allowance)
    return cast(BinaryIO, raw)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, largest: int) -> bytes:
    place = f"{path}/{member.name}"
    if not member.isreg() or member.issparse():  # whose holes no limit on what is read would count
        raise _no_file(place)
    if member.size > largest:
        raise _too_large(place, largest)
    handle = archive.extractfile(member)
    data = handle.read() if handle else b""
    if len(data) < member.size:
        raise tarfile.ReadError("unexpected end of data")
    return data


def documents_within(
    source: Path,
    is_wanted: Callable[[str], bool],
    called: str,
    largest: int,
    allowance: UnpackingAllowance,
) -> dict[str, tuple[str, bytes]]:
    """Place and content of the wanted files of a folder or an archive, by their path within it.

    Of a folder that has none its one archive is read.

    Args:
        source: the folder or archive.
        is_wanted: of a path within it.
        called: what is looked for, for a message.
        largest: bytes that a file may have.
        allowance: what the archive may unpack to.

    Raises:
        InputError: no such place, a file that is no archive, several archives, a file that is too large, or
            a name that is no text.
    """

    def of_archive(path: Path) -> dict[str, tuple[str, bytes]]:
        inside = files_in_archive(path, largest, allowance)
        return {
            utf8_name(name, path): (f"{path}/{name}", data)
            for name, data in inside
            if is_wanted(name)
        }

    require_regular(source)
    if not source.exists():
        raise InputError("no such file or folder", path=source, remedy="see `conjoin corpora`")
    if source.is_file():
        if not is_archive(source):
            raise InputError(
                "a file, and no archive", path=source, remedy="name the folder it is in"
            )
        return of_archive(source)
    paths = files_within(source, source.rglob("*"))
    found = {
        utf8_name(name, path): (
            str(path),
            read_at_most(path, largest, kind="document", remedy="is it one?"),
        )
        for path in paths
        if is_wanted(name := path.relative_to(source).as_posix())
    }
    archives = [path for path in paths if not path.name.startswith(".") and is_archive(path)]
    if found or not archives:
        return found
    if len(archives) > 1:
        what = f"no {called}, but {len(archives)} archives"
        raise InputError(what, path=source, remedy="name one of them")
    return of_archive(archives[0])
