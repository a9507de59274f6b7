"""SIGKILL at any instant: the rerun ends with the folder of an uninterrupted run, and nobody writes on."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
import yaml

from pipeline.core import files
from pipeline.core.device import best_device
from pipeline.core.fingerprint import Fingerprint
from pipeline.core.tally import Tally
from pipeline.executor.launch import Worker
from pipeline.executor.run import OnBatch, run_units
from pipeline.executor.units import UnitFolder
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import run

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {".lock", ".workers"}


def settings(corpus: Path, out: Path, **more: object) -> GenerateSettings:
    given = {"corpus": corpus, "unit": 20, "batch_tokens": 300, "references": 2, "out": out, **more}
    return GenerateSettings.model_validate(given)


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if name not in LOCKS}


def die_at(call: int, window: str) -> None:
    """Have this process kill itself at a call of ``fsync`` or ``replace``, the steps of a commit.

    Windows: ``half``, the temporary file is cut in half and not flushed; ``before`` and ``after``
    the rename.
    """
    calls = [0]
    sync, replace = files.os.fsync, files.os.replace

    def now(name: str) -> bool:
        calls[0] += name == window.partition(" ")[0]
        return calls[0] == call + 1 and name == window.partition(" ")[0]

    def dying_sync(handle: int) -> None:
        if os.path.isfile(f"/proc/self/fd/{handle}") and now("half"):
            path = os.readlink(f"/proc/self/fd/{handle}")
            os.truncate(path, os.path.getsize(path) // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        sync(handle)

    def dying_replace(source: Path, target: Path) -> None:
        if now("before"):
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if now("after"):
            os.kill(os.getpid(), signal.SIGKILL)

    files.os.fsync, files.os.replace = dying_sync, dying_replace  # type: ignore[attr-defined]


def make_units(out: Path) -> None:
    """Three units of a few rows, without a model."""
    schema = pa.schema([pa.field("number", pa.int64())])
    folder = UnitFolder(out, 3, {"kept": schema, "rejects": schema}, Fingerprint({"seed": 0}))

    def make(index: int, on_batch: OnBatch) -> None:
        on_batch(50, 0)
        rows = [{"number": 100 * index + i} for i in range(50)]
        folder.write(index, {"kept": rows, "rejects": rows[:2]}, Tally(50, Counter(odd=2)))

    run_units(
        Worker(0, 1, best_device()), folder, [50] * 3, lambda: make, what="test", items="rows"
    )


# Three units rename 11 files: what the rows depend on; both shards and the record of each; the manifest.
@pytest.mark.parametrize("call", range(11))
@pytest.mark.parametrize("window", ["half", "before", "after"])
def test_killed_at_every_commit_window(tmp_path: Path, forks: Any, window: str, call: int) -> None:
    """A half-written file, and before and after each rename: the same folder after a rerun."""
    out, whole = tmp_path / "out", tmp_path / "whole"

    def work() -> None:
        die_at(call, window)
        make_units(out)

    make_units(whole)
    assert forks.end(forks.start(work)) == -signal.SIGKILL
    assert (contents(out) == contents(whole)) == ((call, window) == (10, "after"))
    make_units(out)
    assert contents(out) == contents(whole)


@pytest.mark.long
def test_generate_killed_at_random_times(corpus: Path, tmp_path: Path, forks: Any) -> None:
    """From its first moment to its last, whatever it was doing: the same folder after a rerun."""
    dice, whole = random.Random(4), tmp_path / "whole"
    begun = time.monotonic()
    assert forks.end(forks.start(lambda: run(settings(corpus, whole)))) == 0
    length = time.monotonic() - begun
    killed = 0
    for number in range(8):
        out = tmp_path / str(number)
        child = forks.start(partial(run, settings(corpus, out)))
        time.sleep(dice.uniform(0, length))
        os.kill(child, signal.SIGKILL)
        killed += forks.end(child) == -signal.SIGKILL
        run(settings(corpus, out))
        assert contents(out) == contents(whole)
    assert killed


def family(out: Path) -> list[psutil.Process]:
    """All processes whose command line names ``out``."""
    return [p for p in psutil.process_iter(["cmdline"]) if str(out) in (p.info["cmdline"] or ())]


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def wait_until_amid(out: Path) -> None:
    """Until a run has finished a unit or more, but not all."""
    wait_for(lambda: list((out / ".units").glob("0*.json")))
    assert not (out / "manifest.json").exists()


MANY = {"unit": 4, "references": 6, "batch_tokens": 60}


_WHOLE: dict[str, bytes] = {}


def whole_folder(corpus: Path, out: Path) -> dict[str, bytes]:
    """What a run that nobody disturbs writes with ``MANY``: the same in every test."""
    if not _WHOLE:
        run(settings(corpus, out, **MANY))
        _WHOLE.update(contents(out))
    return _WHOLE


@pytest.mark.long
@pytest.mark.parametrize("victim", ["worker", "launcher"])
def test_a_launch_is_killed_amid_its_work(
    corpus: Path, tmp_path: Path, forks: Any, victim: str
) -> None:
    """All other processes end by themselves, and a rerun completes the folder.

    One of workers, too, with any hash seed and any number of threads set outside.
    """
    whole = whole_folder(corpus, tmp_path / "whole")
    out, log, again = tmp_path / "out", tmp_path / "log", tmp_path / "again"
    team = settings(corpus, out, processes=2, **MANY)
    launcher = forks.launch(team, log)
    wait_until_amid(out)
    workers = family(out)
    assert len(workers) == 2
    os.kill(workers[1].pid if victim == "worker" else launcher, signal.SIGKILL)
    assert forks.end(launcher) == (1 if victim == "worker" else -signal.SIGKILL)
    wait_for(lambda: not family(out), 30)
    if victim == "worker":
        assert "was ended by SIGKILL; run the same command again" in log.read_text()
        assert "Traceback" not in log.read_text()
    assert not (out / "manifest.json").exists()
    if victim == "worker":
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "3")
        assert forks.end(forks.launch(team, again, PYTHONHASHSEED="2", **threads)) == 0
        assert "workers 2/2" in again.read_text()
    else:
        run(settings(corpus, out, **MANY))
    assert contents(out) == whole


@pytest.mark.long
def test_dvc_repro_is_killed_amid_its_work(corpus: Path, tmp_path: Path) -> None:
    """Launcher and workers end with it, and a rerun completes the folder."""
    whole = whole_folder(corpus, tmp_path / "whole")
    out = tmp_path / "project" / "out"
    out.parent.mkdir()
    line = settings(corpus, out, processes=2, **MANY).command_line()
    stage = {
        # With a compound command every shell stays between the two; dash does with any.
        "cmd": shlex.join([sys.executable, "-m", "pipeline", *line]) + " && true",
        "outs": [{"out": {"persist": True}}],
    }
    (out.parent / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"generate": stage}}))
    (out.parent / ".dvcignore").write_text("\n".join(LOCKS))
    dvc, env = [sys.executable, "-m", "dvc"], {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*dvc, "init", "--no-scm", "-q"], cwd=out.parent, check=True)  # noqa: S603
    process = subprocess.Popen([*dvc, "repro"], cwd=out.parent, env=env)  # noqa: S603
    wait_until_amid(out)
    process.kill()
    wait_for(lambda: not family(out), 30)
    assert process.wait() == -signal.SIGKILL
    assert not (out / "manifest.json").exists()
    run(settings(corpus, out, **MANY))
    assert contents(out) == whole
