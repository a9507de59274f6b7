"""``conjoin repro``: the cells of dvc.yaml, several at a time, with one display and their times."""

import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from pipeline.ground.console import Meter, say, table
from pipeline.ground.errors import InputError, SettingsError
from pipeline.ground.files import read_json, write_json, write_text
from pipeline.mechanisms.cells import Cell, Cells
from pipeline.mechanisms.lanes import Done, run_cells
from pipeline.settings.repro import Repro

__all__ = ["TIMES", "run"]

TIMES = Path("data/times.json")
"""What every cell took when it last ran: ``{cell: {stage, command, seconds, cpu_seconds}}``."""

_LOGS, _PARAMS = Path("data/logs"), Path("params.yaml")
_EXPECTED = (
    ("conjoin pretrain .*--lm t5", 85),
    ("conjoin preparse", 80),
    ("conjoin pretrain", 50),
    ("conjoin train", 16),
    ("conjoin generate", 11),
    ("", 10),
)
"""Command → rough seconds in the embedded world: for the time left, and long cells begin first."""

_PRELOAD = ("pipeline.stages.pretrain", "pipeline.stages.generate", "pipeline.stages.train")
_UNSAID = {"--params", "--candidates", "--mode", "--out"}


def run(settings: Repro) -> None:
    """Bring every cell up to date; nothing that is up to date is run again.

    Raises:
        InputError: there is no DVC pipeline here, or a cell did not write what it should.
        SettingsError: ``skip`` is no regular expression, or leaves nothing to do; ``set`` names no
            place in params.yaml.
        CellError: a cell failed.
    """
    try:
        skipped = re.compile(settings.skip) if settings.skip else None
    except re.error as error:
        raise SettingsError(f"repro.skip = {settings.skip!r}: {error}") from error
    # So that a terminated run, too, stops its cells and puts params.yaml back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with _over_params(settings.set):
        _run(settings, skipped)


@contextmanager
def _over_params(pairs: Sequence[str]) -> Iterator[None]:
    """params.yaml with the given values inside the block, and as it was after it."""
    if not pairs:
        yield
        return
    try:
        before = _PARAMS.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(
            "no such file", path=_PARAMS, remedy="run in the project's root"
        ) from error
    document: dict[str, Any] = yaml.safe_load(before)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        *above, last = key.split(".")
        place: Any = document
        for name in above:
            place = place.get(name) if isinstance(place, dict) else None
        if not equals or not isinstance(place, dict):
            raise SettingsError(f"repro.set = {pair!r}: no such place in {_PARAMS}")
        place[last] = yaml.safe_load(value)
    try:
        write_text(_PARAMS, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        yield
    finally:
        write_text(_PARAMS, before)


def _run(settings: Repro, skipped: re.Pattern[str] | None) -> None:
    pipeline = Cells()
    cells = [c for c in pipeline.all if skipped is None or not skipped.search(c.command)]
    if not cells:
        raise SettingsError(f"repro.skip = {settings.skip!r} leaves no cell")
    cells.sort(key=lambda cell: (-_expected([cell]), cell.name))
    begun = time.monotonic()
    memory = _Memory()
    finished: list[Done] = []
    with Meter("seconds of work", _expected(cells)) as meter:

        def show(running: Mapping[Cell, float], done: Sequence[Done]) -> None:
            memory.look()
            if len(done) > len(
                finished
            ):  # at once, for the report is a cell and tells of the others
                _record(done[len(finished) :], pipeline.all)
            finished[:] = done
            count = f"{len(done)}/{len(cells)} cells"
            note = ", ".join([count, *(_short(cell.command) for cell in running)])
            under_way = sum(min(t, 0.9 * _expected([c])) for c, t in running.items())
            meter.at(_expected(d.cell for d in done) + round(under_way), note)

        run_cells(
            cells, pipeline, jobs=settings.jobs, logs=_LOGS,
            enter="pipeline.cli", preload=_PRELOAD, on_look=show,
        )  # fmt: skip
    _tell(finished, time.monotonic() - begun, memory.most)


def _expected(cells: Iterable[Cell]) -> int:
    return sum(
        next(seconds for start, seconds in _EXPECTED if re.match(start, cell.command))
        for cell in cells
    )


def _short(command: str) -> str:
    """A command without what its siblings share: ``train bert labelled 100 seed 0``."""
    words = iter(command.split()[1:])
    kept = []
    for word in words:
        if word in _UNSAID:
            next(words, None)
        elif "/" not in word:
            kept.append(word.removeprefix("--"))
    return " ".join(kept)


class _Memory:
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


def _record(done: Sequence[Done], cells: Sequence[Cell]) -> None:
    """Add what cells took to the file, and drop what other grids left there."""
    commands = {cell.name: cell.command for cell in cells}
    known = read_json(TIMES) if TIMES.is_file() else {}
    times = {name: t for name, t in known.items() if commands.get(name) == t["command"]}
    for d in done:
        if d.ran:
            times[d.cell.name] = {
                "stage": d.cell.stage,
                "command": d.cell.command,
                "seconds": round(d.seconds, 1),
                "cpu_seconds": round(d.cpu, 1),
            }
    write_json(TIMES, times)


def _tell(done: Sequence[Done], seconds: float, memory: int) -> None:
    rows = []
    for stage in dict.fromkeys(d.cell.stage for d in done):
        members = [d for d in done if d.cell.stage == stage]
        ran = [d for d in members if d.ran]
        wall, cpu = sum(d.seconds for d in ran), sum(d.cpu for d in ran)
        rows.append((stage, len(ran), len(members) - len(ran), f"{wall:.0f}", f"{cpu:.0f}"))
    table("Time by stage", ("stage", "cells run", "up to date", "seconds", "CPU seconds"), rows)
    say(f"{seconds:.0f} s in all; at most {memory / 2**30:.2f} GiB of memory at once")
