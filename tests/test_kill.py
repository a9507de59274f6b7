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

import psutil
import pyarrow as pa
import pytest
import yaml

from pipeline.ground import files
from pipeline.ground.tally import Tally
from pipeline.mechanisms.crew import OnBatch, run_units
from pipeline.mechanisms.units import UnitFolder
from pipeline.mechanisms.workers import Worker, device
from pipeline.settings.generate import Generate
from pipeline.stages.generate import run

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {".lock", ".workers"}


def settings(corpus: Path, out: Path, **more: object) -> Generate:
    given = {"corpus": corpus, "unit": 20, "batch_tokens": 300, "references": 2, "out": out, **more}
    return Generate.model_validate(given)


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if name not in LOCKS}


def forked(work: Callable[[], object]) -> int:
    """Process id of a copy of this process, imports and all, that does ``work``."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(120)  # whatever goes wrong, no process is left over
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        work()
        code = 0
    finally:
        os._exit(code)


def ended_by(child: int) -> int:
    """Its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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
    folder = UnitFolder(out, 3, {"kept": schema, "rejects": schema}, {"settings": {"seed": 0}})

    def make(index: int, on_batch: OnBatch) -> None:
        on_batch(50, 0)
        rows = [{"number": 100 * index + i} for i in range(50)]
        folder.write(index, {"kept": rows, "rejects": rows[:2]}, Tally(50, Counter(odd=2)))

    run_units(Worker(0, 1, device()), folder, [50] * 3, lambda: make, what="test", items="rows")


# Three units rename 11 files: what the rows depend on; both shards and the record of each; the manifest.
@pytest.mark.parametrize("call", range(11))
@pytest.mark.parametrize("window", ["half", "before", "after"])
def test_killed_at_every_commit_window(tmp_path: Path, window: str, call: int) -> None:
    """A half-written file, and before and after each rename: the same folder after a rerun."""
    out, whole = tmp_path / "out", tmp_path / "whole"

    def work() -> None:
        die_at(call, window)
        make_units(out)

    make_units(whole)
    assert ended_by(forked(work)) == -signal.SIGKILL
    assert (contents(out) == contents(whole)) == ((call, window) == (10, "after"))
    make_units(out)
    assert contents(out) == contents(whole)


def test_generate_killed_at_twenty_random_times(corpus: Path, tmp_path: Path) -> None:
    """From its first moment to its last, whatever it was doing: the same folder after a rerun."""
    dice, whole = random.Random(4), tmp_path / "whole"
    begun = time.monotonic()
    assert ended_by(forked(lambda: run(settings(corpus, whole)))) == 0
    length = time.monotonic() - begun
    killed = 0
    for number in range(20):
        out = tmp_path / str(number)
        child = forked(partial(run, settings(corpus, out)))
        time.sleep(dice.uniform(0, length))
        os.kill(child, signal.SIGKILL)
        killed += ended_by(child) == -signal.SIGKILL
        run(settings(corpus, out))
        assert contents(out) == contents(whole)
    assert killed > 10


def family(out: Path) -> list[psutil.Process]:
    """All processes that were told to write to ``out``."""
    return [p for p in psutil.process_iter(["cmdline"]) if str(out) in (p.info["cmdline"] or ())]


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def started(command: list[str], folder: Path, out: Path) -> subprocess.Popen[bytes]:
    """A run that has finished a unit or more, but not all."""
    process = subprocess.Popen(  # noqa: S603
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(lambda: list((out / ".units").glob("0*.json")) or process.poll() is not None)
    assert process.poll() is None
    assert not (out / "manifest.json").exists()
    return process


@pytest.mark.parametrize("victim", ["worker", "launcher", "dvc"])
def test_processes_killed_amid_their_work(corpus: Path, tmp_path: Path, victim: str) -> None:
    """Of a launch or of `dvc repro`: all others end by themselves, and a rerun completes the folder."""
    whole, out = tmp_path / "whole", tmp_path / "project" / "out"
    many = {"unit": 4, "references": 6, "batch_tokens": 60}
    run(settings(corpus, whole, **many))
    line = ["-m", "pipeline", *settings(corpus, out, processes=2, **many).command_line()]
    command, project = [sys.executable, *line], out.parent
    project.mkdir()
    if victim == "dvc":
        dvc = [sys.executable, "-m", "dvc"]
        subprocess.run([*dvc, "init", "--no-scm", "-q"], cwd=project, check=True)  # noqa: S603
        stage = {"cmd": shlex.join(command), "outs": [{"out": {"persist": True}}]}
        (project / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"generate": stage}}))
        (project / ".dvcignore").write_text("\n".join(LOCKS))
        command = [*dvc, "repro"]
    process = started(command, project, out)
    workers = [p for p in family(out) if "pipeline.mechanisms.launcher" not in p.cmdline()]
    assert len(workers) == 2
    (workers[1] if victim == "worker" else process).send_signal(signal.SIGKILL)
    # What was written up to now is what a rerun finds: nobody goes on.
    wait_for(lambda: not family(out), 20)
    errors = process.communicate()[1].decode()
    assert process.returncode == (1 if victim == "worker" else -signal.SIGKILL)
    if victim == "worker":
        assert "was ended by SIGKILL; run the same command again" in errors
        assert "Traceback" not in errors
    assert not (out / "manifest.json").exists()
    run(settings(corpus, out, **many))
    assert contents(out) == contents(whole)
