"""The lists beside a corpus's files: ``manifest.json``, and ``SHA256SUMS`` as ``sha256sum`` writes it.

A manifest may come from anywhere. Commands take what they use from it without asking again, so what must
stand in it, and in what form, is checked where it is read.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import TypedDict

from pipeline.core.annotation import Part
from pipeline.core.documents import Count, read_document_text, read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST
from pipeline.core.types import COLUMNS

FORMAT = max(each.since for each in COLUMNS)
"""Of a release's ``manifest.json`` and columns. Each new one came with columns that a reader of the one
before would take for strange."""

READABLE = tuple(range(1, FORMAT + 1))
"""Formats that are read. Releases of earlier ones lack the columns that came after them (``Column.since``);
those of the first three have but two conjuncts."""

_REMEDY = "make or get the corpus again"


class _Shape(BaseModel):
    """Keys of a JSON object; others may stand beside them."""

    model_config = ConfigDict(strict=True)


class _Shard(_Shape):
    file: str
    rows: Count
    bytes: Count
    sha256: str


class _Settings(TypedDict, total=False):
    """Settings by which documents choose their words; the others are only shown."""

    lm: str
    spans: str | None
    decoding: str | None
    coordinator: str | None
    coordinators: str | None


class _Tally(TypedDict):
    seen: Count
    kept: Count


class _Run(_Shape):
    settings: _Settings = {}
    inputs: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    tally: _Tally = {"seen": 0, "kept": 0}
    notes: dict[str, Count] = {}


class _Merged(_Shape):
    place: str
    rows: dict[str, Count]
    kept: dict[str, Count]


class _Selection(_Shape):
    command: str
    inputs: list[_Merged]


class _Earlier(_Shape):
    """A selection of rows that were merged since."""

    command: str


class _Trees(_Shape):
    sha256: str
    parser: str | None = None


class _Source(_Shape):
    corpus: str
    reader: str | None = None
    license: str
    sentences: dict[str, Count]
    sha256: str
    trees: _Trees | None = None
    named_trees: dict[str, _Trees] = {}


class _Candidates(_Run):
    """What ``generate``, ``merge`` and ``select`` write."""

    fingerprint: str = ""
    annotation: list[Part] = []
    generations: dict[str, _Run] = {}
    merged: list[_Merged] = []
    selection: _Selection | None = None
    selections: list[_Earlier] = []
    sources: list[_Source] = []
    shards: list[_Shard] = []


class _ReleasedShard(_Shard):
    config: Literal["train", "rejected"]
    digest: str


class _Counts(_Shape):
    train: Count
    rejected: Count


class _Digests(_Shape):
    train: str
    rejected: str


class _ReleasedRun(_Run):
    rows: _Counts


class _Release(_Shape):
    """What ``release`` and ``rehydrate`` write."""

    conjoin: str
    format: int
    name: str
    version: str
    authors: list[str]
    url: str | None
    license: str
    licenses: dict[str, Count]
    stand_off: bool
    rehydrated: bool = False
    command: str
    seed: int
    rows: _Counts
    digests: _Digests
    shards: list[_ReleasedShard]
    generations: dict[str, _ReleasedRun]
    sources: list[_Source]
    annotation: list[Part] = []
    merged: list[_Merged] = []
    selection: _Selection | None = None
    selections: list[_Earlier] = []
    withheld: dict[str, dict[str, Count]] = {}


class _StandOff(_Release):
    full_digests: _Digests


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """What is wrong with a key of a manifest.

    Attributes:
        key: such as ``shards[0].sha256``.
        missing: it is not there; else it is of another form than it must be.
        what: in words.
    """

    key: str
    missing: bool
    what: str


def manifest_faults(manifest: Mapping[str, Any], *, released: bool) -> list[ManifestFault]:
    """Keys that a manifest must have and lacks, and those of another form than they must be.

    Args:
        manifest: a JSON object, whatever is in it.
        released: it is of a release, of which more is required.
    """
    shape: type[_Shape] = _Candidates
    if released:
        shape = _StandOff if manifest.get("stand_off") else _Release
    try:
        shape.model_validate(manifest)
    except ValidationError as error:
        return [_fault(each["loc"], each["type"], each["msg"]) for each in error.errors()]
    return []


def _fault(places: tuple[int | str, ...], kind: str, why: str) -> ManifestFault:
    parts = (f"[{place}]" if isinstance(place, int) else f".{place}" for place in places)
    key, missing = "".join(parts).removeprefix("."), kind == "missing"
    what = f"it has no {key}" if missing else f"{key}: {why[:1].lower()}{why[1:]}"
    return ManifestFault(key, missing, what)


def is_release(place: Path, manifest: Mapping[str, Any] | None) -> bool:
    """Whether a folder is a release: its manifest says so, or its files lie as a release's do."""
    if "format" in (manifest or {}):
        return True
    if any(place.glob("candidates-*.parquet")) or any(place.glob("rejects-*.parquet")):
        return False
    return any(place.glob("data/*.parquet")) or any(place.glob("rejected/*.parquet"))


def read_manifest(place: Path) -> dict[str, Any] | None:
    """The ``manifest.json`` of a folder; None where there is none.

    Raises:
        InputError: it is no regular file, or not JSON, or what commands take from it is missing or of
            another form; the first such key is named.
    """
    path = place / MANIFEST
    if not os.path.lexists(path):
        return None
    manifest = read_json(path, object, remedy=_REMEDY)
    if not isinstance(manifest, dict):
        raise InputError("not a manifest of conjoin", path=path, remedy=_REMEDY)
    faults = manifest_faults(manifest, released=is_release(place, manifest))
    if faults:
        more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
        raise InputError(
            f"not a manifest of a corpus: {faults[0].what[:160]}{more}", path=path, remedy=_REMEDY
        )
    return manifest


CHECKSUMS = "SHA256SUMS"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


@dataclass(frozen=True, slots=True)
class SumLine:
    """A line of checksums.

    Attributes:
        number: of the line, from 1.
        text: as it stands there.
        name: of the file, relative to the folder; None if the line cannot be read or leads out of it.
        sha256: hex digest in lower case; empty where there is no name.
    """

    number: int
    text: str
    name: str | None
    sha256: str


def read_sums(path: Path) -> list[SumLine]:
    """The lines of a file of checksums.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    text = read_document_text(path, remedy=_REMEDY, errors="replace").removesuffix("\n")
    return [_line(number, line) for number, line in enumerate(text.split("\n"), 1)] if text else []


def _line(number: int, text: str) -> SumLine:
    found = _LINE.fullmatch(text)
    path = PurePosixPath(found[2] if found else "..")
    if not found or path.is_absolute() or ".." in path.parts:
        return SumLine(number, text, None, "")
    return SumLine(number, text, found[2].removeprefix("./"), found[1].lower())
