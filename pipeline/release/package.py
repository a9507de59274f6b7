"""The folder of a release: rows that may be released, manifest, provenance and checksums.

It also says by what an earlier release is known.
"""

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import __version__
from pipeline.core.annotation import Annotation, as_json, joined
from pipeline.core.candidates import HARVESTED
from pipeline.core.cards.candidates import (
    ReleasedShard,
    ReleaseManifest,
    RowsByPart,
    SourceFacts,
)
from pipeline.core.claims import Listed
from pipeline.core.documents import read_json, read_yaml
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import leads_out, sha256_of, write_json
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import coordinators_in, read_sentences
from pipeline.corpus.annotated import annotation_of
from pipeline.corpus.counts import Survey
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, canonical, combined
from pipeline.corpus.manifest import CHECKSUMS, FORMAT, read_sums
from pipeline.corpus.rows import WITH_TREES, generations, read_accepted, read_rejects
from pipeline.release.candidate_trees import CandidateTrees
from pipeline.release.kinds.protocol import HidingWords
from pipeline.release.settings import ReleaseSettings
from pipeline.release.shards import (
    CONFIGS,
    RELEASED,
    STAND_OFF,
    shard_count,
    shuffled,
    stored,
    with_source,
    write_shards,
)
from pipeline.release.stand_off import Repeats, StandOff
from pipeline.release.trees import trees_facts, with_trees
from pipeline.text.columns import with_text


def write_release(
    folder: Path,
    shards: Shards,
    survey: Survey,
    settings: ReleaseSettings,
    sources: Sequence[SourceFacts],
    *,
    source: Path | None = None,
    trees: CandidateTrees | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[ReleaseManifest, Survey]:
    """Write shards and ``manifest.json`` into an empty folder.

    Args:
        folder: of the release.
        shards: where the rows are; ``require_whole`` and ``survey`` have checked it.
        survey: the latter's result.
        settings: whose the release is, the seed of the order of its rows, how many shards of usable
            candidates it has, and the licence of rows that say unknown.
        sources: facts of the source corpora.
        source: for a stand-off release, the ``sentences.parquet`` whose words it leaves out.
        trees: makes the trees of usable candidates; None: they have none.
        advance: called with the number of rows read or written since; each row counts twice.

    Returns:
        The manifest, and counts of the rows that were written.

    Raises:
        InputError: there are fewer rows than shards, the disk is full, or for a stand-off release
            the source is not that of the rows, all of them repeat it, or what is handed on of them or
            of the manifest could be its text.
    """
    hiding = None
    if source is not None:
        hiding = StandOff(
            Repeats(s.words for s in read_sentences(source)), frozenset(coordinators_in(source))
        )
    released, rows = Survey(), {config: survey.rows[config] for config in CONFIGS}
    schemas = RELEASED if hiding is None else STAND_OFF
    grown: Counter[str] = Counter()
    if trees is not None:
        schemas = {**schemas, "train": WITH_TREES}
    entries: list[ReleasedShard] = []
    digests, orders = {}, {}
    with ExitStack() as stack:
        for config, read in zip(CONFIGS, (read_accepted, read_rejects), strict=True):
            with_texts = map(with_text, counted(read(shards), advance))
            batches = licensed(with_texts, settings.license)
            if hiding is not None and source is not None:
                file = stack.enter_context(stored(batches, RELEASED[config]))
                beside = stack.enter_context(with_source([file], RELEASED[config], source))
                batches = hiding.convert(beside, config)
            if trees is not None and config == "train":
                batches = with_trees(batches, trees, grown)
            batches = released.counted(batches, config)
            orders[config] = stack.enter_context(shuffled(batches, schemas[config], settings.seed))
        if hiding is not None and source is not None:
            hiding.require_own(source)
            for config, reasons in hiding.withheld.items():
                rows[config] -= reasons.total()
                advance(reasons.total())
        if not rows["train"]:
            raise InputError(
                "all usable candidates are withheld, because they repeat their source",
                path=shards.place, remedy="generate from more sentences, or with another model",
            )  # fmt: skip
        counts = {
            "train": shard_count(rows["train"], settings.shards),
            # --shards is about candidates: of few there may be any number of rejects.
            "rejected": shard_count(rows["rejected"]) if rows["rejected"] else 0,
        }
        for config in CONFIGS:
            made, whole = write_shards(
                folder, config, schemas[config], counted(orders[config], advance),
                rows=rows[config], count=counts[config],
            )  # fmt: skip
            entries += made
            digests[config] = whole.hex()
    more = _before(shards)
    if trees is not None:
        more["trees"] = trees_facts(settings.trees_of, grown)
    manifest = write_manifest(
        folder, settings, shards, released, name=_name(shards, sources), sources=sources,
        shards_written=entries, digests=digests, hiding=hiding, more=more,
        also=() if trees is None else trees.annotation,
    )  # fmt: skip
    return manifest, released


def write_manifest(
    folder: Path,
    settings: ReleaseSettings,
    shards: Shards,
    released: Survey,
    *,
    name: str,
    sources: Sequence[SourceFacts],
    shards_written: Sequence[ReleasedShard],
    digests: Mapping[str, str],
    hiding: HidingWords | None,
    more: Mapping[str, Any],
    also: Annotation = (),
) -> ReleaseManifest:
    """Write ``manifest.json`` of a release whose shards stand.

    Args:
        folder: of the release.
        settings: whose the release is, and how it was made.
        shards: where the rows were.
        released: counts of those that were written.
        name: of the release, where ``settings`` has none.
        sources: facts of the source corpora.
        shards_written: the files, and the rows of each.
        digests: of the rows as they are written, by configuration.
        hiding: for a stand-off release, what left its words out.
        also: what was annotated for what stands beside the rows.
        more: what else rows of this kind have there.

    Returns:
        What it holds.

    Raises:
        InputError: something of a stand-off release's manifest could be text.
    """
    manifest: ReleaseManifest = {
        "conjoin": __version__,
        "format": FORMAT,
        "name": settings.name or name,
        "version": settings.version,
        "authors": list(settings.author),
        "url": settings.url,
        "license": combined(released.licenses),
        "licenses": dict(sorted(released.licenses.items())),
        "stand_off": hiding is not None,
        "command": settings.shown_command(),
        "seed": settings.seed,
        "rows": by_part(released.rows),
        "digests": {"train": digests["train"], "rejected": digests["rejected"]},
        "shards": list(shards_written),
        "generations": {
            key: {**run, "rows": by_part(released.generations.get(key, Counter()))}  # type: ignore[typeddict-item]
            for key, run in generations(shards).items()
        },
        "sources": list(sources),
        "annotation": as_json(joined([*annotation_of(shards), *also])),
    }
    manifest |= more  # type: ignore[typeddict-item]
    if hiding is not None:
        own = hiding.digests
        manifest["full_digests"] = {"train": own["train"].hex(), "rejected": own["rejected"].hex()}
        manifest["withheld"] = {
            c: dict(reasons + Counter(more.get("withheld", {}).get(c, {})))
            for c, reasons in hiding.withheld.items()
        }
        hiding.require_no_text(manifest)
    write_json(folder / MANIFEST, manifest)
    return manifest


def _before(shards: Shards) -> dict[str, Any]:
    """What became of the rows before, as the manifest beside them says."""
    manifest = shards.manifest or {}
    keys = ("merged", "selection", "selections", "dropped", "withheld")
    return {key: manifest[key] for key in keys if key in manifest}


def _name(shards: Shards, sources: Sequence[SourceFacts]) -> str:
    """``conjoin``, the source's name and the generators', such as ``conjoin-world-t5-sync``."""
    parts = ["conjoin", *(str(each["corpus"]) for each in sources)]
    made = [about.get("settings", {}) for about in generations(shards).values()]
    parts += sorted({
        f"{'attested-' if s.get('fills') == 'attested' else ''}"
        f"{Path(str(s['lm'])).name}-{'sync' if s.get('sync') else 'no-sync'}"
        f"{_whose(s.get('trees'))}"
        for s in made if "lm" in s
    })  # fmt: skip
    parts += ["harvest"] * any(s.get("fills") == HARVESTED for s in made)
    return re.sub(r"[^\w.-]+", "-", "-".join(parts), flags=re.ASCII)


def _whose(trees: Any) -> str:
    """What the name of a release says of the trees: gold ones, or the name that others have."""
    if trees in (None, "parsed"):
        return ""
    return "-gold" if trees == "treebank" else f"-{trees}"


def by_part(counts: Mapping[str, int]) -> RowsByPart:
    """Rows of usable candidates and of rejects."""
    return {"train": counts.get("train", 0), "rejected": counts.get("rejected", 0)}


def counted(
    batches: Iterable[pa.RecordBatch], advance: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """The rows, of whose number ``advance`` is told as they go by."""
    for batch in batches:
        yield batch
        advance(len(batch))


def licensed(batches: Iterable[pa.RecordBatch], license_: str | None) -> Iterator[pa.RecordBatch]:
    """The rows, with the declared licence where theirs is unknown."""
    for batch in batches:
        old, at = batch.column("license"), batch.schema.get_field_index("license")
        declared = old if license_ is None else canonical(license_)
        new = pc.if_else(pc.equal(old, UNKNOWN), declared, old)
        yield batch.set_column(at, batch.schema.field(at), new)


PROVENANCE = "provenance"
_PROJECT = ("dvc.yaml", "params.yaml", "cells.yaml")
_DOCUMENTS = ("README.md", "LICENSE", "CITATION.cff", "croissant.json", MANIFEST, CHECKSUMS)


def earlier_release(place: Path, *, rehydrated: bool = False) -> Listed:
    """The files of a release that stands at a place; None where none does.

    Its sums do not tell which they are: they may have been made again over others. Documents that are not as
    the sums have them, such as a README.md that somebody edited, are none of it.

    Args:
        place: the folder.
        rehydrated: whether `conjoin rehydrate` made it; else `conjoin release` did.
    """
    try:
        manifest = read_json(place / MANIFEST)
        known = {"conjoin", "format"} <= manifest.keys()
        shards = {str(each["file"]) for each in manifest["shards"]}
    except (InputError, KeyError, TypeError):
        return None
    if not known or bool(manifest.get("rehydrated")) != rehydrated:
        return None
    documents = {*_DOCUMENTS, *(f"{PROVENANCE}/{name}" for name in _PROJECT)} - {CHECKSUMS}
    return {CHECKSUMS, *shards, *(name for name in documents if _is_as_written(place, name))}


def _is_as_written(place: Path, name: str) -> bool:
    """Whether a file of a release is the one that its sums have; False where they cannot be read."""
    try:
        written = {line.name: line.sha256 for line in read_sums(place / CHECKSUMS)}
        return (place / name).is_file() and sha256_of(place / name) == written.get(name)
    except InputError:
        return False


def _names(folder: Path) -> Iterator[str]:
    """Every file's name relative to the folder, sorted."""
    files = (p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    yield from sorted(path.relative_to(folder).as_posix() for path in files)


def copy_provenance(folder: Path, project: Path, *sources: Path) -> None:
    """Copy dvc.yaml, params.yaml and cells.yaml of a project into ``provenance/``, if they are conjoin's.

    Args:
        folder: of the release.
        project: the project's folder.
        sources: what the release is made of; if none of it lies in the project, nothing is copied,
            for then the project has nothing to do with it.
    """
    if not any(project.resolve() in source.resolve().parents for source in sources):
        return
    try:
        document = read_yaml(project / "dvc.yaml")
        ours = "generate" in document["stages"]
    except (SettingsError, KeyError, TypeError):
        return
    for name in _PROJECT if ours else ():
        if (project / name).is_file():
            (folder / PROVENANCE).mkdir(exist_ok=True)
            shutil.copyfile(project / name, folder / PROVENANCE / name)


def carry_provenance(folder: Path, release: Path) -> None:
    """Copy the files of ``provenance/`` that a release has and lists from it into another folder.

    Args:
        folder: of the new release.
        release: the old one; ``find_shards`` has looked through its links.

    Raises:
        InputError: one is not as its ``SHA256SUMS`` says.
    """
    sums = release / CHECKSUMS
    listed = {line.name: line.sha256 for line in read_sums(sums)} if sums.is_file() else {}
    for name in (f"{PROVENANCE}/{each}" for each in _PROJECT):
        if name not in listed or not (release / name).is_file():
            continue
        (folder / PROVENANCE).mkdir(exist_ok=True)
        shutil.copyfile(release / name, folder / name)
        if sha256_of(folder / name) != listed[name]:
            raise InputError(
                f"not the file that {CHECKSUMS} lists", path=release / name, remedy=_AGAIN
            )


def write_checksums(folder: Path) -> None:
    """Write ``SHA256SUMS``, which ``sha256sum -c`` reads, of every other file of the folder."""
    (folder / CHECKSUMS).unlink(missing_ok=True)
    lines = [f"{sha256_of(folder / name)}  {name}\n" for name in _names(folder)]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


_AGAIN = "make the release again, or get it again"


def checked_files(folder: Path) -> list[Path]:
    """All files of a release, ``SHA256SUMS`` included, each held against its checksum.

    Hidden files at the top (``.git``, a hub's ``.cache``) are no part of a release.

    Raises:
        InputError: there are no checksums, a file is missing, altered, or not listed.
    """
    sums = folder / CHECKSUMS
    if not sums.is_file():
        raise InputError(f"no {CHECKSUMS} here", path=folder, remedy="name what `release` wrote")
    listed: dict[str, str] = {}
    for line in read_sums(sums):
        if line.name is None:
            raise InputError("not a line of checksums", path=sums, line=line.number, remedy=_AGAIN)
        listed[line.name] = line.sha256
    visible = {name for name in _names(folder) if not name.startswith(".")}
    for name in sorted(visible - listed.keys() - {CHECKSUMS}):
        raise InputError(
            f"a file that {CHECKSUMS} does not list", path=folder / name,
            remedy="remove it; a release is sent as it was written",
        )  # fmt: skip
    for name, expected in listed.items():
        path = folder / name
        if not path.is_file() or leads_out(folder, path):
            raise InputError(f"missing, but {CHECKSUMS} lists it", path=path, remedy=_AGAIN)
        if sha256_of(path) != expected:
            raise InputError(f"not the file that {CHECKSUMS} lists", path=path, remedy=_AGAIN)
    return [*(folder / name for name in sorted(listed)), sums]
