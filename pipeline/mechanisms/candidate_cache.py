"""Where stores of candidates are kept: built by whoever needs one first, shared by all runs.

The store of a source lies in the cache of `datasets` as ``conjoin/<source>/<key>/``. Its key changes
with the source's files, and then it is removed for another.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.ground.errors import InputError
from pipeline.ground.files import digest_of
from pipeline.mechanisms.candidate_store import FORMAT, CandidateStore, write_store
from pipeline.mechanisms.sources import Source, UnreachableError

__all__ = ["cache_folder", "open_store"]


def cache_folder() -> Path:
    """Where stores are kept: in the cache of `datasets`, wherever the environment puts it now."""
    given = os.environ
    home = given.get("HF_HOME") or os.path.join(
        given.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    place = given.get("HF_DATASETS_CACHE") or os.path.join(home, "datasets")
    return Path(place).expanduser() / "conjoin"


def open_store(source: Source, labels: Sequence[str] = ()) -> CandidateStore:
    """The store of a source, built now if there is none for its present state.

    Args:
        source: the candidates.
        labels: keep only those with one of these; none: all.

    Raises:
        InputError: the source has no candidates, cannot be reached or read, a candidate is at fault,
            or there is no room or right to keep a copy.
    """
    chosen = sorted(set(labels))
    home = cache_folder() / digest_of([source.identity, chosen] if chosen else source.identity)[:16]
    try:
        key = digest_of([FORMAT, source.key()])[:16]
    except UnreachableError as error:
        return _without_network(home, error)
    with _in_cache(home):
        if store := _opened(home / key):
            return store
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home, source):
            # Another process may have been faster.
            return _opened(home / key) or _built(source, chosen, home, key)


def _opened(folder: Path) -> CandidateStore | None:
    try:
        return CandidateStore(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _without_network(home: Path, error: UnreachableError) -> CandidateStore:
    for card in sorted(home.glob("[!.]*/card.json")):
        if store := _opened(card.parent):
            print(f"{error}; using the copy made before", file=sys.stderr, flush=True)
            return store
    raise error


@contextmanager
def _in_cache(home: Path) -> Iterator[None]:
    """What goes wrong with the cache becomes one line that says where and what to do."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot keep a copy of the candidates in the cache: {error.strerror or error}",
            path=home, remedy="set HF_DATASETS_CACHE to a folder with room that can be written to",
        ) from error  # fmt: skip


@contextmanager
def _locked(home: Path, source: Source) -> Iterator[None]:
    lock = FileLock(home / ".lock")
    try:
        lock.acquire(timeout=0.2)
    except Timeout:
        name = source.identity
        print(f"waiting for another run that copies {name}", file=sys.stderr, flush=True)
        lock.acquire()
    except NotImplementedError as error:
        raise OSError("files cannot be locked here") from error
    try:
        yield
    finally:
        lock.release()


def _built(source: Source, labels: Sequence[str], home: Path, key: str) -> CandidateStore:
    """Write a store under a temporary name, rename it, and remove all others of its source."""
    for left in home.glob(".*.tmp"):  # of processes that were killed, for the lock is ours
        shutil.rmtree(left)
    before = source.key()
    temporary = home / f".{key}.tmp"
    temporary.mkdir()
    try:
        write_store(source, temporary, labels)
        if source.key() != before:
            raise InputError(
                "the candidates changed while they were copied",
                path=source.identity, remedy="let generate finish and run the same command again",
            )  # fmt: skip
        shutil.rmtree(home / key, ignore_errors=True)
        os.replace(temporary, home / key)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for other in home.glob("[!.]*"):
        if other.name != key:  # a run that still reads it keeps the file until it ends
            shutil.rmtree(other, ignore_errors=True)
    return CandidateStore(home / key)
