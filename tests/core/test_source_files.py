"""Files of a source folder: links inside it are followed, links out of it refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import InputError
from pipeline.core.files import files_within, resolved
from pipeline.core.tally import Tally
from pipeline.ingest.readers.genia import read_genia
from pipeline.ingest.readers.ptb import read_ptb
from pipeline.ingest.readers.ptb_ext import read_ptb_ext
from pipeline.text.segmentation import text_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, and a secret beside it."""
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "there" / "deep").mkdir(parents=True)
    (tmp_path / "there" / "deep" / "b.txt").write_text("text\n")
    return tmp_path / "there"


def test_links_inside_are_followed(folder: Path) -> None:
    """So is one that the user names; folders are left out."""
    (folder / "a.txt").symlink_to("deep/b.txt")
    (folder / "d.txt").mkdir()
    named = folder.with_name("named")
    named.symlink_to(folder)
    found = files_within(named, named.rglob("*.txt"))
    assert found == [named / "a.txt", named / "deep/b.txt"]
    assert [name for name, _ in text_files(named)] == ["a.txt", "deep/b.txt"]


def test_endings_are_read_in_any_case_and_other_files_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is left unread in silence."""
    for name in ("A.TXT", "c.Txt.GZ", "d.text", "deep/e.docx"):
        (folder / name).write_text("text\n")
    assert [name for name, _ in text_files(folder)] == ["A.TXT", "c.Txt.GZ", "deep/b.txt"]
    assert "there: 2 other files are not read" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["../secret", "/etc/hostname", "deep/../../secret", "../gone"])
def test_links_out_are_refused(folder: Path, target: str) -> None:
    """In one line that names the link."""
    (folder / "a.txt").symlink_to(target)
    with pytest.raises(InputError, match=r"a\.txt: a link that leads out of the source folder; "):
        files_within(folder, folder.rglob("*.txt"))


def test_a_link_to_itself_is_refused(folder: Path) -> None:
    """Python's own word for it is an error of another kind."""
    (folder / "a.txt").symlink_to("a.txt")
    with pytest.raises(InputError, match="leads"):
        files_within(folder, folder.rglob("*.txt"))


def test_linked_folders_are_not_looked_into(folder: Path) -> None:
    """Whatever the version of Python: what lies there is not of this folder."""
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "c.txt").write_text("secret\n")
    (folder / "link").symlink_to("../other")
    assert [name for name, _ in text_files(folder)] == ["deep/b.txt"]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a.txt", lambda folder, _: text_files(folder)),
        ("wsj_0201.mrg", lambda folder, tally: read_ptb(folder, tally, license_="x")),
        ("PTB.ext", lambda folder, tally: read_ptb_ext(folder, tally, license_="x")),
        ("1.xml", read_genia),
        ("g.tar.gz", read_genia),
    ],
)
def test_every_reader_refuses_them(
    folder: Path, name: str, read: Callable[[Path, Tally], Any]
) -> None:
    """Else anyone's file would become part of a corpus."""
    (folder / name).symlink_to("../secret")
    with pytest.raises(InputError, match="a link that leads out of the source folder"):
        list(read(folder, Tally()))


def test_a_name_that_is_too_long_is_no_circle_of_links(tmp_path: Path) -> None:
    """The line says what is wrong with it."""
    with pytest.raises(InputError, match=r"no such name can be: File name too long"):
        resolved(tmp_path / ("x" * 300))
