"""A folder of work units, which any number of processes write together and may be killed while writing.

The plan is fixed before any process starts, a unit is made from start to end by one process, and it
counts as finished only by a commit record written after its files (``core/fingerprint.py``). So
processes only choose indices, a rerun makes only what is missing, stale or damaged, and the folder is
the same for any number of processes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NotRequired

import pyarrow as pa
from typing_extensions import TypedDict

from pipeline.core.cards.parts import FileOfRows, PartForm, TallyForm
from pipeline.core.documents import Count, check_form, read_json
from pipeline.core.errors import InputError
from pipeline.core.files import (
    FileFacts,
    digest_of,
    half_written,
    sha256_of,
    sweep,
    write_json,
)
from pipeline.core.fingerprint import Fingerprint, Output, State
from pipeline.core.parquet import (
    COMPLETIONS,
    FINGERPRINT,
    MANIFEST,
    RECORDS,
    fingerprint_in,
    write_rows,
)
from pipeline.core.tally import Tally


def resume_line(states: Sequence[State]) -> str | None:
    """One line on what is kept and what is made again and why; None where nothing was there."""
    kinds = Counter(state.kind for state in states)
    if kinds["missing"] == len(states):
        return None
    line = f"{kinds['current']} of {len(states)} shards are current"
    if kinds["missing"]:
        line += f"; {kinds['missing']} still to be made"
    groups: dict[State, list[int]] = {}
    for index, state in enumerate(states):
        if state.kind in {"damaged", "stale"}:
            groups.setdefault(state, []).append(index)
    if not groups:
        return line
    parts = [
        f"shard{'s' if len(members) > 1 else ''} {_listed(members)} {state.kind} ({state.why})"
        for state, members in list(groups.items())[:_SHOWN]
    ]
    if len(groups) > _SHOWN:
        parts.append(f"and others for {len(groups) - _SHOWN} more reasons")
    redone = kinds["damaged"] + kinds["stale"]
    return f"{line}; redoing {redone}: {', '.join(parts)}"


_SHOWN = 8  # reasons, and indices of each, that a line can carry


def _listed(members: Sequence[int]) -> str:
    more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return ", ".join(map(str, members[:_SHOWN])) + more


REMEDY = "remove it"
"""What to do about a record that is not as it was written."""


class UnitFacts(TypedDict):
    """What a unit's record says beside its files.

    ``content`` is a digest of what its rows depend on (``UnitContent``), where units can be taken over, and
    ``of_run`` names notes that are of the whole run.
    """

    tally: TallyForm
    notes: dict[str, Count]
    content: NotRequired[str]
    of_run: NotRequired[list[str]]


@dataclass(frozen=True, slots=True)
class UnitContent:
    """What the rows of a unit depend on.

    Attributes:
        items: of a unit, JSON-ready: all that it reads of the inputs of ``told``.
        told: settings and inputs that the items tell all of: how many there are, and of which files.
    """

    items: Callable[[int], Any]
    told: Set[str]

    def common(self, fingerprint: Fingerprint) -> Fingerprint:
        """What all units depend on alike."""
        return replace(
            fingerprint,
            settings=self.untold(fingerprint.settings),
            inputs=self.untold(fingerprint.inputs),
        )

    def untold(self, section: Any) -> Any:
        """A section of a fingerprint without what items tell."""
        if not isinstance(section, Mapping):
            return section
        return {name: value for name, value in section.items() if name not in self.told}

    def digest(self, fingerprint: Fingerprint, unit: int) -> str:
        """Of the content of a unit."""
        return digest_of([self.common(fingerprint).to_dict(), self.items(unit)])


_UNIT = r"-\d{5,}-of-\d{5,}\.parquet"


def patterns_of(kinds: Iterable[str]) -> list[str]:
    """Patterns of what runs write into a folder of units, or remove from it: shards, and the manifest."""
    return [MANIFEST, *(f"{kind}-*-of-*.parquet" for kind in kinds)]


def written_units(folder: Path, kinds: Iterable[str]) -> set[str]:
    """The files that runs wrote into a folder of units, of whatever plan.

    Of a shard a unit's record says so, or the manifest, or the shard: it has its run's fingerprint.
    """
    found = set[str]()
    for path in (folder / MANIFEST, *(folder / RECORDS).glob("*.json")):
        about = read_or_nothing(path)
        if path.name == MANIFEST and {"settings", "inputs", "shards"} <= about.keys():
            found.add(MANIFEST)
        files, shards = about.get("files"), about.get("shards")
        found.update(files if isinstance(files, dict) else ())
        found.update(
            str(each["file"])
            for each in (shards if isinstance(shards, list) else ())
            if isinstance(each, dict) and "file" in each
        )
    for kind in kinds:
        for path in folder.glob(f"{kind}-*-of-*.parquet"):
            if path.name not in found and fingerprint_in(path):
                found.add(path.name)
    return found


def read_or_nothing(path: Path) -> Mapping[str, Any]:
    """A JSON object; nothing of a file that is none, which a run makes anew."""
    try:
        found: Mapping[str, Any] = read_json(path)
    except InputError:
        return {}
    return found


@dataclass(frozen=True)
class UnitFolder:
    """``count`` units in ``folder``; unit ``i`` is one Parquet file per kind, and a commit record.

    Attributes:
        folder: where the files are.
        count: number of units.
        schemas: the schema of each kind of file, by its name (``candidates``, ``rejects``).
        fingerprint: what the rows depend on.
        command: what makes such rows, for the manifest; they do not depend on it.
        annotation: what people had annotated for them, for the manifest; they do not depend on that either.
        content: what tells whether a unit of an earlier plan may be taken over; None: none is.
        notes_of_run: counts that concern the whole run, noted with the first unit.
    """

    folder: Path
    count: int
    schemas: Mapping[str, pa.Schema]
    fingerprint: Fingerprint
    command: str | None = None
    annotation: Sequence[PartForm] | None = None
    content: UnitContent | None = None
    notes_of_run: Mapping[str, int] = field(default_factory=dict)

    def path(self, kind: str, index: int) -> Path:
        """File of one kind of a unit."""
        return self.folder / f"{kind}-{self._name(index)}.parquet"

    def record(self, index: int) -> Path:
        """Commit record of a unit."""
        return self.folder / RECORDS / f"{self._name(index)}.json"

    def answers(self, index: int) -> Path:
        """File of what was answered for a unit, which outlives a run that is killed amid it."""
        return self.folder / RECORDS / f"{COMPLETIONS}-{self._name(index)}.jsonl"

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
            count = write_rows(path, schema, rows[kind], {FINGERPRINT: self.fingerprint.digest})
            files[path.name] = FileFacts.of(path, count)
        of_run = {} if index else self.notes_of_run
        facts: UnitFacts = {"tally": tally.to_dict(), "notes": {**(notes or {}), **of_run}}
        if of_run:
            facts["of_run"] = sorted(of_run)
        if self.content is not None:
            facts["content"] = self.content.digest(self.fingerprint, index)
        self._output(index).finish(files, facts)

    def is_finished(self, index: int) -> bool:
        """Whether a unit has a record of this fingerprint; its files are not looked at."""
        return self._output(index).finished() is not None

    def state(self, index: int) -> State:
        """The state of a unit, after reading every byte of its files."""
        return self._output(index).state([self.path(kind, index).name for kind in self.schemas])

    def begin(self) -> list[State]:
        """Make the folder ready for work, and return the state of each unit.

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
                self._output(index).begin()
        if self.known(self.fingerprint.digest) is None:
            write_json(self._about(self.fingerprint.digest), self.fingerprint.to_dict())
        return states

    def sweep(self) -> list[str]:
        """Remove files of another plan and half-written ones; returns their names. Only under the lock."""
        now = {self.path(kind, i) for i in range(self.count) for kind in self.schemas}
        now |= {place(i) for i in range(self.count) for place in (self.record, self.answers)}
        old = [path for path in self._files() if path not in now]
        for path in old:
            path.unlink()
        return [path.name for path in old]

    def unmade(self) -> list[int]:
        """Units that are not current, in order; every byte of the folder is looked at."""
        return [index for index in range(self.count) if self.state(index).kind != "current"]

    def tally_of(self, index: int) -> Tally:
        """What a finished unit kept and refused.

        Raises:
            InputError: it is not finished.
        """
        return Tally.from_dict(self._facts(index)["tally"])

    def tally(self) -> Tally:
        """The sum of the units' tallies."""
        return Tally.merged(map(self.tally_of, range(self.count)))

    def notes(self) -> Counter[str]:
        """The sums of the units' notes."""
        total: Counter[str] = Counter()
        for index in range(self.count):
            total.update(self._facts(index)["notes"])
        return total

    def write_manifest(self) -> None:
        """Write ``manifest.json``, the last file: the fingerprint, the sums, and the facts of every shard.

        Raises:
            InputError: a unit is not finished.
        """
        digest = self.fingerprint.digest
        for path in (self.folder / RECORDS).glob("about-*.json"):
            if path != self._about(digest):
                path.unlink()
        shards: list[FileOfRows] = [
            {"file": name, "rows": facts.rows or 0, "bytes": facts.bytes, "sha256": facts.sha256}
            for index in range(self.count)
            for name, facts in self._output(index).require().files.items()
        ]
        sums: UnitFacts = {"tally": self.tally().to_dict(), "notes": dict(self.notes())}
        more = {"command": self.command or None, "annotation": self.annotation}
        write_json(
            self.folder / MANIFEST,
            self.fingerprint.to_dict()
            | {"fingerprint": digest, **sums, "shards": shards}
            | {key: value for key, value in more.items() if value is not None},
        )

    def write_whole(self, name: str, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a file made of all units, when the manifest stands, by which one knows what it is of.

        Raises:
            InputError: as ``write``.
        """
        path = self.folder / name
        sweep(path)
        write_rows(path, schema, rows, {FINGERPRINT: sha256_of(self.folder / MANIFEST)})

    def _facts(self, index: int) -> Mapping[str, Any]:
        facts = self._output(index).require().facts
        check_form(facts, UnitFacts, path=self.record(index), remedy=REMEDY)
        return facts

    def _name(self, index: int) -> str:
        return f"{index:05d}-of-{self.count:05d}"

    def _about(self, digest: str) -> Path:
        return self.folder / RECORDS / f"about-{digest}.json"

    def known(self, digest: str) -> dict[str, Any] | None:
        """The JSON form of the fingerprint with this digest, if it was kept unharmed."""
        try:
            found = read_json(self._about(digest))
        except (InputError, OSError, UnicodeDecodeError):
            return None
        return found if isinstance(found, dict) and digest_of(found) == digest else None

    def _output(self, index: int) -> Output:
        return Output(self.folder, self.record(index), self.fingerprint, self.known)

    def _files(self) -> Iterable[Path]:
        """Files that units are made of, of whatever plan, and half-written ones."""
        kinds = "|".join(map(re.escape, self.schemas))
        half = re.compile(rf"(?:{kinds}){_UNIT}|{re.escape(MANIFEST)}")
        yield from (
            p for p in sorted(self.folder.glob(".*.tmp")) if half.fullmatch(half_written(p))
        )
        written = written_units(self.folder, self.schemas)
        for kind in self.schemas:
            shards = sorted(self.folder.glob(f"{kind}-*-of-*.parquet"))
            yield from (path for path in shards if path.name in written)
        records = self.folder / RECORDS  # where nobody else writes
        yield from (p for p in sorted(records.glob(".*.tmp")) if half_written(p))
        yield from sorted(records.glob("*-of-*.json"))
        yield from sorted(records.glob(f"{COMPLETIONS}-*-of-*.jsonl"))
