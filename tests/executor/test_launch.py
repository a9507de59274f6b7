"""How workers are started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.last_resort import NO_READER
from pipeline.executor import launch as launching
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


@pytest.mark.parametrize("reads", [True, False])
def test_a_launch_ends_as_one_process_does_when_its_reader_has_gone(
    reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers have finished all the same; with a reader there is no exit code but 0."""
    finished = list[str]()
    monkeypatch.setattr(launching, "accelerate_launch", lambda: finished.append("work"))
    begin, end = os.pipe()
    with os.fdopen(end, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        if reads:
            launching.main()
            os.close(begin)
        else:
            os.close(begin)
            with pytest.raises(SystemExit) as ending:
                launching.main()
            assert ending.value.code == NO_READER
    assert finished == ["work"]
