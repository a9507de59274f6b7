"""``conjoin repro``: the cells of dvc.yaml, several at a time, with one display and their times."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from pipeline.core.console import Meter, say, table
from pipeline.experiments.cells import Cell, Cells, check_texts
from pipeline.experiments.durations import Durations
from pipeline.experiments.grid import grid
from pipeline.experiments.parallel import Done, run_cells
from pipeline.experiments.repro.settings import ReproSettings


def run(settings: ReproSettings) -> None:
    """Bring every cell up to date; nothing that is up to date is run again.

    Raises:
        InputError: there is no DVC pipeline here, a cell did not write what it should, or the raw
            text is missing that a language model is to read.
        SettingsError: ``skip`` is no regular expression, or leaves nothing to do; no such
            experiment; ``set`` names no place in params.yaml.
        CellError: a cell failed.
    """
    with grid(settings) as (pipeline, cells, document):
        check_texts(cells)
        _run(settings, pipeline, cells, document)


def _run(
    settings: ReproSettings, pipeline: Cells, cells: list[Cell], document: Mapping[str, Any]
) -> None:
    durations = Durations(document)
    expected = {cell.name: durations.expected([cell]) for cell in cells}
    waiting = _waiting(cells)
    cells.sort(key=lambda cell: (-expected[cell.name], -waiting[cell.name], cell.name))
    begun = time.monotonic()
    memory = _PeakMemory()
    finished: list[Done] = []
    with Meter("seconds of work", round(sum(expected.values()))) as meter:

        def show(running: Mapping[Cell, float], done: Sequence[Done]) -> None:
            memory.look()
            # At once, because the report is a cell too and shows the times of the others.
            if ran := [(d.cell, d.seconds, d.cpu) for d in done[len(finished) :] if d.ran]:
                durations.record(ran, pipeline.all)
            finished[:] = done
            count = f"{len(done)}/{len(cells)} cells"
            note = ", ".join([count, *(cell.name for cell in running)])
            under_way = sum(min(t, 0.9 * expected[c.name]) for c, t in running.items())
            meter.at(round(sum(expected[d.cell.name] for d in done) + under_way), note)

        run_cells(cells, pipeline, settings.jobs, show)
    _tell(finished, time.monotonic() - begun, memory.most)


def _waiting(cells: Sequence[Cell]) -> Counter[str]:
    """By name, how many cells wait for a cell, at once or in the end."""
    needs = {cell.name: cell.needs for cell in cells}
    found = Counter[str]()
    for name in needs:
        behind, todo = set[str](), [name]
        while todo:
            new = (needs.get(todo.pop(), frozenset()) & needs.keys()) - behind
            behind |= new
            todo += new
        found.update(behind)
    return found


class _PeakMemory:
    """The most memory that this process and all below it had at once, in bytes."""

    def __init__(self) -> None:
        self.most = 0
        self._next = 0.0

    def look(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 3
        here = psutil.Process()
        total = 0
        for process in [here, *here.children(recursive=True)]:
            try:
                # Pages that forked processes share count once, in parts.
                usage = process.memory_full_info()
                total += getattr(usage, "pss", usage.rss)  # pss: Linux only
            except psutil.Error:  # ended meanwhile
                continue
        self.most = max(self.most, total)


def _tell(done: Sequence[Done], seconds: float, memory: int) -> None:
    rows = []
    for stage in dict.fromkeys(d.cell.stage for d in done):
        members = [d for d in done if d.cell.stage == stage]
        ran = [d for d in members if d.ran]
        wall, cpu = sum(d.seconds for d in ran), sum(d.cpu for d in ran)
        rows.append((stage, len(ran), len(members) - len(ran), f"{wall:.0f}", f"{cpu:.0f}"))
    table("Time by stage", ("stage", "cells run", "up to date", "seconds", "CPU seconds"), rows)
    say(f"{seconds:.0f} s in all; at most {memory / 2**30:.2f} GiB of memory at once")
