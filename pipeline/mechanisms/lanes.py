"""Cells of a DVC pipeline, several at a time: DVC itself runs one after the other.

DVC stays the judge of what is up to date: every cell is a ``dvc repro --single-item`` of its own.
This is for the cores of one machine; beyond it DVC's own queue or a cluster's scheduler takes over.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.ground.errors import CellError

__all__ = ["Cell", "Done", "run_cells"]

_UNCHANGED = "didn't change, skipping"
_LOCKED = "Unable to acquire lock"
_POLL = 0.05  # seconds
_OURS = "conjoin: "  # how a command of ours begins the line that says what is wrong


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its DVC name, its command, and the names of the cells it needs."""

    name: str
    command: str
    needs: frozenset[str]

    @property
    def stage(self) -> str:
        """The stage it belongs to."""
        return self.name.partition("@")[0]


@dataclass(frozen=True, slots=True)
class Done:
    """What a cell took: wall and CPU seconds of its whole process tree.

    ``ran`` is False where DVC found nothing to do.
    """

    cell: Cell
    seconds: float
    cpu: float
    ran: bool


@dataclass
class _Lane:
    cell: Cell
    process: subprocess.Popen[bytes]
    log: Path
    begun: float = field(default_factory=time.monotonic)


def run_cells(
    cells: Sequence[Cell],
    jobs: int,
    logs: Path,
    on_look: Callable[[Sequence[Cell], Sequence[Done]], None] = lambda running, done: None,
) -> None:
    """Run every cell after those it needs, at most ``jobs`` at a time.

    Needs that are not among ``cells`` are taken for granted. Earlier cells go first, so the order of
    ``cells`` is the priority.

    Args:
        cells: what to run.
        jobs: how many at a time.
        logs: folder for what the cells print, ``NAME.log``.
        on_look: called again and again with the running and the finished cells.

    Raises:
        CellError: a cell failed; the others are stopped, and will be resumed by the next call.
    """
    logs.mkdir(parents=True, exist_ok=True)
    names = {cell.name for cell in cells}
    waiting = list(cells)
    lanes: list[_Lane] = []
    done: list[Done] = []
    try:
        while waiting or lanes:
            ready = {d.cell.name for d in done}
            for cell in [c for c in waiting if c.needs & names <= ready]:
                if len(lanes) == jobs:
                    break
                waiting.remove(cell)
                lanes.append(_begin(cell, logs))
            for lane in list(lanes):
                if (finished := _look(lane)) is not None:
                    lanes.remove(lane)
                    if isinstance(finished, Done):
                        done.append(finished)
                    else:  # another DVC held the lock too long: the cell has not begun
                        waiting.insert(0, finished)
            on_look([lane.cell for lane in lanes], done)
            time.sleep(_POLL)
    finally:
        for lane in lanes:
            _stop(lane)


def _begin(cell: Cell, logs: Path) -> _Lane:
    log = logs / f"{cell.name}.log"
    with log.open("wb") as handle:
        # A session of its own, so that stopping it reaches DVC's child as well.
        process = subprocess.Popen(  # noqa: S603 - our own words
            [sys.executable, "-m", "dvc", "repro", "--single-item", cell.name],
            stdin=subprocess.DEVNULL, stdout=handle, stderr=subprocess.STDOUT,
            start_new_session=True, env=_environment(os.environ),
        )  # fmt: skip
    return _Lane(cell, process, log)


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    # DVC does not put its own environment on PATH, where its stages' `conjoin` is.
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    return {**environment, "PATH": path}


def _look(lane: _Lane) -> Done | Cell | None:
    """What came of a cell, the cell itself if it must be begun again, None while it runs."""
    pid, status, usage = os.wait4(lane.process.pid, os.WNOHANG)
    if not pid:
        return None
    lane.process.returncode = os.waitstatus_to_exitcode(status)
    text = lane.log.read_text(encoding="utf-8", errors="replace")
    if lane.process.returncode:
        if _LOCKED in text:
            return lane.cell
        lines = [line for line in text.splitlines() if line.strip()] or ["it printed nothing"]
        ours = [line.removeprefix(_OURS) for line in lines if line.startswith(_OURS)]
        raise CellError(
            f"{lane.cell.name} failed: {(ours or lines)[-1]}",
            remedy=f"its log is {lane.log}; what is done stays done",
        )
    seconds = time.monotonic() - lane.begun
    return Done(lane.cell, seconds, usage.ru_utime + usage.ru_stime, _UNCHANGED not in text)


def _stop(lane: _Lane) -> None:
    if lane.process.returncode is None:
        os.killpg(lane.process.pid, signal.SIGTERM)
        lane.process.wait()
