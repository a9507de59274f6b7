"""Work units and shards: what lets any number of processes write one corpus without a barrier.

The plan (which references are in which unit) is fixed before any process starts, a unit is decoded
from start to end by one process, and a shard appears whole or not at all, with a fingerprint of
everything its rows depend on. So processes only choose indices, a rerun makes only what is missing
or stale, and the rows are the same for any number of processes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.coordination import Candidate, Reject
from pipeline.ground.errors import InputError
from pipeline.ground.files import sha256_of, write_json
from pipeline.ground.schema import (
    CANDIDATES,
    REJECTS,
    candidate_row,
    read_candidates,
    reject_row,
    write_rows,
)
from pipeline.ground.tally import Tally

__all__ = ["MANIFEST", "ShardSet", "candidate_shards", "find_candidates", "unit_indices"]

MANIFEST = "manifest.json"
_FINGERPRINT = b"conjoin.fingerprint"
_NOTES = b"conjoin.notes"


def unit_indices(total: int, unit: int) -> list[range]:
    """Consecutive blocks of ``unit`` indices; the last may be shorter."""
    return [range(begin, min(begin + unit, total)) for begin in range(0, total, unit)]


def candidate_shards(folder: Path) -> list[Path]:
    """The files of candidates in a folder, in order, whoever made them."""
    return sorted(folder.glob("candidates-*.parquet"))


def find_candidates(wanted: Set[tuple[Path, str]]) -> dict[tuple[Path, str], Candidate]:
    """Candidates that training judged, by (folder, id).

    Raises:
        InputError: one is not in its folder any more, or a shard is damaged.
    """
    found = {}
    for folder in sorted({folder for folder, _ in wanted}):
        for shard in candidate_shards(folder):
            for candidate in read_candidates(shard):
                key = folder, candidate.candidate_id
                if key in wanted:
                    found[key] = candidate
    for folder, candidate_id in sorted(wanted - found.keys()):
        raise InputError(
            f"candidate {candidate_id} was judged in training but is not here",
            path=folder,
            remedy="the candidates were made again since: run `conjoin train` again",
        )
    return found


@dataclass(frozen=True)
class ShardSet:
    """The shards of one corpus folder: unit ``i`` of ``count`` is one pair of Parquet files."""

    folder: Path
    count: int
    fingerprint: str

    def candidates(self, index: int) -> Path:
        """File of the candidates of a unit."""
        return self.folder / f"candidates-{index:05d}-of-{self.count:05d}.parquet"

    def rejects(self, index: int) -> Path:
        """File of the rejects of a unit."""
        return self.folder / f"rejects-{index:05d}-of-{self.count:05d}.parquet"

    def is_current(self, index: int) -> bool:
        """Whether both files of a unit are there, readable, and made by this very fingerprint."""
        return all(
            _fingerprint_of(path) == self.fingerprint
            for path in (self.candidates(index), self.rejects(index))
        )

    def missing(self) -> list[int]:
        """Units still to be made, in order."""
        return [index for index in range(self.count) if not self.is_current(index)]

    def write(
        self,
        index: int,
        outcomes: Iterable[Candidate | Reject],
        notes: Mapping[str, int] | None = None,
    ) -> None:
        """Write one unit. The rejects go first, so a unit with candidates is complete.

        Args:
            index: the unit's.
            outcomes: its rows.
            notes: counts of what no row says, for the manifest.
        """
        rows = list(outcomes)
        metadata = {
            _FINGERPRINT.decode(): self.fingerprint,
            _NOTES.decode(): json.dumps(dict(notes or {}), sort_keys=True),
        }
        rejected = [reject_row(row) for row in rows if isinstance(row, Reject)]
        kept = [candidate_row(row) for row in rows if isinstance(row, Candidate)]
        write_rows(self.rejects(index), REJECTS, rejected, metadata)
        write_rows(self.candidates(index), CANDIDATES, kept, metadata)

    def sweep(self) -> list[str]:
        """Remove shards of another plan; returns their names."""
        own = {p for i in range(self.count) for p in (self.candidates(i), self.rejects(i))}
        strange = [
            path
            for pattern in ("candidates-*.parquet", "rejects-*.parquet")
            for path in sorted(self.folder.glob(pattern))
            if path not in own
        ]
        for path in strange:
            path.unlink()
        return [path.name for path in strange]

    def tally(self) -> Tally:
        """Candidates kept and rejected with reasons, over all units."""
        return Tally.merged(self._tally_of(index) for index in range(self.count))

    def _tally_of(self, index: int) -> Tally:
        tally = Tally()
        tally.keep(pq.read_metadata(self.candidates(index)).num_rows)
        reasons = pq.read_table(self.rejects(index), columns=["reason"]).column("reason")
        for entry in reasons.value_counts().to_pylist():
            tally.refuse(entry["values"], entry["counts"])
        return tally

    def notes(self) -> Counter[str]:
        """Sums of the units' notes."""
        total: Counter[str] = Counter()
        for index in range(self.count):
            metadata = pq.read_schema(self.candidates(index)).metadata
            total.update(json.loads(metadata[_NOTES]))
        return total

    def write_manifest(self, about: dict[str, Any]) -> Tally:
        """Write ``manifest.json``: ``about``, the tally, the notes, and rows and sha256 of every shard.

        Returns:
            The tally.
        """
        tally = self.tally()
        files = [p for i in range(self.count) for p in (self.candidates(i), self.rejects(i))]
        shards = [
            {"file": p.name, "rows": pq.read_metadata(p).num_rows, "sha256": sha256_of(p)}
            for p in files
        ]
        body = {
            "fingerprint": self.fingerprint,
            "tally": tally.to_dict(),
            "notes": dict(self.notes()),
            "shards": shards,
        }
        write_json(self.folder / MANIFEST, {**about, **body})
        return tally


def _fingerprint_of(path: Path) -> str | None:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (FileNotFoundError, pa.ArrowInvalid, OSError):
        return None
    found = metadata.get(_FINGERPRINT)
    return found.decode() if found else None
