"""What workers share while they work: the number of the next unit, and each one's sign of life.

Between processes it is a key-value store of ``torch.distributed`` in worker 0, beside no barrier:
a worker that stops, stops nobody.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Protocol

from accelerate.utils import broadcast_object_list
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from pipeline.ground.errors import WorkerError

__all__ = ["Board", "LocalBoard", "Pulse", "StoreBoard"]

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
