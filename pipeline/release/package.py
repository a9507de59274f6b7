"""The shards and the manifest of a release, from rows that may be released.

The folder of a release: which one may be replaced, what stands in it besides rows, its checksums.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from pipeline import __version__
from pipeline.core.errors import InputError
from pipeline.core.files import read_json, sha256_of, write_json
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import read_sentences
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import Shards, apart
from pipeline.corpus.licences import UNKNOWN, combined
from pipeline.corpus.manifest import CHECKSUMS, FORMAT
from pipeline.corpus.rows import (
    RELEASED,
    RELEASED_REJECTS,
    STAND_OFF,
    STAND_OFF_REJECTS,
    generations,
    read_accepted,
    read_rejects,
)
from pipeline.release.shards import SOURCE, shard_count, shuffled, write_shards
from pipeline.release.stand_off import Repeats, StandOff
from pipeline.release.survey import CONFIGS, Survey

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


PROVENANCE = "provenance"
_PROJECT = ("dvc.yaml", "params.yaml")
_OWN = re.compile(
    r"README\.md|LICENSE|CITATION\.cff|croissant\.json|manifest\.json|SHA256SUMS"
    r"|(data|rejected)/train-[^/]*\.parquet|provenance/(dvc|params)\.yaml"
)
"""The files that a release has. Its sums do not tell: they may have been made again over others."""


def replaceable(out: Path, *sources: Path) -> Path:
    """The folder of a release to be, resolved; what is not a release is never replaced.

    Args:
        out: the folder named.
        sources: what the release is made of, which must outlive it.

    Raises:
        InputError: there is something else than a release, or it holds or is in a source.
    """
    place = apart(out, *sources)
    if not place.exists():
        return place
    remedy = "choose another --out, or remove it yourself"
    if not place.is_dir():
        raise InputError("there is a file of this name", path=out, remedy=remedy)
    if not any(place.iterdir()):
        return place
    if not _is_release(place):
        raise InputError("this folder is not a release and not empty", path=out, remedy=remedy)
    strange = [name for name in _names(place) if not _OWN.fullmatch(name)]
    if strange:
        raise InputError(
            f"the release there has {len(strange)} files that are not its own, first {strange[0]}",
            path=out, remedy=remedy,
        )  # fmt: skip
    return place


def _is_release(place: Path) -> bool:
    if not (place / MANIFEST).is_file():
        return False
    try:
        manifest = read_json(place / MANIFEST)
    except InputError:
        return False
    return isinstance(manifest, dict) and {"conjoin", "format", "shards"} <= manifest.keys()


def _names(folder: Path) -> Iterator[str]:
    """Every file's name relative to the folder, sorted."""
    files = (p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    yield from sorted(path.relative_to(folder).as_posix() for path in files)


def copy_provenance(folder: Path, project: Path, *sources: Path) -> None:
    """Copy dvc.yaml and params.yaml of a project into ``provenance/``, if they are conjoin's.

    Args:
        folder: of the release.
        project: the project's folder.
        sources: what the release is made of; if none of it lies in the project, nothing is copied,
            for then the project has nothing to do with it.
    """
    if not any(project.resolve() in source.resolve().parents for source in sources):
        return
    try:
        document = yaml.safe_load((project / "dvc.yaml").read_text(encoding="utf-8"))
        ours = "generate" in document["stages"]
    except (OSError, yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        return
    for name in _PROJECT if ours else ():
        if (project / name).is_file():
            (folder / PROVENANCE).mkdir(exist_ok=True)
            shutil.copyfile(project / name, folder / PROVENANCE / name)


def write_checksums(folder: Path) -> None:
    """Write ``SHA256SUMS``, which ``sha256sum -c`` reads, of every other file of the folder."""
    (folder / CHECKSUMS).unlink(missing_ok=True)
    lines = [f"{sha256_of(folder / name)}  {name}\n" for name in _names(folder)]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
