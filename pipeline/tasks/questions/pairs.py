"""Event pairs as ``pair`` wrote them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.documents import read_json
from pipeline.core.parquet import MANIFEST, read_rows
from pipeline.core.questions import CORE_PAIRS, CORE_PAIRS_FILE, EVENT_PAIRS
from pipeline.tasks.questions.events import Argument, Event

_REMEDY = "name a folder that `conjoin pair` finished"


@dataclass(frozen=True, slots=True)
class EventPair:
    """Two clauses that a connective joins, the cause or condition first."""

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
    """The core events of a pair."""

    pair_id: str
    former_core: str
    latter_core: str
    recovered: str | None


def read_event_pairs(folder: Path) -> list[EventPair]:
    """The event pairs of a folder, in their order.

    Raises:
        InputError: it is unfinished, or no such folder.
    """
    manifest: CandidatesManifest = read_json(
        folder / MANIFEST, CandidatesManifest, remedy=_REMEDY, needs=["shards"]
    )
    names = [each["file"] for each in manifest["shards"] if each["file"].startswith("pairs-")]
    return [_pair(row) for name in names for row in read_rows(folder / name, EVENT_PAIRS)]


def read_core_pairs(folder: Path) -> list[CorePair]:
    """The pairs that meet the condition *basic*, in their order.

    Raises:
        InputError: as ``read_event_pairs``.
    """
    return [CorePair(**row) for row in read_rows(folder / CORE_PAIRS_FILE, CORE_PAIRS)]


def _pair(row: Mapping[str, Any]) -> EventPair:
    former, latter = (tuple(row[name]) for name in ("former", "latter"))
    events = {name: _event(row[name]) for name in ("former_event", "latter_event")}
    return EventPair(**{**row, "former": former, "latter": latter, **events})


def _event(row: Mapping[str, Any]) -> Event:
    arguments = tuple(Argument(**each) for each in row["arguments"])
    return Event(**{**row, "arguments": arguments})
