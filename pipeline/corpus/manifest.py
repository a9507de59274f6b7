"""The lists beside a corpus's files: ``manifest.json``, and ``SHA256SUMS`` as ``sha256sum`` writes it.

A manifest may come from anywhere: where it is read, each key is named that is missing or of another form.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pipeline.core.cards.candidates import CandidatesManifest, ReleaseManifest
from pipeline.core.documents import read_document_text, read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST
from pipeline.core.types import COLUMNS

FORMAT = max(each.since for each in COLUMNS)
"""Of a release's ``manifest.json`` and columns. Each new one came with columns that a reader of the one
before would take for strange."""

READABLE = tuple(range(1, FORMAT + 1))
"""Formats that are read; releases of others are refused. Those of earlier formats lack the columns that came
after them (``Column.since``), and those of the first three have but two conjuncts."""

_REMEDY = "make or get the corpus again"


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
    faults = []
    try:
        _FORMS[released].validate_python(manifest, strict=True)
    except ValidationError as error:
        faults = [_fault(each["loc"], each["type"], each["msg"]) for each in error.errors()]
    if released and manifest.get("stand_off") and "full_digests" not in manifest:
        faults.append(_fault(("full_digests",), "missing", ""))
    return faults


_FORMS = {False: TypeAdapter[Any](CandidatesManifest), True: TypeAdapter[Any](ReleaseManifest)}


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
        InputError: it is no regular file, or not JSON, of a format that is not read, or what commands take
            from it is missing or of another form; the first such key is named.
    """
    path = place / MANIFEST
    if not os.path.lexists(path):
        return None
    manifest = read_json(path, object, remedy=_REMEDY)
    if not isinstance(manifest, dict):
        raise InputError("not a manifest of conjoin", path=path, remedy=_REMEDY)
    if manifest.get("kind") == "predictor":
        raise InputError(
            "a release of a predictor, which has no rows", path=place,
            remedy="`conjoin validate`, `push` and `predict` take it",
        )  # fmt: skip
    released = is_release(place, manifest)
    if released and manifest.get("format", FORMAT) not in READABLE:
        raise InputError(
            f"format {str(manifest['format'])[:20]} of releases, of which this version reads 1 to {FORMAT}",
            path=path, remedy="install the version that made it, or a later one",
        )  # fmt: skip
    faults = manifest_faults(manifest, released=released)
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
