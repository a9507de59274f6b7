"""A worker's sign of life every second and, in worker 0, the display of everybody's.

What workers share while they work: the number of the next unit, and each one's sign of life.

Between processes it is a key-value store of ``torch.distributed`` in worker 0, beside no barrier:
a worker that stops, stops nobody.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from accelerate.utils import broadcast_object_list
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from pipeline.core.errors import WorkerError
from pipeline.core.tally import Tally
from pipeline.executor.display import Dashboard, Reading
from pipeline.executor.launch import Worker

_TIMEOUT = timedelta(seconds=30)
_CHECKING = timedelta(hours=12)  # worker 0 reads every byte that is there already


@dataclass(slots=True)
class Pulse:
    """What a worker tells the others of itself, at most a second old.

    Attributes:
        beat: number of this sign of life.
        items: pairs (or sentences) done in this run.
        tokens: tokens read for them, in both twins.
        covered: items of the plan that this comes to: a unit may hold fewer than planned.
        kept: rows kept in finished units.
        refused: rows refused in finished units.
        units: units finished.
        unit: the unit in hand, or -1.
        finished: there is nothing more to do.
    """

    beat: int = 0
    items: int = 0
    tokens: int = 0
    covered: int = 0
    kept: int = 0
    refused: int = 0
    units: int = 0
    unit: int = -1
    finished: bool = False


class Board(Protocol):
    """A counter, a row of pulses, and one value that all begin with."""

    def share(self, find: Callable[[], Any]) -> Any:
        """What worker 0 finds, for all: something that JSON can say."""
        ...

    def take(self) -> int:
        """0, 1, 2, … — each number to one caller among all workers."""
        ...

    def tell(self, rank: int, pulse: Pulse) -> None:
        """Show a worker's pulse to the others."""
        ...

    def heard(self) -> list[Pulse | None]:
        """The last pulse of each worker, by rank; None for one that has not shown any."""
        ...


class LocalBoard:
    """The board of a single process."""

    def __init__(self) -> None:
        self._next = 0
        self._pulse: Pulse | None = None

    def share(self, find: Callable[[], Any]) -> Any:
        """What the only worker finds."""
        return find()

    def take(self) -> int:
        """The next number."""
        self._next += 1
        return self._next - 1

    def tell(self, rank: int, pulse: Pulse) -> None:
        """Keep the only worker's pulse."""
        self._pulse = pulse

    def heard(self) -> list[Pulse | None]:
        """The only worker's pulse."""
        return [self._pulse]


class StoreBoard:
    """The board of several processes: a TCP store in worker 0 at a port of the system's choice."""

    def __init__(self, rank: int, world: int) -> None:
        host = os.environ.get("MASTER_ADDR", "localhost")
        self._rank, self._world = rank, world
        port = [0]
        try:
            if rank == 0:
                self._store = self._open(host, 0, server=True)
                port = [self._store.port]
            broadcast_object_list(port, from_process=0)
            if rank:
                self._store = self._open(host, port[0], server=False)
        except RuntimeError as error:
            raise WorkerError(f"workers cannot reach worker 0 at {host}: {error}") from error

    @staticmethod
    def _open(host: str, port: int, *, server: bool) -> TCPStore:
        return TCPStore(host, port, None, server, _TIMEOUT, wait_for_workers=False)

    def share(self, find: Callable[[], Any]) -> Any:
        """What worker 0 finds, however long that takes it: no collective call would wait so long."""
        if self._rank == 0:
            found = find()
            self._ask(lambda: self._store.set("share", json.dumps(found)))
            return found
        self._ask(lambda: self._store.wait(["share"], _CHECKING))
        return json.loads(self._ask(lambda: self._store.get("share")))

    def take(self) -> int:
        """The next number, counted in worker 0."""
        return int(self._ask(lambda: self._store.add("next", 1))) - 1

    def tell(self, rank: int, pulse: Pulse) -> None:
        """Store a pulse under the worker's rank."""
        self._ask(lambda: self._store.set(f"pulse/{rank}", json.dumps(asdict(pulse))))

    def heard(self) -> list[Pulse | None]:
        """The pulses that are stored."""
        return [self._pulse(rank) for rank in range(self._world)]

    def _pulse(self, rank: int) -> Pulse | None:
        key = f"pulse/{rank}"
        # `get` of a missing key would block.
        if not self._ask(lambda: self._store.check([key])):
            return None
        return Pulse(**json.loads(self._ask(lambda: self._store.get(key))))

    @staticmethod
    def _ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except RuntimeError as error:
            raise WorkerError(
                "worker 0 has gone",
                remedy="run the same command again; finished shards are kept",
            ) from error


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
