"""A .gguf in place of a checkpoint's own files: one module knows of it."""

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models import single_file as asked
from pipeline.models.single_file import own_files, single_file

PIPELINE = Path(asked.__file__).parents[1]


def test_what_a_folder_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hub name neither; beside a configuration a .gguf is only one more file."""
    monkeypatch.setattr(asked, "find_spec", lambda name: name)
    assert (single_file("owner/name"), own_files("owner/name")) == (None, None)
    assert (single_file(tmp_path), own_files(tmp_path)) == (None, tmp_path)
    (tmp_path / "model.gguf").touch()
    assert (single_file(str(tmp_path)), own_files(str(tmp_path))) == ("model.gguf", None)
    (tmp_path / "another.gguf").touch()
    with pytest.raises(ModelError, match=r"2 files \.gguf here"):
        own_files(tmp_path)
    (tmp_path / "config.json").touch()
    assert (single_file(tmp_path), own_files(tmp_path)) == (None, tmp_path)


def test_without_the_package_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, before the library fails."""
    monkeypatch.setattr(asked, "find_spec", lambda name: None)
    (tmp_path / "model.gguf").touch()
    with pytest.raises(ModelError, match="needs the package gguf; pip install gguf"):
        single_file(tmp_path)


def test_nobody_else_looks_for_one() -> None:
    """Where it is looked for, it is known what it means."""
    looking = {path.name for path in PIPELINE.rglob("*.py") if '*.gguf"' in path.read_text()}
    assert looking == {"single_file.py"}
