"""How workers are started."""

import os
import subprocess
from pathlib import Path

import pytest

from pipeline.executor.launch import launch


def test_code_in_the_folder_at_hand_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's ``-m`` looks there first, and the folder may be an unpacked release of anybody's."""
    for name in ("yaml.py", "accelerate.py", "pipeline.py"):
        (tmp_path / name).write_text("open('pwned', 'w')\n")
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, line: started.append(line))
    for name in (
        "PYTHONSAFEPATH",
        "OMP_NUM_THREADS",
        "TORCH_CPP_LOG_LEVEL",
        "CUDA_VISIBLE_DEVICES",
    ):
        monkeypatch.setenv(name, "")  # is put back at the end
    monkeypatch.chdir(tmp_path)
    launch(["--version"], 2, tmp_path / "out", gpus=False)
    ended = subprocess.run([*started[0][:3], "--help"], capture_output=True, check=False)  # noqa: S603 - ours
    assert ended.returncode == 0
    assert not Path("pwned").exists()
