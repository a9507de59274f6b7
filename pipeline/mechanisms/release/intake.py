"""What a folder of candidates must be before it is released: whole, of one run or known ones, licensed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.ground.batches import read_batches
from pipeline.ground.errors import InputError
from pipeline.ground.parquet import MANIFEST
from pipeline.mechanisms.commits import FileFacts
from pipeline.mechanisms.sharing.generations import generations
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.licences import UNKNOWN, terms
from pipeline.mechanisms.sharing.rows import RELEASED_REJECTS

__all__ = ["CONFIGS", "Survey", "declared", "require_permission", "require_whole", "survey"]

CONFIGS = ("train", "rejected")
"""The two configurations of a release: usable candidates, and rejects."""

_FINGERPRINT = b"conjoin.fingerprint"


@dataclass
class Survey:
    """What is counted before a row is written.

    Attributes:
        rows: by configuration.
        licenses: rows of both configurations by what their column ``license`` says.
        generations: rows by key of a generation and configuration.
        reasons: rejects by reason.
    """

    rows: Counter[str] = field(default_factory=Counter)
    licenses: Counter[str] = field(default_factory=Counter)
    generations: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)


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
    facts = _facts(manifest, place)
    there = {path.relative_to(place).as_posix(): path for path in _files(shards)}
    again = "make or get the corpus again"
    for name, path in there.items():
        own = manifest.get("fingerprint")
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


def _facts(manifest: Mapping[str, Any], place: Path) -> dict[str, FileFacts]:
    try:
        return {
            str(e["file"]): FileFacts(int(e["rows"]), int(e["bytes"]), str(e["sha256"]))
            for e in manifest["shards"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "not a manifest of a corpus: it has no list of shards with rows, bytes and sha256",
            path=place / MANIFEST, remedy="make or get the corpus again",
        ) from error  # fmt: skip


def _files(shards: Shards) -> tuple[Path, ...]:
    return shards.accepted + shards.rejects


def _fingerprint(path: Path) -> str | None:
    """The run that a shard's footer names; None where it names none or cannot be read."""
    try:
        found = (pq.read_schema(path).metadata or {}).get(_FINGERPRINT)
    except (pa.ArrowException, OSError):
        return None
    return None if found is None else found.decode()


def survey(shards: Shards) -> Survey:
    """Count rows by licence, generation and reason.

    Raises:
        InputError: a shard has no such columns or is damaged, its rows are fewer or more than the
            manifest says, or a row's generation is not in the manifest.
    """
    known = generations(shards)
    found = Survey(generations={key: Counter() for key in known})
    said = _facts(shards.manifest or {}, shards.place)
    for config, files in zip(CONFIGS, (shards.accepted, shards.rejects), strict=True):
        for path in files:
            rows = _count(path, config, found)
            expected = said[path.relative_to(shards.place).as_posix()].rows
            if rows != expected:
                raise InputError(
                    f"holds {rows} rows, but {MANIFEST} says {expected}",
                    path=path, remedy="make or get the corpus again",
                )  # fmt: skip
    strange = sorted(found.generations.keys() - known.keys())
    if strange:
        raise InputError(
            f"{found.generations[strange[0]].total()} rows are of generation {strange[0]!r}, of which "
            f"{MANIFEST} says nothing",
            path=shards.place, remedy="make or get the corpus again",
        )  # fmt: skip
    return found


def _count(path: Path, config: str, found: Survey) -> int:
    wanted = ["license"] + (["reason"] if config == "rejected" else [])
    try:
        own = "generation" in pq.read_schema(path).names
    except (pa.ArrowException, OSError):
        own = False  # ``read_batches`` says what is wrong
    columns = pa.schema([RELEASED_REJECTS.field(n) for n in wanted + ["generation"] * own])
    rows = 0
    for batch in read_batches(path, columns, 65_536):
        rows += len(batch)
        found.licenses.update(_values(batch, "license"))
        if config == "rejected":
            found.reasons.update(_values(batch, "reason"))
        if own:
            for key, count in _values(batch, "generation").items():
                found.generations.setdefault(key, Counter())[config] += count
    found.rows[config] += rows
    if not own and rows:
        for key in found.generations:  # of a run of ``generate``: there is one
            found.generations[key][config] += rows
    return rows


def _values(batch: pa.RecordBatch, name: str) -> dict[str, int]:
    counts = pc.value_counts(batch.column(name)).to_pylist()
    return {str(each["values"]): each["counts"] for each in counts}


def declared(licenses: Mapping[str, int], license_: str | None) -> dict[str, int]:
    """The licences of the rows once those that say unknown have the one that is declared."""
    named: Counter[str] = Counter()
    for expression, rows in licenses.items():
        named[license_ if license_ and expression == UNKNOWN else expression] += rows
    return dict(sorted(named.items()))


def require_permission(licenses: Mapping[str, int], place: Path) -> None:
    """Refuse to hand on text whose licence is not known, or does not permit that.

    Args:
        licenses: rows by SPDX expression.
        place: the folder, for the message.

    Raises:
        InputError: there are such rows.
    """
    for expression, rows in licenses.items():
        found = terms(expression)
        if found.redistributable:
            continue
        remedy = "`--stand-off` releases the corpus without the source's words"
        if expression == UNKNOWN:
            remedy = f"name it with `--license`, or {remedy}"
        verdict = "forbids" if found.known else "does not permit"
        raise InputError(
            f"licence {expression!r} {verdict} handing on the text of {rows:,} rows ({found.why})",
            path=place, remedy=remedy,
        )  # fmt: skip
