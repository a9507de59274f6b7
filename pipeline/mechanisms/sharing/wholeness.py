"""Whether a folder of candidates holds the files that its manifest lists, all of them and no others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.errors import InputError
from pipeline.ground.parquet import MANIFEST
from pipeline.mechanisms.commits import FileFacts
from pipeline.mechanisms.sharing.layout import Shards

__all__ = ["listed_facts", "require_whole", "strays"]

_FINGERPRINT = b"conjoin.fingerprint"


def require_whole(shards: Shards) -> None:
    """Hold a folder's files against its manifest, every byte.

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
    there = _there(shards)
    again = "make or get the corpus again"
    for name, path in there.items():
        if name not in facts or (own is not None and _fingerprint(path) not in (None, own)):
            raise InputError(
                f"a shard from another run than the {MANIFEST} beside it", path=path,
                remedy="remove it, or run `conjoin generate` again",
            )  # fmt: skip
    for name, expected in facts.items():
        fault = expected.fault(there[name]) if name in there else "gone"
        if fault:
            raise InputError(
                f"not as {MANIFEST} says: {fault}", path=place / name, remedy=again
            )  # fmt: skip
        if own is not None and _fingerprint(there[name]) is None:
            raise InputError("a shard of no run of conjoin", path=place / name, remedy=again)


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
                raise InputError(
                    f"it lists {name} twice", path=place / MANIFEST,
                    remedy="make or get the corpus again",
                )  # fmt: skip
            facts[name] = FileFacts(int(entry["rows"]), int(entry["bytes"]), str(entry["sha256"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "not a manifest of a corpus: it has no list of shards with rows, bytes and sha256",
            path=place / MANIFEST, remedy="make or get the corpus again",
        ) from error  # fmt: skip
    return facts


def strays(shards: Shards) -> str | None:
    """How a folder's files differ from its manifest's list by name and size; None if they do not.

    No file is read, so this is what commands that only count or copy can tell at once.
    """
    if "shards" not in (shards.manifest or {}):
        return None
    facts, there = listed_facts(shards.manifest or {}, shards.place), _there(shards)
    found = {
        "missing": sorted(facts.keys() - there.keys()),
        "not in its list": sorted(there.keys() - facts.keys()),
        "of another size": sorted(
            name for name in facts.keys() & there.keys() if _size(there[name]) != facts[name].bytes
        ),
    }
    told = [f"{len(names):,} {what} (first {names[0]})" for what, names in found.items() if names]
    if not told:
        return None
    return (
        f"{shards.place}: not all the files that {MANIFEST} lists: {', '.join(told)}; "
        "`conjoin validate` says more"
    )


def _there(shards: Shards) -> dict[str, Path]:
    files = shards.accepted + shards.rejects
    return {path.relative_to(shards.place).as_posix(): path for path in files}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _fingerprint(path: Path) -> str | None:
    """The run that a shard's footer names; None where it names none or cannot be read."""
    try:
        found = (pq.read_schema(path).metadata or {}).get(_FINGERPRINT)
    except (pa.ArrowException, OSError):
        return None
    return None if found is None else found.decode()
