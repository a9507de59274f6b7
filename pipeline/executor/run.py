"""Workers at the units of a folder: each takes the next one; worker 0 looks after the others.

Nothing but the choice of units passes between workers, so their number and their speed cannot
change a row. The units of a worker that is not heard of any more are made again by worker 0, which
does no harm where that worker lives: it writes the same bytes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.console import say, table
from pipeline.core.errors import WorkerError
from pipeline.core.fingerprint import differences
from pipeline.executor.display import Dashboard
from pipeline.executor.launch import Worker
from pipeline.executor.monitor import LOST_AFTER, Board, Heart, LocalBoard, Pulse, StoreBoard
from pipeline.executor.units import UnitFolder, resume_line

OnBatch = Callable[[int, int], None]
"""Told after each batch how many items are done, and how many tokens were read for them."""

Make = Callable[[int, OnBatch], None]
"""Makes one unit, a pure function of its index, and writes it to the folder."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did.

    Attributes:
        seconds: wall time, start-up and the check of what was there already aside.
        workers: the last pulse of each worker, by rank.
        resumed: what was there before, and what was made again and why; None if nothing was there.
    """

    seconds: float
    workers: Sequence[Pulse]
    resumed: str | None

    @property
    def units(self) -> int:
        """Units made in this run."""
        return sum(pulse.units for pulse in self.workers)

    @property
    def items(self) -> int:
        """Items done in this run."""
        return sum(pulse.items for pulse in self.workers)

    @property
    def tokens(self) -> int:
        """Tokens read for them, in both twins."""
        return sum(pulse.tokens for pulse in self.workers)

    def show(self, items: str) -> None:
        """Print rates, the share of each worker, and what was made again.

        Args:
            items: what the items are called.
        """
        if self.units:
            rows: list[tuple[str, object]] = [
                ("units made", self.units),
                (items, self.items),
                (f"{items}/s", f"{self.items / self.seconds:,.1f}"),
            ]
            if self.tokens:
                rows.append(("tokens/s", f"{self.tokens / self.seconds:,.0f}"))
            rows.append(("wall time", f"{self.seconds:,.1f} s"))
            if len(self.workers) > 1:
                rows += [(f"units of worker {r}", p.units) for r, p in enumerate(self.workers)]
            table("this run", ("", ""), rows)
        if self.resumed:
            say(self.resumed)


def open_board(worker: Worker) -> Board:
    """Where workers meet over one folder of units; all of them open it at once, in the same order.

    Whoever runs over several folders opens every board before the first run: opening waits for each
    worker, and one that is lost meanwhile would not come.

    Raises:
        WorkerError: worker 0 cannot be reached.
    """
    return StoreBoard(worker.rank, worker.world) if worker.world > 1 else LocalBoard()


def run_units(
    worker: Worker,
    folder: UnitFolder,
    sizes: Sequence[int],
    prepare: Callable[[], Make],
    *,
    what: str,
    items: str,
    board: Board | None = None,
) -> Report | None:
    """Make every unit that is not finished, with the other workers, and then the manifest.

    Args:
        worker: this process.
        folder: the units.
        sizes: items of each unit at most.
        prepare: loads what making needs; called once, before worker 0 touches the folder, or at the
            first unit that this worker takes.
        what: the stage, for the display.
        items: what the items are called.
        board: where the workers meet, of this run alone; None opens one.

    Returns:
        What all workers did, to worker 0; None to the others.

    Raises:
        InputError: as ``UnitFolder.write``.
        WorkerError: worker 0 cannot be reached, or would write other rows than this one.
    """
    board = board or open_board(worker)
    # A model that cannot be used must be found out before anything of an earlier run is removed.
    unfinished = not all(map(folder.is_finished, range(folder.count)))
    make = prepare() if worker.rank == 0 and unfinished else None
    todo, resumed = _agree(worker, folder, board)
    before = sum(sizes) - sum(sizes[index] for index in todo)
    display = Dashboard(what, items, sum(sizes))
    with Heart(worker, board, display, before) as heart:
        for index in _units(worker, folder, board, heart, todo):
            make = make or prepare()
            covered = heart.pulse.covered + sizes[index]
            make(index, heart.advance)
            heart.finish(folder.tally_of(index), covered)
    if worker.rank:
        return None
    folder.write_manifest()
    return Report(display.seconds, heart.pulses(), resumed)


def _agree(worker: Worker, folder: UnitFolder, board: Board) -> tuple[list[int], str | None]:
    """What is to do, as worker 0 finds it, for all; and, for worker 0, what was there."""
    about, todo, resumed = board.share(lambda: _survey(folder))
    if changed := differences(about, folder.about):
        raise WorkerError(
            f"worker {worker.rank} would write other rows than worker 0: {changed}",
            remedy="start workers of one kind, with one version of the software",
        )
    return todo, resumed


def _survey(folder: UnitFolder) -> tuple[dict[str, Any], list[int], str | None]:
    if removed := folder.sweep():
        say(f"removed {len(removed)} files of another plan, e.g. {removed[0]}")
    states = folder.begin()
    if resumed := resume_line(states):
        say(resumed)
    todo = [index for index, state in enumerate(states) if state.kind != "current"]
    return dict(folder.about), todo, resumed


def _units(
    worker: Worker, folder: UnitFolder, board: Board, heart: Heart, todo: Sequence[int]
) -> Iterator[int]:
    """The units that fall to this worker; for worker 0 those of lost workers too."""
    while (number := _take(folder, board, todo)) < len(todo):
        heart.pulse.unit = todo[number]
        heart.beat()
        yield todo[number]
    heart.pulse.unit = -1
    if worker.rank == 0:
        yield from _abandoned(folder, heart, todo)
        heart.await_others()
    heart.pulse.finished = True


def _take(folder: UnitFolder, board: Board, todo: Sequence[int]) -> int:
    try:
        return board.take()
    except WorkerError:
        # Worker 0 leaves first where it has seen that all is done.
        if all(folder.is_finished(index) for index in todo):
            return len(todo)
        raise


def _abandoned(folder: UnitFolder, heart: Heart, todo: Sequence[int]) -> Iterator[int]:
    """Units of lost workers, until every unit has its record."""
    missing = set(todo)
    unheld: dict[int, float] = {}
    while missing := {index for index in missing if not folder.is_finished(index)}:
        heart.check()
        now, holders = time.monotonic(), heart.holders()
        for index in sorted(missing):
            silent = holders.get(index)
            if silent is None:
                # Taken, and its worker was lost before it could say so.
                silent = now - unheld.setdefault(index, now)
            if silent >= LOST_AFTER:
                say(f"unit {index}: its worker was not heard of for {silent:.0f} s; made here")
                heart.pulse.unit = index
                yield index
        heart.pulse.unit = -1
        time.sleep(0.05)
