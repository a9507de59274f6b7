"""A full disk, as torch, safetensors and tokenizers tell of it: an OSError, and one line of the command."""

import errno
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import torch

from pipeline.core.claims import atomic_folder
from pipeline.core.disk import disk_faults
from pipeline.core.errors import InputError
from pipeline.core.files import write_json, write_text
from pipeline.core.fingerprint import Fingerprint
from pipeline.core.last_resort import ending_in_one_line
from pipeline.executor.checkpoints import TrainingCheckpoints
from pipeline.tasks.coordination.model import CoordinationPredictor


def test_a_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is free is then asked of the nearest folder that there is."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(InputError, match=r"x: cannot write: No space .* MiB free"):
        write_text(tmp_path / "a/b/x", "")


def test_a_full_standard_output_is_not_blamed_on_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither while an output is in the making, nor where nothing else is written."""
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        said = r"^standard output: cannot be written to: No space"
        with pytest.raises(InputError, match=said), atomic_folder(tmp_path / "out"):
            print("rows", flush=True)
    with suppress(OSError), Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as ending, ending_in_one_line():
            print("rows", flush=True)
    assert ending.value.code == 2
    assert capsys.readouterr().err.startswith("conjoin: standard output: cannot be written to")


@pytest.mark.parametrize("named", [True, False], ids=["the file is named", "Arrow"])
def test_a_full_folder_for_temporary_files_is_not_blamed_on_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """It may be another disk, and there it is that space must be made."""
    scratch, out = tmp_path / "scratch", tmp_path / "data/out"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def usage(path: Path) -> SimpleNamespace:
        return SimpleNamespace(free=0 if path.is_relative_to(scratch) else 2**33)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    names = [str(scratch / "conjoin-x/rows.parquet")] if named else []
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *names)
    said = r"scratch: cannot write: No space .*\(0 MiB free\); free space there or set TMPDIR"
    with pytest.raises(InputError, match=said), atomic_folder(out):
        raise error
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InputError, match="data/out: cannot write: No space"), atomic_folder(out):
        raise full


class RustError(Exception):
    """As safetensors has."""


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (RustError("I/O error: No space left on device (os error 28)"), errno.ENOSPC),
        (Exception("File too large (os error 27)"), errno.EFBIG),
        (
            RuntimeError("PytorchStreamWriter failed writing file data/3: file write failed"),
            errno.EIO,
        ),
        (
            RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0"),
            errno.EIO,
        ),
    ],
)
def test_what_libraries_say_of_disks(tmp_path: Path, error: Exception, number: int) -> None:
    """By the system's number where they give it."""
    with pytest.raises(OSError, match=str(tmp_path)) as caught, disk_faults(tmp_path):
        raise error
    assert caught.value.errno == number


def test_a_folder_where_a_file_is_to_stand_is_named(tmp_path: Path) -> None:
    """And not the temporary one; what stands there stays."""
    (tmp_path / "x.json").mkdir()
    with pytest.raises(InputError, match=r"/x\.json: a folder, where a file is .*; move it away"):
        write_json(tmp_path / "x.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_other_errors_pass(tmp_path: Path) -> None:
    """They are no disk's."""
    with pytest.raises(RuntimeError, match="shapes"), disk_faults(tmp_path):
        raise RuntimeError("shapes differ")


def small_files(work: Callable[[], object]) -> Callable[[], object]:
    """The work where no file may have more than 4 KiB: writing more fails, as on a full disk."""

    def limited() -> object:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        return work()

    return limited


def test_a_predictor_that_cannot_be_saved_is_one_line(
    tiny_bert: Path, tmp_path: Path, forks: Any
) -> None:
    """By the libraries that write it, one after the other; the older one stays."""
    model = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1)
    out = tmp_path / "predictor"
    model.save(out)
    log = tmp_path / "log"
    log.write_text("")
    assert forks.end(forks.start(small_files(lambda: model.save(out)), log)) == 2
    assert log.read_text().startswith(f"conjoin: {out}: cannot write: ")
    assert len(log.read_text().splitlines()) == 1
    CoordinationPredictor.load(out)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, forks: Any
) -> None:
    """One line, and the run goes on from there."""
    checkpoints = TrainingCheckpoints(tmp_path / "checkpoints", Fingerprint(), 2)
    checkpoints.write(1, ({"a": torch.zeros(3)}, {"step": 1}, pa.table({})))
    big = {"a": torch.zeros(99_999)}, {"step": 2}, pa.table({})
    log = tmp_path / "log"
    assert forks.end(forks.start(small_files(lambda: checkpoints.write(2, big)), log)) == 2
    assert "step-00000002: cannot write: " in log.read_text()
    assert len(log.read_text().splitlines()) == 1
    found = checkpoints.latest(torch.device("cpu"))
    assert found is not None
    assert found[1] == {"step": 1}


def test_a_checkpoint_of_other_contents_is_one_line(tmp_path: Path) -> None:
    """Its digests are right, so somebody made it so."""
    checkpoints = TrainingCheckpoints(tmp_path, Fingerprint(), 2)
    checkpoints.write(1, ({}, {"learner": 3}, pa.table({})))
    found = checkpoints.latest(torch.device("cpu"))
    assert found is not None
    refused = pytest.raises(InputError, match="not a checkpoint that conjoin wrote: TypeError")
    with refused, checkpoints.taken_up():
        found[1]["learner"]["step"]
