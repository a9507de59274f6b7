"""Files that are written completely or not at all (temporary name, fsync, rename), their digests and locks.

Folders, and files that a person names, appear in the same way by ``core/claims.py``.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError

LOCK, WORKERS = ".lock", ".workers"
"""Files that carry the locks of a folder in which a command works; they are no part of what it makes."""

_HALF_WRITTEN = r"\.(?P<name>.+)\.[0-9a-f]{12}\.tmp"


def half_written(path: Path) -> str:
    """The name of the file that a killed process was writing here (see ``atomic``); empty: it was none."""
    found = re.fullmatch(_HALF_WRITTEN, path.name)
    return found["name"] if found else ""


def sweep(*paths: Path) -> None:
    """Remove what killed processes left half written of some files; for who holds the lock."""
    for folder in {path.parent for path in paths if path.parent.is_dir()}:
        names = {path.name for path in paths if path.parent == folder}
        for entry in folder.iterdir():
            if half_written(entry) in names and not entry.is_dir():
                entry.unlink()


_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that is renamed onto it when the block succeeds.

    File and folder are flushed to the disk before and after the rename, so that what is seen
    survives a power cut, and in the order in which it was written.

    Raises:
        InputError: the folder cannot be written to, or the disk is full or fails.
    """
    # Two writers of the same name may be on two nodes, with the same process id.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            open_up(temporary)
            flush(temporary)
            os.replace(temporary, path)
            flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line that ``path`` cannot be written, or that the disk is full or fails.

    What is written on the way may lie in the folder for temporary files, on another disk: then that is named.
    """
    try:
        yield
    except PermissionError as error:
        raise InputError("cannot write here", path=path, remedy="check the permissions") from error
    except IsADirectoryError as error:
        raise InputError(
            "a folder, where a file is to be written", path=path, remedy="move it away"
        ) from error
    except OSError as error:
        if error.errno not in _DISK:
            raise
        if _free(path) >= FULL and (fault := output_fault(error)):
            raise fault from error
        place, remedy = path, "free space"
        if _in_scratch(error, path):
            place, remedy = Path(tempfile.gettempdir()), "free space there or set TMPDIR to another"
        # Where folders could not even be made, the disk is that of the nearest one there is.
        raise InputError(
            f"cannot write: {os.strerror(error.errno or 0)} ({_free(place) / 2**20:,.0f} MiB free)",
            path=place,
            remedy=f"{remedy} and run the same command again; what is finished is kept",
        ) from error


def output_fault(error: BaseException) -> InputError | None:
    """What to say of an error if it is that standard output has no room; None where it may be another.

    Who prints meets the same error as who writes a file, and it names neither.
    """
    if not isinstance(error, OSError) or error.errno not in _DISK or error.filename is not None:
        return None
    try:
        number = sys.stdout.fileno()
        os.write(number, b"")  # which a device refuses that takes nothing, but a file does not
        there = os.fstatvfs(number)
        full = stat.S_ISREG(os.fstat(number).st_mode) and there.f_bavail * there.f_frsize < FULL
    except (AttributeError, ValueError):  # closed, or none
        return None
    except OSError:
        full = True
    if not full:
        return None
    return InputError(
        f"cannot be written to: {os.strerror(error.errno)}", path="standard output",
        remedy="send it elsewhere and run the same command again; what is finished is kept",
    )  # fmt: skip


def _free(path: Path) -> int:
    """Bytes that are free where a path lies or would lie."""
    there = (folder for folder in (path, *path.absolute().parents) if os.path.isdir(folder))
    return shutil.disk_usage(next(there)).free


def _in_scratch(error: OSError, path: Path) -> bool:
    """Whether a file in the folder for temporary files could not be written, and not ``path``."""
    scratch = Path(tempfile.gettempdir())
    if path.absolute().is_relative_to(scratch):
        return False
    if isinstance(error.filename, str):
        return Path(error.filename).absolute().is_relative_to(scratch)
    # Arrow does not say which file it was.
    return _free(scratch) < FULL <= _free(path)


FULL = 2**20
"""Bytes: with fewer left, a disk is the reason why nothing more could be written."""


def open_up(path: Path) -> None:
    """Give a new file the mode that the umask leaves: safetensors makes its files for their owner alone.

    A link, or a file that has other names, may be somebody else's and stays as it is.
    """
    facts, mode = path.lstat(), 0o666 & ~_umask()
    alone = stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1
    if alone and stat.S_IMODE(facts.st_mode) != mode:
        path.chmod(mode)


def _umask() -> int:
    """This process' umask; Linux tells it, elsewhere it can only be asked for by setting another."""
    with suppress(OSError):
        found = re.search(r"^Umask:\s*([0-7]+)$", Path("/proc/self/status").read_text(), re.M)
        if found:
            return int(found[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def flush(path: Path) -> None:
    """Flush a file to the disk, or the renames in a folder where the file system can do that."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if not (path.is_dir() and error.errno in {errno.EINVAL, errno.ENOTSUP}):
            raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` atomically as UTF-8."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` atomically as indented JSON with sorted keys, so equal values are equal bytes."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """The text that ``write_json`` writes."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def require_regular(path: Path) -> None:
    """Refuse what is there but is neither a file nor a folder: opening a named pipe waits for ever.

    Raises:
        InputError: a pipe, socket or device, or a link to one.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # the reader says what is wrong
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("not a regular file", path=path, remedy="replace it by a file")


def leads_out(place: Path, path: Path) -> bool:
    """Whether a path in a release leads, by symbolic links, to what is none of the release.

    The cache of the hub's client has a repository's files in ``blobs/`` and snapshots of links to them
    in ``snapshots/<commit>/``: these links stay in the repository.

    Args:
        place: the release.
        path: a path in it.
    """
    try:
        root, target = resolved(place), resolved(path)
    except InputError:  # a circle
        return True
    if target.is_relative_to(root):
        return False
    cached = root.parent.name == "snapshots" and target.parent == root.parent.parent / "blobs"
    return not (cached and target.is_file())


def resolved(path: Path) -> Path:
    """The path without symbolic links.

    Raises:
        InputError: its links lead in a circle, or it is too long for a name.
    """
    try:
        found = path.resolve()
        if not found.is_symlink():  # what Python 3.13 leaves of a circle
            return found
        raise RuntimeError
    except (OSError, RuntimeError) as error:  # RuntimeError: until Python 3.12
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            raise InputError(
                f"no such name can be: {error.strerror}", path=path, remedy="choose another name"
            ) from error
        raise InputError(
            "its symbolic links lead in a circle",
            path=path,
            remedy="remove them, or name another path",
        ) from error


def utf8_name(name: str, path: Path) -> str:
    """The name of a file, where it goes into the ids of sentences.

    Raises:
        InputError: it is not UTF-8, and so no text.
    """
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            "the name of this file is not UTF-8", path=ascii(str(path)), remedy="rename it"
        ) from error
    return name


def files_within(folder: Path, paths: Iterable[Path]) -> list[Path]:
    """What is to be read of a source folder: those of its paths that are no folders, sorted.

    The folder itself may be a link, and files in it may be links to others in it.

    Raises:
        InputError: a link leads out of the folder, to a file that nobody meant to read.
    """
    found = []
    for path in sorted(paths):
        if path.is_dir():
            continue
        if path.is_symlink() and leads_out(folder, path):
            raise InputError(
                "a link that leads out of the source folder", path=path,
                remedy="replace it by a copy of the file, or remove it",
            )  # fmt: skip
        found.append(path)
    return found


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of one file, or of a folder's files in name order with their relative names.

    Raises:
        InputError: there is no such file.
    """
    if not path.exists():
        raise InputError("no such file", path=path, remedy="run the stage that writes it")
    if path.is_file():
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode())
    return digest.hexdigest()


def digest_of(value: Any) -> str:
    """Hex SHA-256 of a JSON-serialisable value in canonical form (sorted keys, no spaces)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def folder_lock(
    folder: Path,
    name: str = LOCK,
    *,
    shared: bool = False,
    patience: float = 0.0,
    shown: Path | None = None,
) -> Iterator[None]:
    """Hold a lock on ``folder`` for as long as the block, or the program it execs, runs.

    Args:
        folder: what is locked; it is made if need be.
        name: the file in it that carries the lock.
        shared: beside other holders that share it.
        patience: seconds to wait for a holder that may be about to end.
        shown: what messages say is written to; unset: the folder.

    Raises:
        InputError: another process holds it, or the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    except OSError as error:
        raise InputError(
            f"cannot write into this folder: {error.strerror}",
            path=shown or folder,
            remedy="choose another",
        ) from error
    busy = InputError(
        "another conjoin process is writing here",
        path=shown or folder,
        remedy="wait for it or stop it",
    )
    # Over NFS a shared lock needs a file open for reading, an exclusive one a file open for writing.
    with (folder / name).open("r+") as handle:
        # A launcher that replaces this process by exec must go on holding the lock.
        os.set_inheritable(handle.fileno(), True)
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise busy from error
                time.sleep(0.05)
            except OSError as error:
                raise InputError(
                    f"this file system cannot lock files: {error.strerror}",
                    path=folder,
                    remedy="choose a folder on one that can (local, NFSv4, Lustre with flock)",
                ) from error
        if not _is_still(handle.fileno(), folder / name):
            raise busy  # whoever held it has just removed it, and another may hold the next
        yield


def _is_still(number: int, path: Path) -> bool:
    """Whether an open file is the one that the path names."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file held when it was written; ``rows`` is None where it has none."""

    rows: int | None
    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path, rows: int | None = None) -> "FileFacts":
        """The facts of a file as it stands, of ``rows`` rows."""
        return cls(rows, path.stat().st_size, sha256_of(path))

    def fault(self, path: Path, *, whole: bool = True) -> str | None:
        """How the file differs from what was written, or None; only its size counts if not ``whole``."""
        try:
            size = path.stat().st_size
            if size != self.bytes:
                kind = "truncated" if size < self.bytes else "too long"
                return f"{kind}: {size} of {self.bytes} bytes"
            return None if not whole or sha256_of(path) == self.sha256 else "sha256 differs"
        except FileNotFoundError:
            return "gone"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
