"""Folders that are made from something else and kept for every run that needs the same again.

They lie in the cache of `datasets`, wherever the environment puts it. A folder's name is a key of all
that it is made from, so what is there is current; it is built under a temporary name and renamed.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from pipeline.core.console import tell
from pipeline.core.errors import InputError

_T = TypeVar("_T")


def cache_folder() -> Path:
    """Where such folders are kept: in the cache of `datasets`, wherever the environment puts it now."""
    given = os.environ
    home = given.get("HF_HOME") or os.path.join(
        given.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    place = given.get("HF_DATASETS_CACHE") or os.path.join(home, "datasets")
    return Path(place).expanduser() / "conjoin"


def cached(
    home: Path,
    key: str,
    *,
    what: str,
    opened: Callable[[Path], _T],
    build: Callable[[Path], None],
) -> _T:
    """What ``opened`` gives for ``home/key``, which is built now if it is not there.

    All other folders of ``home`` are removed when one is built: a run that still reads such a one
    keeps its files until it ends.

    Args:
        home: the folder of one kind of thing made from one source.
        key: of its present state.
        what: what is kept, for messages.
        opened: opens a folder; raises FileNotFoundError if it is not there or not whole.
        build: writes into an empty folder.

    Raises:
        InputError: there is no room or right to keep it; or of ``build``.
    """
    try:
        if (found := if_whole(opened, home / key)) is not None:
            return found
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home, what):
            # Another process may have been faster.
            if (found := if_whole(opened, home / key)) is None:
                _built(home, key, build)
                found = opened(home / key)
            return found
    except OSError as error:
        raise InputError(
            f"cannot keep {what} in the cache: {error.strerror or error}",
            path=home, remedy="set HF_DATASETS_CACHE to a folder with room that can be written to",
        ) from error  # fmt: skip


def if_whole(opened: Callable[[Path], _T], folder: Path) -> _T | None:
    """What ``opened`` gives for a folder; None if that is not there or not whole."""
    try:
        return opened(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def _locked(home: Path, what: str) -> Iterator[None]:
    lock = FileLock(home / ".lock")
    try:
        lock.acquire(timeout=0.2)
    except Timeout:
        tell(f"waiting for another run that makes {what}")
        lock.acquire()
    except NotImplementedError as error:
        raise OSError("files cannot be locked here") from error
    try:
        yield
    finally:
        lock.release()


def _built(home: Path, key: str, build: Callable[[Path], None]) -> None:
    for left in home.glob(".*.tmp"):  # of processes that were killed, for the lock is ours
        shutil.rmtree(left)
    temporary = home / f".{key}.tmp"
    temporary.mkdir()
    try:
        build(temporary)
        shutil.rmtree(home / key, ignore_errors=True)
        os.replace(temporary, home / key)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for other in home.glob("[!.]*"):
        if other.name != key:
            shutil.rmtree(other, ignore_errors=True)
