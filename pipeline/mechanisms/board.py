"""What the workers of a run tell one another: who takes which unit, how far each is, who is lost.

Any number of processes on any number of nodes; the first of them keeps a small key-value store
(torch's TCPStore), in which a shared counter hands out units, so faster workers take more. Nothing
waits for anybody: a worker that dies leaves a unit that was taken but not made, which the first
worker notices by the silence and makes itself.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from accelerate.utils import broadcast_object_list
from torch.distributed import (  # type: ignore[attr-defined]
    DistNetworkError,
    DistStoreError,
    HashStore,
    Store,
    TCPStore,
)

from pipeline.ground.errors import ConjoinError
from pipeline.mechanisms.workers import Worker

__all__ = ["LOST_AFTER", "Board", "State"]

LOST_AFTER = 60.0
"""Seconds of silence after which a worker counts as lost; it beats every second, whatever it does."""

_BEAT = 1.0
_PATIENCE = timedelta(seconds=60)
_CHECKING = timedelta(hours=6)  # the first worker reads every byte of what is there already


@dataclass
class State:
    """How far a worker is. ``unit`` is the place in the list of units to make, None between units."""

    items: int = 0
    tokens: int = 0
    rejects: int = 0
    units: int = 0
    unit: int | None = None
    beat: int = 0
    ended: bool = False


@dataclass
class Board:
    """One worker's view of all.

    Attributes:
        worker: which one.
        state: its own state, which a thread makes known every second.
        watch: called at every beat, in that thread.
    """

    worker: Worker
    watch: Callable[[], None] = lambda: None
    state: State = field(default_factory=State)
    lost_after: float = LOST_AFTER

    def __post_init__(self) -> None:
        self._store = _connect(self.worker)
        self._stop = threading.Event()
        self._heard: dict[int, tuple[int, float]] = {}
        self._orphans: dict[int, float] = {}
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "Board":
        self._tell()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self.state.unit, self.state.ended = None, True
        try:
            self._tell()
        except ConjoinError:
            if exc[0] is None:
                raise

    def agree(self, find: Callable[[], list[int]]) -> list[int]:
        """What the first worker finds, for all."""
        if self.worker.rank == 0:
            found = find()
            self._safely(lambda: self._store.set("todo", json.dumps(found)))
            return found
        self._safely(lambda: self._store.wait(["todo"], _CHECKING))
        return [int(index) for index in json.loads(self._safely(lambda: self._store.get("todo")))]

    def take(self, count: int) -> int | None:
        """The next of ``count`` units that nobody has taken; None when there is none left."""
        place = self._safely(lambda: self._store.add("taken", 1)) - 1
        self.state.unit = place if place < count else None
        self._tell()
        return self.state.unit

    def made(self, place: int) -> None:
        """Say that a unit is finished."""
        self._safely(lambda: self._store.set(f"made/{place}", "1"))
        self.state.units += 1
        self.state.unit = None
        self._tell()

    def states(self) -> list[State]:
        """The last known state of every worker."""
        return [self._state(rank) for rank in range(self.worker.world)]

    def silence(self, rank: int) -> float:
        """Seconds since a worker was heard of."""
        beat, now = self._state(rank).beat, time.monotonic()
        known, since = self._heard.get(rank, (-1, now))
        if beat != known:
            self._heard[rank] = beat, now
            return 0.0
        return now - since

    def outstanding(self, count: int) -> list[int]:
        """Places of units that were taken but are not made yet."""
        taken = min(count, self._safely(lambda: self._store.add("taken", 0)))
        return [place for place in range(taken) if not self._there(f"made/{place}")]

    def orphans(self, count: int) -> list[int]:
        """Outstanding units that no living worker has had in hand for ``lost_after`` seconds."""
        held = {
            state.unit
            for rank, state in enumerate(self.states())
            if not state.ended and self.silence(rank) < self.lost_after
        }
        now = time.monotonic()
        free = [place for place in self.outstanding(count) if place not in held]
        self._orphans = {place: self._orphans.get(place, now) for place in free}
        return [place for place in free if now - self._orphans[place] >= self.lost_after / 4]

    def _state(self, rank: int) -> State:
        if rank == self.worker.rank:
            return self.state
        key = f"state/{rank}"
        if not self._there(key):
            return State()
        return State(**json.loads(self._safely(lambda: self._store.get(key))))

    def _there(self, key: str) -> bool:
        return bool(self._safely(lambda: self._store.check([key])))

    def _tell(self) -> None:
        self.state.beat += 1
        body = json.dumps(asdict(self.state))
        self._safely(lambda: self._store.set(f"state/{self.worker.rank}", body))

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT):
            try:
                self._tell()
                self.watch()
            except ConjoinError as error:
                # Without the first worker there is nobody to hand out units.
                print(f"conjoin: {error}", file=sys.stderr, flush=True)
                os._exit(2)

    def _safely(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except (DistNetworkError, DistStoreError, RuntimeError) as error:
            raise ConjoinError(
                f"worker {self.worker.rank} lost contact with worker 0",
                remedy="run the same command again: finished shards are kept",
            ) from error


def _connect(worker: Worker) -> Store:
    if worker.world == 1:
        return HashStore()
    first = worker.rank == 0
    host, port = os.environ.get("MASTER_ADDR", "localhost"), [0]
    if not first:
        broadcast_object_list(port)
    store = TCPStore(host, port[0], is_master=first, wait_for_workers=False, timeout=_PATIENCE)
    if first:
        broadcast_object_list([store.port])
    return store
