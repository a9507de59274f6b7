"""What is written may be read by whom the umask lets, whatever the library made of its file."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from pipeline.core import files
from pipeline.core.claims import atomic_folder
from pipeline.core.files import atomic


@pytest.fixture(params=[0o022, 0o027, 0o077])
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    """A umask for the length of a test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("proc", [True, False])
def test_all_files_of_a_folder_have_the_umasks_mode(
    tmp_path: Path, mask: int, proc: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of safetensors beside a text file, with and without Linux's /proc."""
    if not proc:
        monkeypatch.setattr(files, "Path", lambda *_: tmp_path / "none")
    with atomic_folder(tmp_path / "model") as folder:
        save_file({"a": torch.zeros(2)}, folder / "model.safetensors")
        (folder / "text").write_text("x")
    with atomic(tmp_path / "alone.safetensors") as file:
        save_file({"a": torch.zeros(2)}, file)
    places = [*(tmp_path / "model").iterdir(), tmp_path / "alone.safetensors"]
    assert {mode(path) for path in places} == {0o666 & ~mask}


def test_files_of_others_keep_theirs(tmp_path: Path) -> None:
    """A link, or another name of a file, as DVC's cache has them."""
    for name in ("linked", "named"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o444)
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "a").symlink_to(tmp_path / "linked")
        os.link(tmp_path / "named", folder / "b")
    assert mode(tmp_path / "linked") == mode(tmp_path / "named") == 0o444
