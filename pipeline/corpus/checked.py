"""The door by which commands read candidates: every byte of a folder's files is held against its manifest.

All files that the manifest lists must be there as they were written, and no others of their names. What
that costs is one reading of the files, about two seconds a gigabyte; who reads rows spends more on decoding
them. A single Parquet file has no manifest, nor has a stranger's folder, and the oldest manifests list no
files: there is nothing to hold those against.
"""

from collections.abc import Mapping, Set
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pipeline.core.candidates import candidate_shards, has_candidates
from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts
from pipeline.core.parquet import MANIFEST, read_schema
from pipeline.core.schema import read_candidates
from pipeline.core.types import Candidate
from pipeline.corpus.layout import Shards, find_shards

_FINGERPRINT = b"conjoin.fingerprint"

_LONG = 2**30
"""Bytes that take seconds to read, so that progress is shown."""

_AGAIN = "make or get the corpus again; `conjoin validate` says more"


def open_shards(place: Path, also: str = "") -> Shards:
    """The files of a corpus, which are what its manifest says.

    Args:
        place: the folder, or the file.
        also: as of ``find_shards``.

    Raises:
        InputError: as ``find_shards`` and ``require_whole``, but for a manifest that is not there or lists
            no files.
    """
    shards = find_shards(place, also)
    if "shards" in (shards.manifest or {}):
        require_whole(shards)
    return shards


def open_candidates(folder: Path) -> list[Path]:
    """The files of usable candidates in a folder, in order, which are what its manifest says.

    None where there are neither candidates nor a manifest.

    Raises:
        InputError: as ``candidate_shards`` and ``open_shards``.
    """
    if not has_candidates(folder):
        return []
    open_shards(folder)
    return candidate_shards(folder)


def find_candidates(wanted: Set[tuple[Path, str]]) -> dict[tuple[Path, str], Candidate]:
    """Candidates that training judged, by (folder, id).

    Raises:
        InputError: one is not in its folder any more, or a folder is not what its manifest says.
    """
    found = {}
    for folder in sorted({folder for folder, _ in wanted}):
        ids = {candidate_id for place, candidate_id in wanted if place == folder}
        for shard in open_candidates(folder):
            for candidate in read_candidates(shard, ids):
                found[folder, candidate.candidate_id] = candidate
    for folder, candidate_id in sorted(wanted - found.keys()):
        raise InputError(
            f"candidate {candidate_id} was judged in training but is not here",
            path=folder,
            remedy="the candidates were made again since: run `conjoin train` again",
        )
    return found


def require_whole(shards: Shards) -> None:
    """Check every byte of a folder's files against its manifest.

    Raises:
        InputError: there is no manifest of shards, a shard is missing, damaged, or of another run.
    """
    manifest, place = shards.manifest, shards.place
    if manifest is None:
        raise InputError(
            "no manifest.json: nothing says who made these rows, and whether they are all",
            path=place, remedy="name a folder that `conjoin generate` or `conjoin merge` finished",
        )  # fmt: skip
    facts, own = listed_facts(manifest, place), manifest.get("fingerprint")
    files = (*shards.accepted, *shards.rejects)
    there = {path.relative_to(place).as_posix(): path for path in files}
    for name, path in there.items():
        if name not in facts or (own is not None and _fingerprint(path) not in (None, own)):
            raise InputError(
                f"a shard from another run than the {MANIFEST} beside it", path=path,
                remedy="remove it, or run again what made the folder (`conjoin generate`, `harvest`)",
            )  # fmt: skip
    size = sum(each.bytes for each in facts.values())
    meter = Meter(f"bytes held against {MANIFEST}", size) if size >= _LONG else None
    with meter or nullcontext():
        for name, expected in facts.items():
            fault = expected.fault(there[name]) if name in there else "gone"
            if fault:
                raise InputError(
                    f"not as {MANIFEST} says: {fault}", path=place / name, remedy=_AGAIN
                )  # fmt: skip
            if own is not None and _fingerprint(there[name]) is None:
                raise InputError("a shard of no run of conjoin", path=place / name, remedy=_AGAIN)
            if meter:
                meter.advance(expected.bytes)


def listed_facts(manifest: Mapping[str, Any], place: Path) -> dict[str, FileFacts]:
    """Rows, bytes and checksum of each shard that a manifest lists, by its name.

    Raises:
        InputError: it has no such list, or lists a file twice.
    """
    facts: dict[str, FileFacts] = {}
    try:
        for entry in manifest["shards"]:
            name = str(entry["file"])
            if name in facts:
                raise InputError(f"it lists {name} twice", path=place / MANIFEST, remedy=_AGAIN)
            facts[name] = FileFacts(int(entry["rows"]), int(entry["bytes"]), str(entry["sha256"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "not a manifest of a corpus: it has no list of shards with rows, bytes and sha256",
            path=place / MANIFEST, remedy=_AGAIN,
        ) from error  # fmt: skip
    return facts


def _fingerprint(path: Path) -> str | None:
    """The run that a shard's footer names; None where it names none or cannot be read."""
    try:
        found = (read_schema(path).metadata or {}).get(_FINGERPRINT)
    except InputError:
        return None
    return None if found is None else found.decode()
