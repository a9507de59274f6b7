"""Workers at units: who takes over from the lost, and who stops when worker 0 is gone."""

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pipeline.core.fingerprint import Fingerprint
from pipeline.core.tally import Tally
from pipeline.executor import launch
from pipeline.executor.launch import working
from pipeline.executor.monitor import Store
from pipeline.executor.run import OnBatch, run_units
from pipeline.executor.units import UnitFolder

Mishap = Callable[[int], None]


def make_units(out: Path, mishap: Mishap = lambda _: None, seed: int = 0) -> None:
    """Six units of one row by this worker and others; ``mishap`` befalls it when it has one in hand."""
    with working(out, 1) as worker:
        schema = pa.schema([pa.field("number", pa.int64())])
        folder = UnitFolder(out, 6, {"kept": schema}, Fingerprint({"seed": seed}))

        def make(index: int, on_batch: OnBatch) -> None:
            mishap(worker.rank)
            on_batch(1, 0)
            folder.write(index, {"kept": [{"number": index}]}, Tally(1))

        run_units(worker, folder, [1] * 6, lambda: make, what="test", items="rows")


def make_two(out: Path, mishap: Mishap) -> None:
    """Two folders of six units, one after the other, as ``preparse`` has them; a mishap in the first."""
    with working(out, 1) as worker:
        schema = pa.schema([pa.field("number", pa.int64())])
        stores = [Store(worker) for _ in range(2)]
        for number, store in enumerate(stores):
            folder = UnitFolder(out / str(number), 6, {"kept": schema}, Fingerprint())

            def make(index: int, on_batch: OnBatch, at: int = number, to: Any = folder) -> None:
                if at == 0:
                    mishap(worker.rank)
                on_batch(1, 0)
                to.write(index, {"kept": [{"number": index}]}, Tally(1))

            about = {"what": "test", "items": "rows", "store": store}
            run_units(worker, folder, [1] * 6, lambda made=make: made, **about)


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {n: p.read_bytes() for n, p in found.items() if n not in {".lock", ".workers"}}


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, bytes]:
    """What one process makes."""
    make_units(tmp_path / "whole")
    return contents(tmp_path / "whole")


def slowly(rank: int) -> None:
    if rank == 0:
        time.sleep(0.5)  # so that every worker comes to take a unit


def stop(stands: Path, rank: int) -> None:
    """Let worker 1 stand still with a unit in hand; the others leave it one, however late it comes."""
    slowly(rank)
    if rank == 1:
        stands.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    until = time.monotonic() + 2  # less than after what the others would be given up
    while not stands.exists() and time.monotonic() < until:
        time.sleep(0.01)


@pytest.fixture
def _soon_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give workers up after a short silence."""
    for module in ("run", "monitor"):
        monkeypatch.setattr(f"pipeline.executor.{module}.LOST_AFTER", 2.5)


@pytest.mark.usefixtures("_soon_lost")
@pytest.mark.long
def test_worker_0_makes_the_units_of_a_worker_that_is_not_heard_of(
    tmp_path: Path, forks: Any, start: Any, whole: Any
) -> None:
    """A worker that stands still with a unit in hand is named, and the folder becomes complete."""
    out = tmp_path / "out"
    one, other = start(*[partial(make_units, out, partial(stop, tmp_path / "stands"))] * 2)
    assert forks.end(one) == 0, (tmp_path / "log-0").read_text()
    os.kill(other, signal.SIGKILL)
    assert forks.end(other) == -signal.SIGKILL
    log = (tmp_path / "log-0").read_text()
    assert "its worker was not heard of for" in log
    assert "workers 1/2 (1 lost" in log
    assert contents(out) == whole


@pytest.mark.long
@pytest.mark.usefixtures("_soon_lost")
def test_a_worker_lost_in_a_first_run_does_not_stop_the_second(
    tmp_path: Path, forks: Any, start: Any
) -> None:
    """Stores are opened by all at once, so before anyone can be lost."""
    out = tmp_path / "out"
    children = start(*[partial(make_two, out, partial(stop, tmp_path / "stands"))] * 4)
    for child in (*children[:1], *children[2:]):
        assert forks.end(child) == 0, (tmp_path / "log-0").read_text()
    os.kill(children[1], signal.SIGKILL)
    assert forks.end(children[1]) == -signal.SIGKILL
    assert sorted(path.parent.name for path in out.glob("*/manifest.json")) == ["0", "1"]


def test_workers_stop_when_worker_0_is_gone(
    tmp_path: Path, forks: Any, start: Any, whole: Any
) -> None:
    """They say so in one line, and a rerun completes the folder."""

    def die(rank: int) -> None:
        time.sleep(0.5)
        if rank == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    out = tmp_path / "out"
    one, other = start(*[partial(make_units, out, die)] * 2)
    assert forks.end(one) == -signal.SIGKILL
    assert forks.end(other) == 2
    lines = [x for x in (tmp_path / "log-1").read_text().splitlines() if x.startswith("conjoin:")]
    assert lines == [
        "conjoin: worker 0 has gone; run the same command again; finished shards are kept"
    ]
    make_units(out)
    assert contents(out) == whole


def test_a_worker_that_would_write_other_rows_is_refused(
    tmp_path: Path, forks: Any, start: Any
) -> None:
    """It says what differs from worker 0."""
    out = tmp_path / "out"
    one, other = start(partial(make_units, out), partial(make_units, out, seed=1))
    assert forks.end(other) == 2
    log = (tmp_path / "log-1").read_text()
    assert "worker 1 would write other rows than worker 0: seed 0 → 1" in log
    os.kill(one, signal.SIGKILL)
    forks.end(one)


@pytest.mark.parametrize(
    ("found", "message"),
    [("1", "accelerate sees 1 processes where 2 were launched"), ("", "do not find one another")],
)
def test_a_wrong_world_size_is_said_once(
    tmp_path: Path, forks: Any, monkeypatch: pytest.MonkeyPatch, found: str, message: str
) -> None:
    """Workers that do not see one another would each do all the work."""
    if found:
        monkeypatch.setattr(launch, "PartialState", lambda **_: SimpleNamespace(num_processes=1))
    children = [
        forks.start(
            partial(make_units, tmp_path / "out"), tmp_path / f"log-{rank}",
            WORLD_SIZE="2", RANK=str(rank), LOCAL_RANK=str(rank),
        )
        for rank in range(2)
    ]  # fmt: skip
    assert [forks.end(child) for child in children] == [2, 2]
    assert len((tmp_path / "log-0").read_text().splitlines()) == 1
    assert message in (tmp_path / "log-0").read_text()
    assert not (tmp_path / "log-1").read_text()
