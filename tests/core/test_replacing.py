"""Folders that are replaced whole or not at all, whenever the process is interrupted or killed."""

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import InputError
from pipeline.core.files import aside, atomic_folder


def write(path: Path, text: str) -> None:
    with atomic_folder(path) as folder:
        (folder / "deep").mkdir()
        (folder / "deep/f").write_text(text)


def content(path: Path) -> str:
    return (path / "deep/f").read_text()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path / "rel", "old")
    return tmp_path / "rel"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("call", [0, 1])
def test_ctrl_c_around_a_rename_leaves_a_whole_folder(
    call: int, late: bool, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after either of the two renames: the old or the new one stands, and nothing else."""
    real, calls = os.replace, [0]

    def replace(*args: Any) -> None:
        mine, calls[0] = calls[0] == call, calls[0] + 1
        if late or not mine:
            real(*args)
        if mine:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write(place, "new")
    assert content(place) == ("new" if (call, late) == (1, True) else "old")
    assert list(place.parent.iterdir()) == [place]


def test_a_rename_that_fails_brings_the_old_folder_back(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the second rename is reported, and the old folder is where it was."""
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        if source.suffix == ".tmp":
            raise PermissionError
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(InputError, match="cannot write here"):
        write(place, "new")
    assert content(place) == "old"
    assert list(place.parent.iterdir()) == [place]


def test_ctrl_c_while_the_old_folder_is_deleted(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one stands by then; what is left of the old one goes at the next run."""
    real = shutil.rmtree

    def rmtree(path: Path, **options: Any) -> None:
        if path.suffix == ".old":
            raise KeyboardInterrupt
        real(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", rmtree)
        with pytest.raises(KeyboardInterrupt):
            write(place, "new")
    assert content(place) == "new"
    write(place, "newer")
    assert content(place) == "newer"
    assert list(place.parent.iterdir()) == [place]


def test_what_killed_processes_left_is_cleared_away(place: Path) -> None:
    """Of this target and machine only, and of no process that is alive."""
    child = subprocess.Popen(["true"])  # noqa: S607 - any program that ends
    child.wait()
    me = aside(place, "tmp").name.removesuffix(f"-{os.getpid()}.tmp")
    stay = {
        f"{me}-{os.getppid()}.tmp",
        f"{me}-{os.getppid()}.old",
        f".rel.not-{socket.gethostname()}-{child.pid}.tmp",
        me.replace(".rel.", ".other.") + f"-{child.pid}.tmp",
    }
    gone = {f"{me}-{child.pid}.tmp", f"{me}-{child.pid}.old", f".rel.{child.pid}.tmp"}
    for name in stay | gone:
        (place.parent / name).mkdir()
    write(place, "new")
    assert {path.name for path in place.parent.iterdir()} == stay | {"rel"}


def test_what_a_killed_process_put_aside_comes_back(place: Path) -> None:
    """Killed between the renames; the next run, though it fails itself, puts the old folder back."""
    child = subprocess.Popen(["true"])  # noqa: S607 - any program that ends
    child.wait()
    me = aside(place, "old").name.removesuffix(f"-{os.getpid()}.old")
    place.rename(place.parent / f"{me}-{child.pid}.old")
    with pytest.raises(ZeroDivisionError), atomic_folder(place):
        raise ZeroDivisionError
    assert content(place) == "old"
    assert list(place.parent.iterdir()) == [place]
