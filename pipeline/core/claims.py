"""Where a command writes what a person named: it destroys nothing there that it did not make.

One rule for every command, the ``Claim``: a place is taken that has nothing in it, or an earlier output of
this very command, as its record says, with no file beside those that the record lists. A place that is,
contains or lies inside an input is refused. The claim is checked before any work, again under a lock, and
once more when the finished thing is put in place, by a rename that replaces nothing:

- ``appearing`` makes something that appears whole. It is made in a hidden folder beside the place,
  ``.NAME.tmp``, which also holds the lock and, for a moment, the earlier output. What a killed process left
  there goes, or is put back, when the next one writes to the place.
- ``Claim.take`` is for commands that work in a folder and go on where they were stopped: they hold its
  lock, whose file then says which command it is. So an unfinished output, too, is known for its maker's.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.documents import parse_json, read_document_text
from pipeline.core.errors import InputError
from pipeline.core.files import (
    LOCK,
    WORKERS,
    flush,
    folder_lock,
    open_up,
    require_regular,
    resolved,
    writing,
)

Listed = Collection[str] | None
"""Names of the files of an earlier output, relative to its folder; None: it is no output of the command."""

_REMEDY = "move it away, or name another place"


def apart(out: Path, *sources: Path) -> Path:
    """The place named by ``out``, resolved, if it neither equals, lies in, nor contains a source.

    Args:
        out: what is to be written.
        sources: what it is made of, which must outlive it.

    Raises:
        InputError: it does, or symbolic links lead in a circle.
    """
    place = resolved(out)
    for source in map(resolved, sources):
        if place == source or place in source.parents or source in place.parents:
            raise InputError(
                f"the output may not replace, contain or lie inside its input ({source.name})",
                path=out, remedy="choose another --out",
            )  # fmt: skip
    return place


def no_earlier(place: Path) -> Listed:
    """What is known of earlier outputs by commands that replace none."""
    del place
    return None


@dataclass(frozen=True, slots=True)
class Claim:
    """That a command may write to a place.

    Attributes:
        out: the place, as it was named.
        command: the command's name.
        inputs: what it reads, which must outlive what it writes.
        earlier: finds what an earlier output of the command lists; by what stands in it, not by its names.
        file: whether it is one file, and not a folder.
        parts: in a folder in which the command works, patterns of the files that it may overwrite or
            remove, as of ``Path.glob``; None: the whole place is replaced.
        alone: whether what a command works in must be its own; else only the parts must.
    """

    out: Path
    command: str
    inputs: Collection[Path] = ()
    earlier: Callable[[Path], Listed] = no_earlier
    file: bool = False
    parts: Collection[str] | None = None
    alone: bool = True

    def check(self) -> Path:
        """The place, resolved.

        Raises:
            InputError: something else is there, or an input.
        """
        place = apart(self.out, *self.inputs)
        self.require_own(place)
        return place

    def require_own(self, there: Path) -> None:
        """Check what stands at the place, or was moved aside from it.

        Raises:
            InputError: it is neither empty nor an earlier output of the command, or holds other files.
        """
        if not os.path.lexists(there):
            return
        require_regular(there)
        if there.is_dir() == self.file:
            what, remedy = "there is a file of this name", _REMEDY
            if self.file:
                what, remedy = "this is a folder", "name a file in it"
            raise InputError(what, path=self.out, remedy=remedy)
        if _is_empty(there):
            return
        names = set() if self.file else set(self._names(there))
        listed = self.earlier(there) if self.alone or names else ()
        if listed is None:
            if self.earlier is no_earlier:
                remedy = f"name a new {'file' if self.file else 'folder'}"
                raise InputError("there is something here already", path=self.out, remedy=remedy)
            raise InputError(
                f"there is something else here already, no earlier output of `conjoin {self.command}`",
                path=self.out, remedy=_REMEDY,
            )  # fmt: skip
        if strange := sorted(names - set(listed)):
            raise InputError(
                f"what stands here has {len(strange)} files that are not its own, first {strange[0]} "
                "(one that somebody edited is not)",
                path=self.out, remedy=_REMEDY,
            )  # fmt: skip

    def _names(self, place: Path) -> Iterator[str]:
        """The files that would be overwritten or removed, by their names in the folder."""
        for pattern in self.parts or ("**/*",):
            for path in place.glob(pattern):
                if path.is_symlink() or not path.is_dir():
                    yield path.relative_to(place).as_posix()

    def take(self, files: Collection[str] | None = None) -> None:
        """Check the claim again and leave the command's mark; only for who holds the folder's lock.

        Args:
            files: what the mark says are the command's own until its record does; unset: nothing.

        Raises:
            InputError: as ``check``, or the mark cannot be written.
        """
        mark = self.check() / LOCK
        found: LockMark = {"conjoin": self.command}
        if files is not None:
            found["files"] = sorted(files)
        if mark_of(mark.parent) is None and mark.stat().st_size:
            raise InputError("not a lock of conjoin", path=mark, remedy="remove it")
        with writing(mark), mark.open("r+", encoding="utf-8") as file:
            # In place: a new file would not be the one that is locked.
            file.write(f"{json.dumps(found)}\n")
            file.truncate()


class LockMark(TypedDict):
    """What stands in the lock of a folder in which a command works, or was stopped."""

    conjoin: str
    files: NotRequired[list[str]]


def mark_of(folder: Path, command: str | None = None) -> LockMark | None:
    """What ``Claim.take`` wrote into a folder's lock; None where it wrote nothing.

    Args:
        folder: in which a command worked.
        command: which one it must be; unset: any.
    """
    path = folder / LOCK
    if not path.is_file():
        return None
    try:
        text, _, _ = read_document_text(path).partition("\n")
        mark: LockMark = parse_json(text, LockMark, path=path)
    except InputError:
        return None
    return mark if command in (None, mark["conjoin"]) else None


def _is_empty(there: Path) -> bool:
    """Whether there is nothing in a file, or in a folder but for locks of ours."""
    if not there.is_dir():
        return not there.stat().st_size
    entries = list(there.iterdir())
    if not {path.name for path in entries} <= {LOCK, WORKERS}:
        return False
    return mark_of(there) is not None or not any(path.stat().st_size for path in entries)


@contextmanager
def appearing(claim: Claim) -> Iterator[Path]:
    """Yield an empty folder, or the path of a file to write, that takes the place of a claim in the end.

    If the block raises anything, it leaves no trace.

    Raises:
        InputError: as ``Claim.check``, now or at the end; another process writes there; the disk is full.
    """
    place = claim.check()
    with _made(place, claim) as new:
        if not claim.file:
            new.mkdir()
        yield new


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a folder that replaces what stands at ``path`` when the block succeeds.

    For what lies inside of an output, where only its command writes.

    Raises:
        InputError: the folder cannot be written to, or the disk is full or fails.
    """
    with _made(path) as new:
        new.mkdir()
        yield new


def clear_left(place: Path) -> None:
    """Clear away what a killed process left half made for a place, and put back what it moved aside.

    Raises:
        InputError: another process is at work there.
    """
    if _is_bench(_bench_of(place)):
        with _bench(place, None):
            pass


@contextmanager
def _made(place: Path, claim: Claim | None = None) -> Iterator[Path]:
    with writing(claim.out if claim else place), _bench(place, claim) as bench:
        new = bench / _NEW
        yield new
        for file in (p for p in (new, *new.rglob("*")) if p.is_file()):
            open_up(file)
            flush(file)
        _put(new, place, bench / _OLD, claim)
        flush(place.parent)


_NEW, _OLD, _HELD = "new", "old", "lock"


@contextmanager
def _bench(place: Path, claim: Claim | None) -> Iterator[Path]:
    """The hidden folder in which something is made that is to appear at a place, held alone."""
    bench = _bench_of(place)
    if os.path.lexists(bench) and not _is_bench(bench):
        raise InputError(
            "conjoin would work here, and did not make this", path=bench, remedy="move it away"
        )
    new_folders = [folder for folder in place.parents if not folder.exists()]
    bench.mkdir(parents=True, exist_ok=True)
    try:
        with folder_lock(bench, _HELD, shown=claim.out if claim else place):
            try:
                _clear(bench, place)
                if claim:  # there may be more since it was looked at first
                    claim.require_own(place)
                yield bench
            finally:
                _clear(bench, place)
                with suppress(OSError):  # what cannot be removed stays for the next one
                    (bench / _HELD).unlink()
                    bench.rmdir()
    except BaseException:
        for folder in new_folders:
            with suppress(OSError):
                folder.rmdir()
        raise


def _bench_of(place: Path) -> Path:
    return place.with_name(f".{place.name}.tmp")


def _is_bench(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir():
        return False
    names = {each.name for each in path.iterdir()}
    return not names or (_HELD in names and names <= {_NEW, _OLD, _HELD})


def _clear(bench: Path, place: Path) -> None:
    """Put back what was moved aside if nothing has taken its place, and remove what else is left."""
    if os.path.lexists(bench / _OLD):
        with suppress(FileExistsError):
            _move(bench / _OLD, place)
    for left in (bench / _NEW, bench / _OLD):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _put(new: Path, place: Path, aside: Path, claim: Claim | None) -> None:
    """Put the finished thing in place; what stands there is moved aside, and looked at once more.

    Raises:
        InputError: it is not what the command may replace; or something appears there this very moment.
    """
    if os.path.lexists(place):
        os.rename(place, aside)
        if claim:
            claim.require_own(aside)
    try:
        _move(new, place)
    except FileExistsError as error:
        raise InputError(
            "something appeared here meanwhile", path=claim.out if claim else place, remedy=_REMEDY
        ) from error


def _move(source: Path, target: Path) -> None:
    """Rename a file or folder to a name that is free.

    Raises:
        FileExistsError: the name is taken by a file or by a folder that is not empty.
    """
    if source.is_dir() and not source.is_symlink():
        try:
            os.rename(source, target)  # of folders it replaces empty ones alone
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
            raise
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        os.rename(source, target)
    else:
        source.unlink()


_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EOPNOTSUPP}
"""What file systems say that know no hard links."""
