"""The folder of a corpus that may be broken: what lies there, and whether it is what its lists say.

Unlike ``layout.find_shards`` this goes on where something is wrong, and says so.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.ground.errors import InputError
from pipeline.ground.files import sha256_of
from pipeline.ground.parquet import MANIFEST, RECORDS
from pipeline.mechanisms.sharing.layout import Kind, Shards, find_shards
from pipeline.mechanisms.sharing.manifests import is_release, manifest_faults
from pipeline.mechanisms.sharing.sums import CHECKSUMS, read_sums
from pipeline.mechanisms.validation.violations import Violations

__all__ = ["Sums", "check_files", "take_stock"]

_DOCUMENTS = ("README.md", "LICENSE", "CITATION.cff", "croissant.json")


def take_stock(place: Path, found: Violations) -> Shards:
    """The shards of a corpus, as ``find_shards`` finds them where all is well.

    Raises:
        InputError: there is nothing to check.
    """
    if not place.is_dir():
        return find_shards(place)  # a file, or nothing
    manifest = _manifest(place / MANIFEST, found)
    released = is_release(place, manifest)
    layouts = ("data/*.parquet", "rejected/*.parquet") if released else _FOLDER
    accepted, rejects = (tuple(sorted(place.glob(layout))) for layout in layouts)
    if not accepted and not rejects and manifest is None:
        return find_shards(place)  # which says what may be named
    if (place / RECORDS).is_dir() and not (place / MANIFEST).exists():
        found.add("generation not finished", MANIFEST, "run `conjoin generate` again")
    kind: Kind = "candidates"
    if released:
        kind = "stand-off" if (manifest or {}).get("stand_off") else "release"
    for fault in manifest_faults(manifest, released=released) if manifest is not None else ():
        wrong = "manifest incomplete" if fault.missing else "manifest unreadable"
        found.add(wrong, MANIFEST, fault.what)
    return Shards(place, kind, accepted, rejects, manifest)


_FOLDER = ("candidates-*.parquet", "rejects-*.parquet")


def _manifest(path: Path, found: Violations) -> Mapping[str, Any] | None:
    if not path.exists():
        return None
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        found.add("manifest unreadable", MANIFEST, f"not JSON in UTF-8: {error}")
        return None
    if not isinstance(manifest, dict):
        found.add("manifest unreadable", MANIFEST, "not an object")
        return None
    return manifest


@dataclass
class Sums:
    """SHA-256 sums of files, each computed once."""

    known: dict[Path, str | None] = field(default_factory=dict)

    def of(self, path: Path) -> str | None:
        """Hex digest; None where there is no file that can be read."""
        if path not in self.known:
            try:
                self.known[path] = sha256_of(path) if path.is_file() else None
            except (OSError, InputError):
                self.known[path] = None
        return self.known[path]


def check_files(shards: Shards, sums: Sums, found: Violations) -> None:
    """Hold a folder's files against ``SHA256SUMS``, and a release against what belongs into one."""
    if shards.kind == "file":
        return
    place = shards.place
    if shards.kind != "candidates":
        for name in (MANIFEST, CHECKSUMS):
            if not (place / name).is_file():
                found.add("file missing", name, "every release has it")
        for name in _DOCUMENTS:
            _check_document(place / name, found)
    if (place / CHECKSUMS).is_file():
        _check_sums(place, sums, found)


def _check_document(path: Path, found: Violations) -> None:
    if not path.is_file():
        found.add("document missing", path.name, "every release has it")
        return
    try:
        text = path.read_text(encoding="utf-8")
        if not text.strip():
            found.add("document empty", path.name, "nothing stands in it")
        elif path.suffix == ".json" and not isinstance(json.loads(text), dict):
            found.add("document unreadable", path.name, "not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        found.add("document unreadable", path.name, str(error))


def _check_sums(place: Path, sums: Sums, found: Violations) -> None:
    listed = set()
    try:
        lines = read_sums(place / CHECKSUMS)
    except OSError as error:
        found.add("unreadable file", CHECKSUMS, str(error.strerror))
        return
    for line in lines:
        if line.name is None:
            told = f"line {line.number}: {line.text!r}"
            found.add("line of SHA256SUMS unreadable", CHECKSUMS, told)
            continue
        listed.add(line.name)
        actual = sums.of(place / line.name)
        if actual is None:
            found.add("file missing", line.name, "SHA256SUMS lists it")
        elif actual != line.sha256:
            found.add(
                "checksum differs", line.name, f"it is {actual}, SHA256SUMS has {line.sha256}"
            )
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        # What git or a hub's client keeps beside the files is none of the release's.
        hidden = any(part.startswith(".") for part in PurePosixPath(name).parts)
        if path.is_file() and not hidden and name != CHECKSUMS and name not in listed:
            found.add("file not in SHA256SUMS", name, "nothing says what it should hold")
