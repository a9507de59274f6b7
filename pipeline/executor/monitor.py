"""What workers share while they work, and the thread that keeps it up to date.

Shared are the number of the next unit and each worker's state, refreshed every second: from it worker
0 displays the run and sees which workers are lost. Between processes this is a key-value store of
``torch.distributed`` in worker 0, without any barrier: a worker that stops does not stop the others.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from accelerate.utils import broadcast_object_list
from torch.distributed import HashStore, TCPStore  # type: ignore[attr-defined]

from pipeline.core.errors import WorkerError
from pipeline.core.tally import Tally
from pipeline.executor.display import Dashboard, Progress
from pipeline.executor.launch import Worker

_TIMEOUT = timedelta(seconds=30)
_CHECKING = timedelta(hours=12)  # worker 0 reads every byte that is there already


@dataclass(slots=True)
class Status:
    """What a worker tells the others of itself, at most a second old.

    Attributes:
        number: counts a worker's reports, so that no two are equal.
        items: pairs (or sentences) done in this run.
        tokens: tokens read for them, in both twins.
        covered: items of the plan that this comes to: a unit may hold fewer than planned.
        kept: rows kept in finished units.
        refused: rows refused in finished units.
        units: units finished.
        unit: the unit in hand, or -1.
        finished: there is nothing more to do.
    """

    number: int = 0
    items: int = 0
    tokens: int = 0
    covered: int = 0
    kept: int = 0
    refused: int = 0
    units: int = 0
    unit: int = -1
    finished: bool = False


class Store:
    """What the workers share: a counter, a status per worker, and one value set by worker 0.

    In memory for a single process, else a TCP store in worker 0 at a port of the system's choice.

    Raises:
        WorkerError: worker 0 cannot be reached, here and in every method.
    """

    def __init__(self, worker: Worker) -> None:
        self._rank, self._world = worker.rank, worker.world
        if self._world == 1:
            self._store: Any = HashStore()
            return
        host, port = os.environ.get("MASTER_ADDR", "localhost"), [0]
        try:
            if self._rank == 0:
                self._store = self._open(host, 0, server=True)
                port = [self._store.port]
            broadcast_object_list(port, from_process=0)
            if self._rank:
                self._store = self._open(host, port[0], server=False)
        except RuntimeError as error:
            raise WorkerError(f"workers cannot reach worker 0 at {host}: {error}") from error

    @staticmethod
    def _open(host: str, port: int, *, server: bool) -> TCPStore:
        return TCPStore(host, port, None, server, _TIMEOUT, wait_for_workers=False)

    def share(self, find: Callable[[], Any]) -> Any:
        """What worker 0 finds (something that JSON can hold), for all, however long finding takes.

        A collective call of ``torch.distributed`` would not wait so long.
        """
        if self._rank == 0:
            found = find()
            self._ask(lambda: self._store.set("share", json.dumps(found)))
            return found
        self._ask(lambda: self._store.wait(["share"], _CHECKING))
        return json.loads(self._ask(lambda: self._store.get("share")))

    def take(self) -> int:
        """0, 1, 2, … — each number to one caller among all workers."""
        return int(self._ask(lambda: self._store.add("next", 1))) - 1

    def tell(self, status: Status) -> None:
        """Show this worker's status to the others."""
        self._ask(lambda: self._store.set(f"status/{self._rank}", json.dumps(asdict(status))))

    def statuses(self) -> list[Status | None]:
        """The last status of each worker, by rank; None for one that has not shown any."""
        return [self._status(f"status/{rank}") for rank in range(self._world)]

    def _status(self, key: str) -> Status | None:
        # `get` of a missing key would block.
        if not self._ask(lambda: self._store.check([key])):
            return None
        return Status(**json.loads(self._ask(lambda: self._store.get(key))))

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
"""Seconds of silence after which a worker counts as lost: a live one tells its status every second."""


class Monitor:
    """The thread that tells this worker's status while the block runs and, in worker 0, reads all.

    Args:
        worker: this process.
        store: where statuses are shown.
        display: what worker 0 shows to a person.
        before: items that earlier runs did.
    """

    def __init__(self, worker: Worker, store: Store, display: Dashboard, before: int) -> None:
        self._rank, self._store, self._display, self._before = worker.rank, store, display, before
        self.status = Status()
        self.statuses: list[Status] = [Status() for _ in range(worker.world)]
        self._since = [time.monotonic()] * worker.world
        self._failure: WorkerError | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._go, name="monitor", daemon=True)

    def __enter__(self) -> "Monitor":
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
                self.tell()
        if self._rank == 0:
            self._display.__exit__(kind, *rest)

    def advance(self, items: int, tokens: int) -> None:
        """Count a batch; raises what the thread met."""
        self.status.items += items
        self.status.tokens += tokens
        self.status.covered += items
        self.check()

    def finish(self, tally: Tally, covered: int) -> None:
        """Count a unit, which brings the plan to ``covered`` items of this worker."""
        self.status.covered = covered
        self.status.kept += tally.kept
        self.status.refused += tally.seen - tally.kept
        self.status.units += 1

    def check(self) -> None:
        """Raise what the thread met."""
        if self._failure:
            raise self._failure

    def tell(self) -> None:
        """Show the status now; in worker 0, read the others' too."""
        with self._lock:
            self.status.number += 1
            self._store.tell(replace(self.status))
            if self._rank == 0:
                self._look()

    def holders(self) -> dict[int, float]:
        """Units in hand by other workers, and for how many seconds each of those has been silent."""
        with self._lock:
            return {s.unit: self._silence(r) for r, s in self._others() if s.unit >= 0}

    def await_others(self) -> None:
        """Wait until all other workers but the lost have finished: the store ends with this process."""
        while not all(s.finished or self._silence(r) >= LOST_AFTER for r, s in self._others()):
            time.sleep(0.05)
            self.tell()

    def _go(self) -> None:
        while not self._stop.wait(1.0):
            try:
                self.tell()
            except WorkerError as error:
                self._failure = error
                return

    def _look(self) -> None:
        now, every = time.monotonic(), self.statuses
        for rank, status in enumerate(self._store.statuses()):
            if status is not None and status != every[rank]:
                every[rank], self._since[rank] = status, now
        silent = [
            None if status.finished or (seconds := self._silence(rank)) < LOST_AFTER else seconds
            for rank, status in enumerate(every)
        ]
        counted = ("items", "tokens", "kept", "refused")
        sums = {name: sum(getattr(status, name) for status in every) for name in counted}
        progress = Progress(self._before + sum(s.covered for s in every), silent=silent, **sums)
        # A terminal that has gone is no reason to stop telling.
        with suppress(OSError):
            self._display.show(progress)

    def _others(self) -> Sequence[tuple[int, Status]]:
        return list(enumerate(self.statuses))[1:]

    def _silence(self, rank: int) -> float:
        return time.monotonic() - self._since[rank]
