"""Counts the rows of a folder of candidates, and checks their runs and licences before a release."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST, column_names, read_batches
from pipeline.corpus.checked import listed_facts
from pipeline.corpus.counts import Survey
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, canonical, licence_ids
from pipeline.corpus.rows import RELEASED_REJECTS, generations
from pipeline.release.shards import CONFIGS


def survey(shards: Shards) -> Survey:
    """Count rows by licence and reason, and by generation where they name it.

    Raises:
        InputError: a shard has no such columns or is damaged, a row has no licence, the rows are fewer
            or more than the manifest says, or a row's generation is not in the manifest.
    """
    found, known = Survey(), generations(shards)
    said = listed_facts(shards.manifest or {}, shards.place)
    for config, files in zip(CONFIGS, (shards.accepted, shards.rejects), strict=True):
        for path in files:
            wanted = ["license"] + ["reason"] * (config == "rejected")
            wanted += ["generation"] * ("generation" in column_names(path))
            columns = pa.schema([RELEASED_REJECTS.field(name) for name in wanted])
            rows = 0
            for batch in found.counted(read_batches(path, columns, 65_536), config):
                rows += len(batch)
                _require_licences(batch, path)
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


def _require_licences(batch: pa.RecordBatch, path: Path) -> None:
    if missing := batch.column("license").null_count:
        rows = f"{missing:,} rows have" if missing > 1 else "a row has"
        raise InputError(
            f"{rows} no licence, not even {UNKNOWN!r}", path=path,
            remedy="`conjoin validate` says which; make or get the corpus again",
        )  # fmt: skip


def declared(licenses: Mapping[str, int], license_: str | None) -> dict[str, int]:
    """The licences of the rows once those that say unknown have the one that is declared."""
    named: Counter[str] = Counter()
    for expression, rows in licenses.items():
        named[canonical(license_) if license_ and expression == UNKNOWN else expression] += rows
    return dict(sorted(named.items()))


def without_the_text(expression: str) -> str:
    """What to do about rows whose text must not be handed on."""
    remedy = "`--stand-off` releases the corpus without the source's sentences"
    if expression == UNKNOWN:
        return f"name it with `--license`, or {remedy}"
    if UNKNOWN in licence_ids(expression):
        return (
            "`--license` does not tell which of a row's sentences it is for: name it with `conjoin "
            f"ingest --license` where those are from and generate again, or {remedy}"
        )
    return remedy
