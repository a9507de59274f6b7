"""Work units: what lets any number of processes write one folder without a barrier, and be killed.

A unit is one shard of each kind (candidates and rejects, trees and rejects) and a *commit record* that
is written last, with the sha256 of each file and the fingerprint of all that the rows depend on. A unit
is finished if and only if its record stands, is of this run's fingerprint, and the files have those
sums. So a run makes only what is missing, stale or damaged, and can say which it is and why.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.files import digest_of, sha256_of, write_json
from pipeline.ground.schema import write_rows
from pipeline.ground.tally import Tally

__all__ = ["MANIFEST", "UnitFolder", "Unmade"]

MANIFEST = "manifest.json"
_RECORDS = ".units"
_FINGERPRINT = "conjoin.fingerprint"


@dataclass(frozen=True, slots=True)
class Unmade:
    """A unit to be made: ``kind`` is missing, stale or damaged, ``why`` says it in words."""

    index: int
    kind: str
    why: str


@dataclass(frozen=True)
class UnitFolder:
    """The units of a folder.

    Attributes:
        folder: where they are.
        count: how many there are.
        schemas: schema of each kind of file.
        about: everything the rows depend on, JSON-ready; its digest is the fingerprint.
    """

    folder: Path
    count: int
    schemas: Mapping[str, pa.Schema]
    about: Mapping[str, Any]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of ``about``."""
        return digest_of(dict(self.about))

    def path(self, kind: str, index: int) -> Path:
        """File of a kind of a unit."""
        return self.folder / f"{kind}-{index:05d}-of-{self.count:05d}.parquet"

    def record(self, index: int) -> Path:
        """Commit record of a unit."""
        return self.folder / _RECORDS / f"{index:05d}-of-{self.count:05d}.json"

    def check(self, index: int) -> Unmade | None:
        """Why a unit must be made; None if it is finished."""
        try:
            record = json.loads(self.record(index).read_text(encoding="utf-8"))
            fingerprint, about, files = record["fingerprint"], record["about"], record["files"]
            sums = {name: str(each["sha256"]) for name, each in files.items()}
        except FileNotFoundError:
            there = any(self.path(kind, index).exists() for kind in self.schemas)
            why = "its commit record is not there" if there else "not made yet"
            return Unmade(index, "missing", why)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Unmade(index, "damaged", f"{self.record(index).name} is not a commit record")
        if fingerprint != self.fingerprint:
            return Unmade(
                index, "stale", "; ".join(_changes(about, self.about)) or "made otherwise"
            )
        for kind in self.schemas:
            path = self.path(kind, index)
            if not path.is_file():
                return Unmade(index, "damaged", f"{path.name} is not there")
            if sha256_of(path) != sums.get(path.name):
                return Unmade(index, "damaged", f"{path.name} has other bytes than were written")
        return None

    def unmade(self) -> list[Unmade]:
        """The units to be made, in order."""
        return [found for i in range(self.count) if (found := self.check(i)) is not None]

    def write(
        self,
        index: int,
        rows: Mapping[str, Iterable[Mapping[str, Any]]],
        tally: Tally,
        notes: Mapping[str, int] | None = None,
    ) -> None:
        """Write a unit: its files, then the record that makes it finished.

        Args:
            index: the unit's.
            rows: rows of each kind.
            tally: items kept, and rejected with reasons.
            notes: counts of what neither rows nor tally say.

        Raises:
            InputError: a row does not fit its schema, or the folder cannot be written to.
        """
        # A record that stands while files change under it would call a mixture finished.
        self.record(index).unlink(missing_ok=True)
        files = {}
        for kind, schema in self.schemas.items():
            path = self.path(kind, index)
            count = write_rows(path, schema, rows[kind], {_FINGERPRINT: self.fingerprint})
            files[path.name] = {"rows": count, "sha256": sha256_of(path)}
        record = {
            "fingerprint": self.fingerprint,
            "about": self.about,
            "files": files,
            "tally": tally.to_dict(),
            "notes": dict(notes or {}),
        }
        write_json(self.record(index), record)

    def sweep(self) -> list[str]:
        """Remove shards and records of another plan; returns the shards' names."""
        own = {self.path(kind, i) for kind in self.schemas for i in range(self.count)}
        strange = [
            path
            for kind in self.schemas
            for path in sorted(self.folder.glob(f"{kind}-*.parquet"))
            if path not in own
        ]
        records = {self.record(i) for i in range(self.count)}
        for path in [*strange, *set((self.folder / _RECORDS).glob("*.json")) - records]:
            path.unlink()
        return [path.name for path in strange]

    def records(self) -> Iterable[dict[str, Any]]:
        """The commit records of all units, in order."""
        for index in range(self.count):
            yield json.loads(self.record(index).read_text(encoding="utf-8"))

    def tally(self) -> Tally:
        """Items kept and rejected with reasons, over all units."""
        return Tally.merged(Tally.from_dict(record["tally"]) for record in self.records())

    def notes(self) -> Counter[str]:
        """Sums of the units' notes."""
        total: Counter[str] = Counter()
        for record in self.records():
            total.update(record["notes"])
        return total

    def write_manifest(self) -> None:
        """Write ``manifest.json``: ``about``, tally, notes, and rows and sha256 of every shard."""
        shards = [
            {"file": name, "rows": each["rows"], "sha256": each["sha256"]}
            for record in self.records()
            for name, each in sorted(record["files"].items())
        ]
        body = {
            "fingerprint": self.fingerprint,
            "tally": self.tally().to_dict(),
            "notes": dict(self.notes()),
            "shards": shards,
        }
        write_json(self.folder / MANIFEST, {**self.about, **body})


def _changes(before: Any, now: Any, name: str = "") -> list[str]:
    """What differs, by name: ``beams 1 → 4``."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = sorted({*before, *now})
        return [c for key in keys for c in _changes(before.get(key), now.get(key), str(key))]
    if before == now:
        return []
    return [f"{name} {_short(before)} → {_short(now)}"]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def footer_fingerprint(path: Path) -> str | None:
    """The fingerprint in a shard's footer, of whatever run made it."""
    metadata = pq.read_schema(path).metadata or {}
    found = metadata.get(_FINGERPRINT.encode())
    return found.decode() if found else None
