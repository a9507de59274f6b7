"""A folder in the place of another: at every moment one of the two is whole, here or put aside."""

import os
import re
import shutil
import socket
from pathlib import Path

__all__ = ["aside", "discard", "replace_folder", "sweep"]

_OWN = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname()) or "host"
# Two writers may be on two nodes, which do not see each other's processes.


def aside(path: Path, kind: str) -> Path:
    """The hidden name beside ``path`` for this process' folder of a kind: ``tmp`` or ``old``."""
    return path.with_name(f".{path.name}.{_OWN}-{os.getpid()}.{kind}")


def replace_folder(new: Path, path: Path) -> None:
    """Rename ``new`` to ``path``; a folder there is put aside before, and back if that fails."""
    old = aside(path, "old")
    try:
        if path.is_dir() and not path.is_symlink():
            os.replace(path, old)
        os.replace(new, path)
    except BaseException:
        discard(path)
        raise


def discard(path: Path, old: Path | None = None) -> None:
    """Remove what was put aside for ``path``, or put it back if nothing has taken its place."""
    old = old or aside(path, "old")
    if not old.is_dir():
        return
    if os.path.lexists(path):
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(old, path)


def sweep(path: Path) -> None:
    """Clear away what killed processes of this machine left beside ``path``.

    What belongs to a process that is alive stays; what it put aside is put back if need be.
    """
    form = re.compile(rf"\.{re.escape(path.name)}\.(?:{re.escape(_OWN)}-)?([1-9]\d*)\.(tmp|old)")
    for entry in sorted(path.parent.iterdir()) if path.parent.is_dir() else ():
        found = form.fullmatch(entry.name)
        if not found or not entry.is_dir() or _lives(int(found[1])):
            continue
        if found[2] == "old":
            discard(path, entry)
        else:
            shutil.rmtree(entry, ignore_errors=True)


def _lives(process: int) -> bool:
    """Whether another process of this number runs here."""
    if process == os.getpid():
        return False  # of one that had our number before
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # of another user
    return True
