"""The project's own DVC files, without data, in a folder of a test."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def project_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """dvc.yaml, params.yaml, cells.yaml and the experiments; the test goes on in that folder."""
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    for name in ("dvc.yaml", "params.yaml", "cells.yaml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "experiments", folder / "experiments")
    monkeypatch.chdir(folder)
    return folder
