"""A worker's sign of life every second and, in worker 0, the display of everybody's."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pipeline.ground.dashboard import Dashboard, Reading
from pipeline.ground.errors import WorkerError
from pipeline.ground.tally import Tally
from pipeline.mechanisms.board import Board, Pulse
from pipeline.mechanisms.workers import Worker

__all__ = ["LOST_AFTER", "Heart"]

LOST_AFTER = 60.0
"""Seconds of silence after which a worker counts as lost; it beats every second, whatever it does."""


class Heart:
    """The thread that beats while the block runs.

    Args:
        worker: this process.
        board: where pulses are shown.
        display: what worker 0 shows to a person.
        before: items that earlier runs did.
    """

    def __init__(self, worker: Worker, board: Board, display: Dashboard, before: int) -> None:
        self._rank, self._board, self._display, self._before = worker.rank, board, display, before
        self.pulse = Pulse()
        self._last: list[Pulse] = [Pulse() for _ in range(worker.world)]
        self._since = [time.monotonic()] * worker.world
        self._failure: WorkerError | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._go, name="heart", daemon=True)

    def __enter__(self) -> "Heart":
        if self._rank == 0:
            self._display.__enter__()
        self._since = [time.monotonic()] * len(self._since)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        self._stop.set()
        self._thread.join()
        if kind is None:
            with suppress(WorkerError):
                self.beat()
        if self._rank == 0:
            self._display.__exit__(kind, *rest)

    def advance(self, items: int, tokens: int) -> None:
        """Count a batch."""
        self.pulse.items += items
        self.pulse.tokens += tokens
        self.pulse.covered += items
        self.check()

    def finish(self, tally: Tally, covered: int) -> None:
        """Count a unit, which brings the plan to ``covered`` items of this worker."""
        self.pulse.covered = covered
        self.pulse.kept += tally.kept
        self.pulse.refused += tally.seen - tally.kept
        self.pulse.units += 1

    def check(self) -> None:
        """Raise what the thread met."""
        if self._failure:
            raise self._failure

    def beat(self) -> None:
        """Show the pulse now; in worker 0, look at the others' too."""
        with self._lock:
            self.pulse.beat += 1
            self._board.tell(self._rank, replace(self.pulse))
            if self._rank == 0:
                self._look()

    def holders(self) -> dict[int, float]:
        """Units in hand by other workers, and for how long each of those has been silent."""
        with self._lock:
            return {p.unit: self._silence(r) for r, p in self._others() if p.unit >= 0}

    def await_others(self) -> None:
        """Let the others, but for the lost, see that all is done before the board goes with us."""
        while not all(p.finished or self._silence(r) >= LOST_AFTER for r, p in self._others()):
            time.sleep(0.05)
            self.beat()

    def pulses(self) -> Sequence[Pulse]:
        """The last pulse of each worker that worker 0 knows, by rank."""
        return list(self._last)

    def _go(self) -> None:
        while not self._stop.wait(1.0):
            try:
                self.beat()
            except WorkerError as error:
                self._failure = error
                return

    def _look(self) -> None:
        now = time.monotonic()
        for rank, pulse in enumerate(self._board.heard()):
            if pulse is not None and pulse != self._last[rank]:
                self._last[rank], self._since[rank] = pulse, now
        silent = [
            None if pulse.finished or (seconds := self._silence(rank)) < LOST_AFTER else seconds
            for rank, pulse in enumerate(self._last)
        ]
        each = self._last
        reading = Reading(
            done=self._before + sum(p.covered for p in each),
            items=sum(p.items for p in each),
            tokens=sum(p.tokens for p in each),
            kept=sum(p.kept for p in each),
            refused=sum(p.refused for p in each),
            silent=silent,
        )
        # A terminal that has gone is no reason for a heart to stop.
        with suppress(OSError):
            self._display.show(reading)

    def _others(self) -> list[tuple[int, Pulse]]:
        return list(enumerate(self._last))[1:]

    def _silence(self, rank: int) -> float:
        return time.monotonic() - self._since[rank]
