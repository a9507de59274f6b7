"""The shards and the manifest of a release, from rows that may be released."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import __version__
from pipeline.ground.files import write_json
from pipeline.ground.parquet import MANIFEST
from pipeline.ground.schema import read_sentences
from pipeline.mechanisms.release.intake import CONFIGS, Survey
from pipeline.mechanisms.release.order import SOURCE, shuffled
from pipeline.mechanisms.release.repeats import Repeats
from pipeline.mechanisms.release.standoff import StandOff
from pipeline.mechanisms.release.writing import shard_count, write_shards
from pipeline.mechanisms.sharing.digest import RowDigest
from pipeline.mechanisms.sharing.generations import generations, read_accepted, read_rejects
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.licences import UNKNOWN, combined
from pipeline.mechanisms.sharing.manifests import FORMAT
from pipeline.mechanisms.sharing.rows import (
    RELEASED,
    RELEASED_REJECTS,
    STAND_OFF,
    STAND_OFF_REJECTS,
)

__all__ = ["Facts", "write_release"]

_FULL = {"train": RELEASED, "rejected": RELEASED_REJECTS}
_BARE = {"train": STAND_OFF, "rejected": STAND_OFF_REJECTS}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a release says of itself.

    Attributes:
        name, version, authors, url: whose it is.
        command: the line that made it.
        seed: of the order of its rows.
        shards: of usable candidates; None: as many as need be.
        licenses: rows by SPDX expression.
        license: put in where rows say unknown.
        sources: facts of the source corpora.
    """

    name: str
    version: str
    authors: tuple[str, ...]
    url: str | None
    command: str
    seed: int
    shards: int | None
    licenses: Mapping[str, int]
    license: str | None
    sources: tuple[Mapping[str, Any], ...]


def write_release(
    folder: Path,
    shards: Shards,
    survey: Survey,
    about: Facts,
    *,
    source: Path | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[dict[str, Any], StandOff | None]:
    """Write shards and ``manifest.json`` into an empty folder.

    Args:
        folder: of the release.
        shards: where the rows are; ``require_whole`` and ``survey`` were content with it.
        survey: the latter's result.
        about: the rest.
        source: for a stand-off release, the ``sentences.parquet`` whose words it leaves out.
        advance: told how many more rows have been read or written; each is twice.

    Returns:
        The manifest; for a stand-off release also what was sealed.

    Raises:
        InputError: there are fewer rows than shards, the disk is full, or for a stand-off release
            the source is not that of the rows.
    """
    counts = {"train": shard_count(survey.rows["train"], about.shards)}
    counts["rejected"] = _rejected_count(survey, counts["train"])
    hiding = None
    if source is not None:
        hiding = StandOff(Repeats(s.words for s in read_sentences(source)))
    entries: list[dict[str, Any]] = []
    digests, full_digests = {}, {}
    for config, read in zip(CONFIGS, (read_accepted, read_rejects), strict=True):
        schema = _FULL[config] if hiding is None else _BARE[config]
        full = RowDigest()
        licensed = _licensed(_counted(read(shards), advance), about.license)
        with shuffled(licensed, _FULL[config], about.seed, source) as batches:
            stream = _counted(batches, advance)
            if hiding is not None:
                stream = hiding.convert(_added(stream, full), schema)
            made, whole = write_shards(
                folder, config, schema, stream, rows=survey.rows[config], count=counts[config]
            )
        entries += made
        digests[config], full_digests[config] = whole.hex(), full.hex()
    if hiding is not None and source is not None:
        hiding.require_own(source)
    manifest: dict[str, Any] = {
        "conjoin": __version__,
        "format": FORMAT,
        "name": about.name,
        "version": about.version,
        "authors": list(about.authors),
        "url": about.url,
        "license": combined(about.licenses),
        "licenses": dict(about.licenses),
        "stand_off": hiding is not None,
        "command": about.command,
        "seed": about.seed,
        "rows": {config: survey.rows[config] for config in CONFIGS},
        "digests": digests,
        "shards": entries,
        "generations": _generations(shards, survey),
        "sources": [dict(each) for each in about.sources],
    }
    if hiding is not None:
        manifest["full_digests"] = full_digests
    for key in ("merged", "dropped"):  # what `conjoin merge` did to the rows before
        if key in (shards.manifest or {}):
            manifest[key] = (shards.manifest or {})[key]
    write_json(folder / MANIFEST, manifest)
    return manifest, hiding


def _rejected_count(survey: Survey, train: int) -> int:
    """As many shards as give rejects' files no more rows than candidates' have; none for no rejects."""
    per_shard = max(1, -(-survey.rows["train"] // train))
    return -(-survey.rows["rejected"] // per_shard)


def _counted(
    batches: Iterable[pa.RecordBatch], advance: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        advance(len(batch))


def _licensed(batches: Iterable[pa.RecordBatch], license_: str | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if license_ is None:
            yield batch
            continue
        at = batch.schema.get_field_index("license")
        old = batch.column(at)
        new = pc.if_else(pc.equal(old, UNKNOWN), license_, old)
        columns = [new if i == at else column for i, column in enumerate(batch.columns)]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _added(batches: Iterable[pa.RecordBatch], digest: RowDigest) -> Iterator[pa.RecordBatch]:
    """The batches, whose rows as they would be with text go into a digest."""
    for batch in batches:
        digest.add(batch.drop_columns([SOURCE.name]))
        yield batch


def _generations(shards: Shards, survey: Survey) -> dict[str, Any]:
    """The runs behind the rows, each with how many of them it made."""
    return {
        key: {**about, "rows": {config: survey.generations[key][config] for config in CONFIGS}}
        for key, about in generations(shards).items()
    }
