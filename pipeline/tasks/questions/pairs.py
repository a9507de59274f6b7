"""Event pairs as ``pair`` writes them: a finished folder of them, and the core events of the basic ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.parquet import MANIFEST, fingerprint_in, read_rows
from pipeline.core.questions import CORE_PAIRS, CORE_PAIRS_FILE, event_pair_rows, pair_shards
from pipeline.tasks.questions.events import Event, EventArgument

_AGAIN = "run `conjoin pair`"


@dataclass(frozen=True, slots=True)
class EventPair:
    """Two clauses of a sentence that a connective joins, as the columns of ``EVENT_PAIRS`` have them."""

    pair_id: str
    sentence_id: str
    former: tuple[str, ...]
    latter: tuple[str, ...]
    connective: str
    former_event: Event
    latter_event: Event
    license: str


@dataclass(frozen=True, slots=True)
class CorePair:
    """The core events of a basic pair, as the columns of ``CORE_PAIRS`` have them."""

    pair_id: str
    former_core: str
    latter_core: str
    recovered: str | None


def read_event_pairs(folder: Path) -> list[EventPair]:
    """The event pairs of a folder, in its order.

    Raises:
        InputError: ``pair`` did not finish there, or a file is not as it wrote it.
    """
    return [
        EventPair(
            **row
            | {side: tuple(row[side]) for side in ("former", "latter")}
            | {side: _event(row[side]) for side in ("former_event", "latter_event")}
        )
        for row in event_pair_rows(folder)
    ]


def _event(row: Mapping[str, Any]) -> Event:
    arguments = tuple(EventArgument(**each) for each in row["arguments"])
    return Event(row["predicate"], row["negated"], row["passive"], arguments)


def read_core_pairs(folder: Path) -> list[CorePair]:
    """The basic ones among the event pairs of a folder, in its order, with their core events.

    Raises:
        InputError: as ``read_event_pairs``; or the file is of other pairs than stand beside it.
    """
    pair_shards(folder)
    path = folder / CORE_PAIRS_FILE
    if fingerprint_in(path) != sha256_of(folder / MANIFEST):
        what = "missing, or of other pairs than those beside it"
        raise InputError(what, path=path, remedy=f"{_AGAIN} again")
    return [CorePair(**row) for row in read_rows(path, CORE_PAIRS)]
