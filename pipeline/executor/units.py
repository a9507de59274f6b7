"""A folder of work units: what lets any number of processes write one corpus, and be killed at it.

The plan is fixed before any process starts, a unit is made from start to end by one process, and it
counts as finished only by a commit record written after its files, which holds their SHA-256 and a
fingerprint of everything the rows depend on. So processes only choose indices, a rerun makes only
what is missing, stale or damaged, and the folder is the same for any number of processes.

The commit record of a work unit, and what a folder's state says about each unit.

A unit is finished if and only if its record says so: the record is written last, names every file
with its SHA-256, and carries a digest of itself, so that a change to a single bit of any of them is
found.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, digest_of, read_json, write_json
from pipeline.core.fingerprint import differences
from pipeline.core.parquet import MANIFEST, RECORDS, write_rows
from pipeline.core.tally import Tally


@dataclass(frozen=True, slots=True)
class Commit:
    """The record of a finished unit: its files by name, and counts of what its rows say and not."""

    fingerprint: str
    files: Mapping[str, FileFacts]
    tally: Tally
    notes: Mapping[str, int]

    def write(self, path: Path) -> None:
        """Write it with its digest, atomically."""
        body = {
            "fingerprint": self.fingerprint,
            "files": {name: asdict(facts) for name, facts in self.files.items()},
            "tally": self.tally.to_dict(),
            "notes": dict(self.notes),
        }
        write_json(path, {**body, "digest": digest_of(body)})

    @classmethod
    def read(cls, path: Path) -> "Commit | None":
        """The record in a file; None where there is none.

        Raises:
            InputError: the file is not a record, or not the one that was written.
        """
        if not path.exists():
            return None
        try:
            body = dict(read_json(path))
            if body.pop("digest") != digest_of(body):
                raise ValueError
            return cls(
                fingerprint=body["fingerprint"],
                files={name: FileFacts(**facts) for name, facts in body["files"].items()},
                tally=Tally.from_dict(body["tally"]),
                notes=body["notes"],
            )
        except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError("commit record unreadable", path=path) from error


@dataclass(frozen=True, slots=True)
class State:
    """Where a unit stands, and why it must be made again."""

    kind: Literal["current", "missing", "stale", "damaged"]
    why: str = ""


def resume_line(states: Sequence[State]) -> str | None:
    """One line on what is kept and what is made again and why; None where nothing was there."""
    of = {kind: [i for i, s in enumerate(states) if s.kind == kind] for kind in _KINDS}
    redone = sorted(of["damaged"] + of["stale"])
    if not of["current"] and not redone:
        return None
    line = f"{len(of['current'])} of {len(states)} shards are current"
    if of["missing"]:
        line += f"; {len(of['missing'])} still to be made"
    if not redone:
        return line
    groups: dict[State, list[int]] = {}
    for index in redone:
        groups.setdefault(states[index], []).append(index)
    parts = [
        f"shard{'s' if len(members) > 1 else ''} {_listed(members)} {state.kind} ({state.why})"
        for state, members in list(groups.items())[:_SHOWN]
    ]
    if len(groups) > _SHOWN:
        parts.append(f"and others for {len(groups) - _SHOWN} more reasons")
    return f"{line}; redoing {len(redone)}: {', '.join(parts)}"


_KINDS = ("current", "missing", "stale", "damaged")
_SHOWN = 8  # reasons, and indices of each, that a line can carry


def _listed(members: Sequence[int]) -> str:
    more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return ", ".join(map(str, members[:_SHOWN])) + more


_FINGERPRINT = "conjoin.fingerprint"


@dataclass(frozen=True)
class UnitFolder:
    """``count`` units in ``folder``; unit ``i`` is one Parquet file per kind, and a commit record.

    Attributes:
        folder: where the files are.
        count: number of units.
        schemas: the schema of each kind of file, by its name (``candidates``, ``rejects``).
        about: what the rows depend on, JSON-ready, in sections whose names explain a change.
        command: what makes such rows, for the manifest; they do not depend on it.
    """

    folder: Path
    count: int
    schemas: Mapping[str, pa.Schema]
    about: Mapping[str, Any]
    command: str | None = None

    @cached_property
    def fingerprint(self) -> str:
        """The digest of ``about``."""
        return digest_of(self.about)

    def path(self, kind: str, index: int) -> Path:
        """File of one kind of a unit."""
        return self.folder / f"{kind}-{self._name(index)}.parquet"

    def record(self, index: int) -> Path:
        """Commit record of a unit."""
        return self.folder / RECORDS / f"{self._name(index)}.json"

    def write(
        self,
        index: int,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        tally: Tally,
        notes: Mapping[str, int] | None = None,
    ) -> None:
        """Write one unit: its files, and then the record that makes it count.

        Args:
            index: the unit's.
            rows: the rows of each kind.
            tally: how many items were kept, and refused for which reason.
            notes: counts of what no row says.

        Raises:
            InputError: a row does not fit its schema, the folder cannot be written to, or the disk
                is full.
        """
        files = {}
        for kind, schema in self.schemas.items():
            path = self.path(kind, index)
            count = write_rows(path, schema, rows[kind], {_FINGERPRINT: self.fingerprint})
            files[path.name] = FileFacts.of(path, count)
        Commit(self.fingerprint, files, tally, notes or {}).write(self.record(index))

    def is_finished(self, index: int) -> bool:
        """Whether a unit has a record of this fingerprint; its files are not looked at."""
        try:
            commit = Commit.read(self.record(index))
        except InputError:
            return False
        return commit is not None and commit.fingerprint == self.fingerprint

    def state(self, index: int) -> State:
        """Where a unit stands, every byte of its files looked at."""
        try:
            commit = Commit.read(self.record(index))
        except InputError:
            return State("damaged", f"{self.record(index).name}: commit record unreadable")
        paths = [self.path(kind, index) for kind in self.schemas]
        if commit is None:
            there = any(path.exists() for path in paths)
            return State("stale", "no commit record") if there else State("missing")
        if commit.fingerprint != self.fingerprint:
            return State("stale", differences(self._known(commit.fingerprint), self.about))
        for path in paths:
            facts = commit.files.get(path.name)
            fault = facts.fault(path) if facts else "not in the commit record"
            if fault:
                return State("damaged", f"{path.name}: {fault}")
        return State("current")

    def begin(self) -> list[State]:
        """Make the folder ready for work, and say where each unit stands.

        Only under the folder's lock. The manifest goes if anything is to be done, for it would
        speak of what is no more; so do the records of damaged units, which else seem finished.

        Raises:
            InputError: the folder cannot be written to.
        """
        states = [self.state(index) for index in range(self.count)]
        if any(state.kind != "current" for state in states):
            (self.folder / MANIFEST).unlink(missing_ok=True)
        for index, state in enumerate(states):
            if state.kind == "damaged":
                self.record(index).unlink(missing_ok=True)
        if self._known(self.fingerprint) is None:
            write_json(self._about(self.fingerprint), dict(self.about))
        return states

    def sweep(self) -> list[str]:
        """Remove files of another plan and half-written ones; returns their names. Only under the lock."""
        own = {self.path(kind, i) for i in range(self.count) for kind in self.schemas}
        own |= {self.record(i) for i in range(self.count)}
        strange = [path for path in self._files() if path not in own]
        for path in strange:
            path.unlink()
        return [path.name for path in strange]

    def unmade(self) -> list[int]:
        """Units that are not current, in order; every byte of the folder is looked at."""
        return [index for index in range(self.count) if self.state(index).kind != "current"]

    def tally_of(self, index: int) -> Tally:
        """What a finished unit kept and refused.

        Raises:
            InputError: it is not finished.
        """
        return self._commit(index).tally

    def tally(self) -> Tally:
        """The sum of the units' tallies."""
        return Tally.merged(self._commit(index).tally for index in range(self.count))

    def notes(self) -> Counter[str]:
        """The sums of the units' notes."""
        total: Counter[str] = Counter()
        for index in range(self.count):
            total.update(self._commit(index).notes)
        return total

    def write_manifest(self) -> None:
        """Write ``manifest.json``, the last file: ``about``, the sums, and the facts of every shard.

        Raises:
            InputError: a unit is not finished.
        """
        for path in (self.folder / RECORDS).glob("about-*.json"):
            if path != self._about(self.fingerprint):
                path.unlink()
        shards = [
            {"file": name, **asdict(facts)}
            for index in range(self.count)
            for name, facts in self._commit(index).files.items()
        ]
        body: dict[str, Any] = {
            "tally": self.tally().to_dict(),
            "notes": dict(self.notes()),
            "shards": shards,
        }
        if self.command:
            body["command"] = self.command
        write_json(self.folder / MANIFEST, {**self.about, "fingerprint": self.fingerprint, **body})

    def _name(self, index: int) -> str:
        return f"{index:05d}-of-{self.count:05d}"

    def _about(self, fingerprint: str) -> Path:
        return self.folder / RECORDS / f"about-{fingerprint}.json"

    def _known(self, fingerprint: str) -> dict[str, Any] | None:
        """What another fingerprint stands for, if that was kept unharmed."""
        try:
            found = read_json(self._about(fingerprint))
        except (InputError, OSError, UnicodeDecodeError):
            return None
        return found if isinstance(found, dict) and digest_of(found) == fingerprint else None

    def _commit(self, index: int) -> Commit:
        commit = Commit.read(self.record(index))
        if commit is None or commit.fingerprint != self.fingerprint:
            raise InputError(
                "this unit is not finished",
                path=self.record(index),
                remedy="run the same command again",
            )
        return commit

    def _files(self) -> Iterable[Path]:
        """Files that units are made of, of whatever plan, and half-written ones."""
        yield from sorted(self.folder.glob(".*.tmp"))
        for kind in self.schemas:
            yield from sorted(self.folder.glob(f"{kind}-*-of-*.parquet"))
        yield from sorted((self.folder / RECORDS).glob(".*.tmp"))
        yield from sorted((self.folder / RECORDS).glob("*-of-*.json"))
