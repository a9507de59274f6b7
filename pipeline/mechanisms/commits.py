"""The commit record of a work unit, and what a folder's state says about each unit.

A unit is finished if and only if its record says so: the record is written last, names every file
with its SHA-256, and carries a digest of itself, so that a change to a single bit of any of them is
found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.ground.errors import InputError
from pipeline.ground.files import digest_of, read_json, sha256_of, write_json
from pipeline.ground.tally import Tally

__all__ = ["Commit", "FileFacts", "State", "differences", "resume_line"]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file held when it was written."""

    rows: int
    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path, rows: int) -> "FileFacts":
        """The facts of a file of ``rows`` rows."""
        return cls(rows, path.stat().st_size, sha256_of(path))

    def fault(self, path: Path) -> str | None:
        """How the file differs from what was written, or None."""
        try:
            size = path.stat().st_size
            if size != self.bytes:
                kind = "truncated" if size < self.bytes else "too long"
                return f"{kind}: {size} of {self.bytes} bytes"
            return None if sha256_of(path) == self.sha256 else "sha256 differs"
        except FileNotFoundError:
            return "gone"
        except OSError as error:
            return f"cannot be read: {error.strerror}"


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


def differences(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str:
    """What changed between two descriptions of what rows depend on, by name."""
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
    plain = {"inputs": f"input {key}", "model": "model", "code": "code"}.get(section or name, key)
    texts = ["unset" if each is None else str(each) for each in (old, new)]
    # Digests tell a reader nothing beyond that they differ.
    if section == "inputs" or name == "code" or any("sha256:" in text for text in texts):
        return f"{'model weights' if name == 'model' else plain} changed"
    return f"{plain} {texts[0]} → {texts[1]}"


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
