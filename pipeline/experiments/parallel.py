"""Cells of a DVC pipeline, several at a time: DVC itself runs one after the other.

A cell of the embedded world works for ten seconds, and a fresh process takes seven to import torch
and transformers. So cells run in processes forked from one that has imported them. This is for the
cores of one machine; beyond it use DVC's own queue or a cluster's scheduler. ``makespan`` computes how
long cells would take so, from the seconds of each.
"""

import importlib
import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pipeline.core.errors import CellError
from pipeline.experiments.cells import Cell, Cells

_LOGS = Path("data/logs")
_ENTER = "pipeline.cli"  # its main() runs `conjoin` with the command line in sys.argv
_PRELOAD = (
    _ENTER,
    "pipeline.pretrain.stage",
    "pipeline.generate.stage",
    "pipeline.train.stage",
    "datasets",  # train imports it when it opens its candidates
)
_POLL = 0.2  # seconds
_OURS = "conjoin: "  # how a command of ours begins the line that says what is wrong


@dataclass(frozen=True, slots=True)
class Done:
    """What a cell took: wall and CPU seconds of its process and all below it.

    ``ran`` is False where DVC found nothing to do.
    """

    cell: Cell
    seconds: float = 0.0
    cpu: float = 0.0
    ran: bool = False


@dataclass(frozen=True, slots=True)
class _Running:
    """A cell at work; its process sends the CPU seconds it ``spent`` at the end."""

    cell: Cell
    process: Any  # multiprocessing's forkserver process has no public type
    spent: Connection
    log: Path
    begun: float


def run_cells(
    cells: Sequence[Cell],
    pipeline: Cells,
    jobs: int,
    on_look: Callable[[Mapping[Cell, float], Sequence[Done]], None],
) -> None:
    """Run every cell that is not up to date after those it needs, at most ``jobs`` at a time.

    Needs that are not among ``cells`` count as up to date. Earlier cells go first, so the order of
    ``cells`` is the priority. What the cells print goes to ``data/logs/NAME.log``.

    Args:
        cells: what to run.
        pipeline: where they come from.
        jobs: how many at a time.
        on_look: called again and again with the running cells, each with its seconds so far, and the
            finished ones.

    Raises:
        CellError: a cell failed; the others are stopped, and will be resumed by the next call.
        InputError: a cell did not write what it should.
    """
    _LOGS.mkdir(parents=True, exist_ok=True)
    context = get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOAD))
    names = {cell.name for cell in cells}
    waiting, running = list(cells), list[_Running]()
    done: list[Done] = []
    try:
        while waiting or running:
            made = {d.cell.name for d in done}
            ready = next((c for c in waiting if c.needs & names <= made), None)
            if ready and len(running) < jobs:
                waiting.remove(ready)
                if pipeline.begin(ready):
                    running.append(_begin(context, ready))
                else:
                    done.append(Done(ready))
                continue
            ended = [job for job in running if job.process.exitcode is not None]
            for job in ended:
                running.remove(job)
                if job.process.exitcode == 0:
                    pipeline.finish(job.cell)
                    done.append(_done(job))
            for job in ended:
                _raise_if_failed(job)
            now = time.monotonic()
            on_look({job.cell: now - job.begun for job in running}, done)
            time.sleep(_POLL)
    finally:
        for job in running:
            job.process.terminate()
            job.process.join()
        on_look({}, done)


def _begin(context: Any, cell: Cell) -> _Running:
    log = _LOGS / f"{cell.name}.log"
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(cell.command, log, theirs))
    process.start()
    theirs.close()
    return _Running(cell, process, ours, log, time.monotonic())


def _work(command: str, log: Path, spent: Connection) -> None:
    """In the forked process: the command, as if it had been typed."""
    with log.open("wb") as handle:
        os.dup2(handle.fileno(), sys.stdout.fileno())
        os.dup2(handle.fileno(), sys.stderr.fileno())
    sys.argv = shlex.split(command)
    try:
        if sys.argv[0] == "conjoin":
            importlib.import_module(_ENTER).main()
        else:
            sys.exit(subprocess.call(command, shell=True))  # noqa: S602 - as DVC runs it
    finally:
        every = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        spent.send(sum(usage.ru_utime + usage.ru_stime for usage in every))


def _done(job: _Running) -> Done:
    seconds = time.monotonic() - job.begun
    try:
        cpu = float(job.spent.recv())
    except EOFError:  # the command became another program, as `generate --processes 2` does
        cpu = 0.0
    return Done(job.cell, seconds, cpu, ran=True)


def _raise_if_failed(job: _Running) -> None:
    code = job.process.exitcode
    if not code:
        return
    text = job.log.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()] or ["it printed nothing"]
    ours = [line.removeprefix(_OURS) for line in lines if line.startswith(_OURS)]
    what = f"killed by signal {-code} (out of memory?)" if code < 0 else (ours or lines)[-1]
    raise CellError(
        f"{job.cell.name} failed: {what}",
        remedy=f"its log is {job.log}; what is done stays done",
    )


def makespan(cells: Sequence[Cell], seconds: Mapping[str, float], jobs: int) -> float:
    """Wall seconds until all cells are done.

    Args:
        cells: earlier ones go first among those whose needs are done; needs that are not among them
            count as done.
        seconds: cell → its seconds.
        jobs: how many at a time.
    """
    names = {cell.name for cell in cells}
    waiting, running = list(cells), list[tuple[float, str]]()
    done, now = set[str](), 0.0
    while waiting or running:
        ready = next((c for c in waiting if c.needs & names <= done), None)
        if ready and len(running) < jobs:
            waiting.remove(ready)
            heappush(running, (now + seconds[ready.name], ready.name))
            continue
        now, name = heappop(running)
        done.add(name)
    return now
