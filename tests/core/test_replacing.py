"""What appears whole or not at all: whenever the process is interrupted or killed, whatever else appears."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.core import claims
from pipeline.core.claims import Claim, Listed, appearing, atomic_folder
from pipeline.core.errors import InputError


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
    real, calls = os.rename, [0]

    def rename(*args: Any) -> None:
        mine, calls[0] = calls[0] == call, calls[0] + 1
        if late or not mine:
            real(*args)
        if mine:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        write(place, "new")
    assert content(place) == ("new" if (call, late) == (1, True) else "old")
    assert list(place.parent.iterdir()) == [place]


def test_a_rename_that_fails_brings_the_old_folder_back(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the second rename is reported, and the old folder is where it was."""
    real = os.rename

    def rename(source: Path, target: Path) -> None:
        if source.name == "new":
            raise PermissionError
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
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
        if path.name == "old":
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


def killed_in(forks: Any, name: str, work: Callable[[], object]) -> None:
    """Have a copy of this process kill itself where it would call a function of ``claims``."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def dying() -> None:
        setattr(claims, name, die)
        work()

    assert forks.end(forks.start(dying)) == -signal.SIGKILL


def mine(*names: str) -> Callable[[Path], Listed]:
    return lambda _: names


def export(path: Path, text: str = "new") -> None:
    claim = Claim(path, "export", earlier=mine(), file=True)
    with appearing(claim) as new:
        new.write_text(text)


@pytest.mark.parametrize("name", ["_put", "_move"])
def test_a_killed_process_leaves_nothing_for_ever(place: Path, forks: Any, name: str) -> None:
    """Before the rename or between both: what was half made goes, what was put aside comes back."""
    file = place.parent / "file"
    file.write_text("old")
    killed_in(forks, name, lambda: write(place, "new"))
    killed_in(forks, name, lambda: export(file))
    with pytest.raises(ZeroDivisionError), atomic_folder(place):
        raise ZeroDivisionError  # the next one, though it fails itself
    assert content(place) == "old"
    export(file)
    assert file.read_text() == "new"
    assert {path.name for path in place.parent.iterdir()} == {"file", "rel"}


def test_what_only_looks_like_a_leftover_stays(place: Path) -> None:
    """A folder is swept if it is the one in which a process worked, and never by its name."""
    others = [place.with_name(f".rel.{name}") for name in ("99999999.tmp", "host-7.old", "old")]
    for each in others:
        each.mkdir()
        (each / "mine.txt").write_text("mine")
    write(place, "new")
    bench = place.with_name(".rel.tmp")
    bench.mkdir()
    (bench / "new").write_text("mine")
    with pytest.raises(InputError, match=r"\.rel\.tmp: conjoin would work here, and did not make"):
        write(place, "newer")
    assert content(place) == "new"
    assert all((each / "mine.txt").read_text() == "mine" for each in others)
    assert (bench / "new").read_text() == "mine"


@pytest.mark.parametrize("file", [False, True])
def test_two_do_not_write_to_one_place(tmp_path: Path, file: bool) -> None:
    """The second is refused at once, by a name that leads there, too; the first one's result stays."""
    out, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to(out)
    with appearing(Claim(out, "merge", file=file)) as new:
        for again in (out, link):
            with (
                pytest.raises(InputError, match=f"{again}: another conjoin process is writing"),
                appearing(Claim(again, "merge", file=file)),
            ):
                pass
        if file:
            new.write_text("mine")
    assert out.is_file() == file
    assert {path.name for path in tmp_path.iterdir()} == {"out", "link"}


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("links", [True, False], ids=["", "no hard links"])
def test_what_appears_meanwhile_stays(
    tmp_path: Path, file: bool, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or a folder with something in it, at any moment before the rename; a line says so."""
    out = tmp_path / "deep/out"

    def appear() -> None:
        if file:
            out.write_text("mine")
        else:
            out.mkdir()
            (out / "mine.txt").write_text("mine")

    if not links:

        def link(*_: object, **__: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)

    def make(then: Callable[[], object]) -> None:
        with appearing(Claim(out, "gap", file=file)) as new:
            if file:
                new.write_text("ours")
            then()

    with pytest.raises(InputError, match="there is something here already"):
        make(appear)
    move = claims._move

    def late(source: Path, target: Path) -> None:
        appear()
        move(source, target)

    shutil.rmtree(out) if out.is_dir() else out.unlink()
    monkeypatch.setattr(claims, "_move", late)
    with pytest.raises(InputError, match="something appeared here meanwhile"):
        make(lambda: None)
    assert (out if file else out / "mine.txt").read_text() == "mine"
    assert list(out.parent.iterdir()) == [out]


def test_an_earlier_output_is_looked_at_once_more(tmp_path: Path) -> None:
    """What somebody put into it while the new one was made stays, and so does the earlier output."""
    out = tmp_path / "out"
    claim = Claim(out, "release", earlier=mine("a"))
    for _ in range(2):  # the second time over the first
        with appearing(claim) as new:
            (new / "a").write_text("ours")
    with (
        pytest.raises(InputError, match=r"1 files that are not its own, first mine\.txt"),
        appearing(claim) as new,
    ):
        (out / "mine.txt").write_text("mine")
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "a": "ours",
        "mine.txt": "mine",
    }
    assert list(tmp_path.iterdir()) == [out]


def test_a_failure_leaves_no_folder_behind(tmp_path: Path) -> None:
    """Neither the place nor the folders above it that were made for it."""
    with pytest.raises(ZeroDivisionError), appearing(Claim(tmp_path / "a/b/c", "merge")):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
