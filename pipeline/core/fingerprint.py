"""What an output depends on, and whether it is finished: current, missing, stale or damaged.

An output is finished if and only if a record says so: the record is removed before the output's files
change and written after them, names each with its SHA-256, and carries a digest of itself, so that a
change to a single bit of any of them is found. The bytes of the code make nothing stale: a stage whose
rows change raises its ``ALGORITHM`` number, and golden tests (tests/test_golden.py) see to that.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict

from pipeline.core.cards.parts import FileForm
from pipeline.core.documents import RelativeName, read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, digest_of, sha256_of, write_json


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything that the rows of an output depend on.

    Attributes:
        settings: the settings that change rows, JSON-ready.
        inputs: what is read, by name: digests, or None where there is none.
        model: what tells the model apart from others: one string, or strings by name.
        algorithm: the stage's ``ALGORITHM``, raised by hand when a code change changes the rows.
        versions: of the libraries whose arithmetic or file format shows in the rows.
        machine: what sums are rounded by: ``device``, ``processes``, ``threads`` and the like.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    model: str | Mapping[str, str | None] | None = None
    algorithm: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form, in which the entries of ``machine`` stand beside the other fields."""
        return {
            "settings": dict(self.settings), "inputs": dict(self.inputs), "model": self.model,
            "algorithm": self.algorithm, "versions": dict(self.versions), **self.machine,
        }  # fmt: skip

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the JSON form."""
        return digest_of(self.to_dict())


def versions_of(*packages: str) -> dict[str, str]:
    """The installed version of each package."""
    return {package: version(package) for package in packages}


def differences(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str:
    """What changed between two fingerprints in JSON form, by name; empty where nothing did."""
    if old is None:
        return "made by settings that are not known any more"
    before, after = _flat(old), _flat(new)
    names = [k for k in (*after, *(before.keys() - after)) if before.get(k) != after.get(k)]
    changes = [_change(name, before.get(name), after.get(name)) for name in names]
    return ", ".join(dict.fromkeys(changes))


def _flat(about: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in about.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{head}{key}.")
        else:
            flat[head + key] = value
    return flat


def _change(name: str, old: Any, new: Any) -> str:
    section, _, key = name.rpartition(".")
    texts = ["unset" if each is None else str(each) for each in (old, new)]
    # Digests tell a reader nothing beyond that they differ.
    if section == "inputs":
        return f"input {key} changed"
    if key == "sha256" or any("sha256:" in text for text in texts):
        return f"{'model weights' if 'model' in (section, key) else key} changed"
    return f"{'model' if section == 'model' else key} {texts[0]} → {texts[1]}"


@cache  # a process runs the code it began with
def code_digest() -> str:
    """Digest of the package's source files: recorded for information, compared with nothing."""
    package = Path(__file__).resolve().parents[1]
    files = sorted(package.rglob("*.py"))
    return digest_of({path.relative_to(package).as_posix(): sha256_of(path) for path in files})


class _Body(TypedDict):
    """A record as it stands in its file."""

    fingerprint: str
    files: dict[RelativeName, FileForm]
    digest: str


@dataclass(frozen=True, slots=True)
class State:
    """The state of an output, and why it must be made again."""

    kind: Literal["current", "missing", "stale", "damaged"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """What was written of a finished output: its fingerprint's digest, its files, and other facts."""

    fingerprint: str
    files: Mapping[str, FileFacts]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Output:
    """Files in a folder, and the record that says they are finished.

    Attributes:
        folder: what the names of the files are relative to.
        record: the record's file.
        fingerprint: what the files are to be made of.
        known: finds the JSON form of a fingerprint by its digest, where many outputs share one; None
            keeps it in the record, as ``about``.
    """

    folder: Path
    record: Path
    fingerprint: Fingerprint
    known: Callable[[str], Mapping[str, Any] | None] | None = None

    def begin(self) -> None:
        """Remove the record, before the files that it describes change."""
        self.record.unlink(missing_ok=True)

    def finish(self, files: Mapping[str, FileFacts], facts: Mapping[str, Any]) -> None:
        """Write the record, atomically, when all files are complete.

        Args:
            files: by their names in the folder.
            facts: what else is to be said, JSON-ready.

        Raises:
            InputError: the folder cannot be written to, or the disk is full.
        """
        body = {
            **facts,
            "fingerprint": self.fingerprint.digest,
            "files": {name: asdict(known) for name, known in files.items()},
            "code": code_digest(),
        }
        if self.known is None:
            body["about"] = self.fingerprint.to_dict()
        write_json(self.record, {**body, "digest": digest_of(body)})

    def read(self) -> OutputRecord | None:
        """The record, whatever its fingerprint; None where there is none.

        Raises:
            InputError: the file is not a record, or not the one that was written.
        """
        if not self.record.exists():
            return None
        try:
            body = dict(read_json(self.record, _Body))
            if body.pop("digest") != digest_of(body):
                raise ValueError
            files = {name: FileFacts(**facts) for name, facts in body["files"].items()}
            return OutputRecord(body["fingerprint"], files, body)
        except (InputError, ValueError, TypeError) as error:
            raise InputError("commit record unreadable", path=self.record) from error

    def finished(self) -> OutputRecord | None:
        """The record if it is of this fingerprint and unharmed; the files are not looked at."""
        try:
            record = self.read()
        except InputError:
            return None
        return record if record and record.fingerprint == self.fingerprint.digest else None

    def require(self) -> OutputRecord:
        """The record of the finished output; its files are not looked at.

        Raises:
            InputError: there is none, or it is of another fingerprint, or damaged.
        """
        if (record := self.finished()) is None:
            raise InputError(
                "this is not finished", path=self.record, remedy="run the same command again"
            )
        return record

    def state(self, files: Collection[str] = (), *, damage_first: bool = False) -> State:
        """The state of the output, after reading every byte of its files.

        Args:
            files: names of files that it must have; those of the record if none is given.
            damage_first: whether a file that is damaged matters even if it is stale.
        """
        try:
            record = self.read()
        except InputError:
            return State("damaged", f"{self.record.name}: commit record unreadable")
        if record is None:
            there = any((self.folder / name).exists() for name in files)
            return State("stale", "no commit record") if there else State("missing")
        stale = ""
        if record.fingerprint != self.fingerprint.digest:
            about = self.known(record.fingerprint) if self.known else record.facts.get("about")
            stale = differences(about, self.fingerprint.to_dict()) or "its description changed"
        if stale and not damage_first:
            return State("stale", stale)
        for name in files or record.files:
            facts = record.files.get(name)
            fault = facts.fault(self.folder / name) if facts else "not in the commit record"
            if fault:
                return State("damaged", f"{Path(name).name}: {fault}")
        return State("stale", stale) if stale else State("current")
