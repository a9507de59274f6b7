"""Event pairs as ``pair`` writes them: a finished folder of them, and the core events of the basic ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.parquet import MANIFEST, fingerprint_in, read_rows
from pipeline.core.questions import CORE_PAIRS, CORE_PAIRS_FILE, EVENT_PAIRS
from pipeline.tasks.questions.events import Event, EventArgument

PAIRS = "pairs"
"""How the files of event pairs begin."""

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


def event_pair_id(
    sentence_id: str, former: tuple[str, ...], latter: tuple[str, ...], connective: str
) -> str:
    """The id of an event pair: a hash of the content, 24 hex digits."""
    return digest_of([sentence_id, former, latter, connective])[:24]


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
        for row in _rows(folder)
    ]


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for shard in _manifest(folder).get("shards", []):
        path = folder / shard["file"]
        if not path.name.startswith(f"{PAIRS}-"):
            continue
        if not path.is_file() or sha256_of(path) != shard["sha256"]:
            what = "missing, or not as pair wrote it"
            raise InputError(what, path=path, remedy=f"{_AGAIN} again")
        yield from read_rows(path, EVENT_PAIRS)


def _manifest(folder: Path) -> CandidatesManifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"no finished folder of event pairs: no {MANIFEST}", path=folder, remedy=_AGAIN
        )
    found: CandidatesManifest = read_json(path, CandidatesManifest, needs=["shards"], remedy=_AGAIN)
    if not any(shard["file"].startswith(f"{PAIRS}-") for shard in found["shards"]):
        raise InputError(
            "these are no event pairs", path=folder, remedy="name a folder of `conjoin pair`"
        )
    return found


def _event(row: Mapping[str, Any]) -> Event:
    arguments = tuple(EventArgument(**each) for each in row["arguments"])
    return Event(row["predicate"], row["negated"], row["passive"], arguments)


def read_core_pairs(folder: Path) -> list[CorePair]:
    """The basic ones among the event pairs of a folder, in its order, with their core events.

    Raises:
        InputError: as ``read_event_pairs``; or the file is of other pairs than stand beside it.
    """
    _manifest(folder)
    path = folder / CORE_PAIRS_FILE
    if fingerprint_in(path) != sha256_of(folder / MANIFEST):
        what = "missing, or of other pairs than those beside it"
        raise InputError(what, path=path, remedy=f"{_AGAIN} again")
    return [CorePair(**row) for row in read_rows(path, CORE_PAIRS)]
