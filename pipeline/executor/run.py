"""Distributes the units of a folder among workers: each takes the next one; worker 0 monitors the others.

Nothing but the choice of units passes between workers, so their number and their speed cannot
change a row. The units of a worker that has stopped reporting are made again by worker 0, which
is harmless if that worker is still alive: it writes the same bytes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.console import say, table
from pipeline.core.errors import WorkerError
from pipeline.core.fingerprint import differences
from pipeline.executor.display import Dashboard
from pipeline.executor.growing import take_over
from pipeline.executor.launch import Worker
from pipeline.executor.monitor import LOST_AFTER, Monitor, Status, Store
from pipeline.executor.units import UnitFolder, resume_line

OnBatch = Callable[[int, int], None]
"""Called after each batch with the number of items done, and of tokens read for them."""

Make = Callable[[int, OnBatch], None]
"""Makes one unit, a pure function of its index, and writes it to the folder."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did.

    Attributes:
        seconds: wall time, start-up and the check of what was there already aside.
        workers: the last status of each worker, by rank.
        resumed: what was there before, and what was made again and why; None if nothing was there.
    """

    seconds: float
    workers: Sequence[Status]
    resumed: str | None

    def show(self, items: str) -> None:
        """Print rates, the share of each worker, and what was made again.

        Args:
            items: what the items are called.
        """
        units, done, tokens = (
            sum(getattr(status, name) for status in self.workers)
            for name in ("units", "items", "tokens")
        )
        if units:
            rows: list[tuple[str, object]] = [
                ("units made", units),
                (items, done),
                (f"{items}/s", f"{done / self.seconds:,.1f}"),
            ]
            if tokens:
                rows.append(("tokens/s", f"{tokens / self.seconds:,.0f}"))
            rows.append(("wall time", f"{self.seconds:,.1f} s"))
            if len(self.workers) > 1:
                rows += [(f"units of worker {r}", p.units) for r, p in enumerate(self.workers)]
            table("this run", ("", ""), rows)
        if self.resumed:
            say(self.resumed)


def run_units(
    worker: Worker,
    folder: UnitFolder,
    sizes: Sequence[int],
    prepare: Callable[[], Make],
    *,
    what: str,
    items: str,
    words: Sequence[int] = (),
    store: Store | None = None,
) -> RunReport | None:
    """Make every unit that is not finished, with the other workers, and then the manifest.

    Args:
        worker: this process.
        folder: the units.
        sizes: items of each unit at most.
        prepare: loads what making needs; called once, before worker 0 touches the folder, or at the
            first unit that this worker takes.
        what: the stage, for the display.
        items: what the items are called.
        words: words of each unit, where an item takes as long as it has words and ``make`` counts these as
            tokens: by them it is told how long the rest takes.
        store: what the workers share in this run; None opens one. All workers open it at once, so a
            caller with several folders opens all stores first: a worker lost later could not open them.

    Returns:
        What all workers did, to worker 0; None to the others.

    Raises:
        InputError: as ``UnitFolder.write``.
        WorkerError: worker 0 cannot be reached, or would write other rows than this one.
    """
    store = store or Store(worker)
    # A model that cannot be used must be detected before anything of an earlier run is removed.
    unfinished = not all(map(folder.is_finished, range(folder.count)))
    make = prepare() if worker.rank == 0 and unfinished else None
    todo, resumed = _agree(worker, folder, store)
    before = sum(sizes) - sum(sizes[index] for index in todo)
    by_words = sum(words[index] for index in todo) if words else None
    display = Dashboard(what, items, sum(sizes), before, by_words)
    with Monitor(worker, store, display, before) as monitor:
        for index in _units(worker, folder, store, monitor, todo):
            make = make or prepare()
            covered = monitor.status.covered + sizes[index]
            make(index, monitor.advance)
            monitor.finish(folder.tally_of(index), covered)
    if worker.rank:
        return None
    folder.write_manifest()
    return RunReport(display.seconds, monitor.statuses, resumed)


def _agree(worker: Worker, folder: UnitFolder, store: Store) -> tuple[list[int], str | None]:
    """The units to make, as worker 0 determined them; and for worker 0 a line on what existed already."""
    about, todo, resumed = store.share(lambda: _survey(folder))
    if changed := differences(about, folder.fingerprint.to_dict()):
        raise WorkerError(
            f"worker {worker.rank} would write other rows than worker 0: {changed}",
            remedy="start workers of one kind, with one version of the software",
        )
    return todo, resumed


def _survey(folder: UnitFolder) -> tuple[dict[str, Any], list[int], str | None]:
    if line := take_over(folder):
        say(line)
    if removed := folder.sweep():
        say(f"removed {len(removed)} files of another plan, e.g. {removed[0]}")
    states = folder.begin()
    if resumed := resume_line(states):
        say(resumed)
    todo = [index for index, state in enumerate(states) if state.kind != "current"]
    return folder.fingerprint.to_dict(), todo, resumed


def _units(
    worker: Worker, folder: UnitFolder, store: Store, monitor: Monitor, todo: Sequence[int]
) -> Iterator[int]:
    """The units that fall to this worker; for worker 0 those of lost workers too."""
    while (number := _take(folder, store, todo)) < len(todo):
        monitor.status.unit = todo[number]
        monitor.tell()
        yield todo[number]
    monitor.status.unit = -1
    if worker.rank == 0:
        yield from _abandoned(folder, monitor, todo)
        monitor.await_others()
    monitor.status.finished = True


def _take(folder: UnitFolder, store: Store, todo: Sequence[int]) -> int:
    try:
        return store.take()
    except WorkerError:
        # Worker 0 leaves first where it has seen that all is done.
        if all(folder.is_finished(index) for index in todo):
            return len(todo)
        raise


def _abandoned(folder: UnitFolder, monitor: Monitor, todo: Sequence[int]) -> Iterator[int]:
    """Units of lost workers, until every unit has its record."""
    missing = set(todo)
    unheld: dict[int, float] = {}
    while missing := {index for index in missing if not folder.is_finished(index)}:
        monitor.check()
        now, holders = time.monotonic(), monitor.holders()
        for index in sorted(missing):
            silent = holders.get(index)
            if silent is None:
                # Taken, and its worker was lost before it could say so.
                silent = now - unheld.setdefault(index, now)
            if silent >= LOST_AFTER:
                say(f"unit {index}: its worker was not heard of for {silent:.0f} s; made here")
                monitor.status.unit = index
                yield index
        monitor.status.unit = -1
        time.sleep(0.05)
