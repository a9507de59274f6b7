"""Writes rows of a kind as a dataset repository; ``release`` calls it where candidates are of one."""

import re
from contextlib import ExitStack
from pathlib import Path

from pipeline.core.cards.candidates import ReleasedShard, ReleaseManifest, SourceFacts
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say
from pipeline.core.corpus_folder import corpus_around
from pipeline.core.errors import InputError, SettingsError
from pipeline.corpus.counts import Survey
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import generations
from pipeline.release.kinds.protocol import HidingWords, RowKind
from pipeline.release.kinds.rows import kind_batches, require_valid_rows
from pipeline.release.package import (
    copy_provenance,
    counted,
    write_checksums,
    write_manifest,
)
from pipeline.release.settings import ReleaseSettings
from pipeline.release.shards import CONFIGS, shard_count, shuffled, write_shards


def release_kind(
    kind: RowKind, settings: ReleaseSettings, shards: Shards, found: Survey, claim: Claim
) -> tuple[ReleaseManifest, Survey]:
    """Write the release, whole or not at all; ``require_whole`` and ``survey`` have checked the shards.

    Returns:
        Its manifest, and counts of its rows.

    Raises:
        InputError: a row is not valid, or its licence does not permit it; or ``settings.corpus`` is not the
            corpus that the rows were made of; for ``stand_off``: there is none, or their words are not its.
        SettingsError: an option that such rows do not have.
    """
    if settings.trees or (settings.stand_off and not kind.stand_off):
        name = "trees" if settings.trees else "stand-off"
        raise SettingsError(f"{kind.called} have no --{name}: leave it out")
    if not settings.stand_off:
        kind.require_permission(shards, settings.license)
    require_valid_rows(kind, shards)
    corpus = _corpus(kind, settings, shards)
    sources = [kind.facts(corpus)] if corpus else list((shards.manifest or {}).get("sources", []))
    hiding = kind.hiding(shards, corpus) if settings.stand_off and corpus else None
    with appearing(claim) as folder:
        manifest, released = _write(
            folder, kind, shards, found, settings, sources=sources, hiding=hiding
        )
        copy_provenance(folder, Path(), settings.candidates, *([corpus] if corpus else []))
        kind.write_documents(folder, manifest)
        write_checksums(folder)
    return manifest, released


def _write(
    folder: Path,
    kind: RowKind,
    shards: Shards,
    found: Survey,
    settings: ReleaseSettings,
    *,
    sources: list[SourceFacts],
    hiding: HidingWords | None,
) -> tuple[ReleaseManifest, Survey]:
    released, entries = Survey(), list[ReleasedShard]()
    digests: dict[str, str] = {}
    schemas = kind.stand_off if hiding else kind.released
    for config in CONFIGS:
        read = found.rows[config]
        with ExitStack() as stack:
            meter = stack.enter_context(Meter(f"{config} rows, each read and written", 2 * read))
            batches = counted(kind_batches(kind, shards, config, settings.license), meter.advance)
            if hiding:
                batches = hiding.convert(batches, config)
            order = shuffled(
                released.counted(batches, config),
                schemas[config],
                settings.seed,
                kind.order[config],
            )
            inside = stack.enter_context(order)  # by which all are read
            rows = read - (hiding.withheld[config].total() if hiding else 0)
            if config == "train" and not rows:
                raise InputError(
                    f"all usable {kind.called} are withheld: "
                    f"{hiding.withheld[config].most_common(1)[0][0] if hiding else ''}",
                    path=shards.place, remedy="make others",
                )  # fmt: skip
            wanted = settings.shards if config == "train" else None
            count = shard_count(rows, wanted) if rows else 0
            made, whole = write_shards(
                folder, config, schemas[config], counted(inside, meter.advance),
                rows=rows, count=count,
            )  # fmt: skip
        entries += made
        digests[config] = whole.hex()
    manifest = write_manifest(
        folder, settings, shards, released, name=_name(sources, kind.name(generations(shards))),
        sources=sources, shards_written=entries, digests=digests, hiding=hiding,
        more={"task": kind.task},
    )  # fmt: skip
    return manifest, released


def _corpus(kind: RowKind, settings: ReleaseSettings, shards: Shards) -> Path | None:
    """The corpus folder of the source, if it is at hand and the rows were made of it."""
    corpus = settings.corpus or corpus_around(settings.candidates.resolve().parent)
    if corpus is None and settings.stand_off:
        raise InputError(
            "--stand-off needs the source, and no folder above is a corpus", path=shards.place,
            remedy="name its corpus folder with --corpus",
        )  # fmt: skip
    if corpus is None:
        return None
    foreign, first = kind.foreign(shards, corpus)
    if foreign and (settings.corpus or settings.stand_off):
        raise InputError(
            f"{foreign:,} rows are of pairs that this corpus does not have", path=corpus,
            sentence_id=first, remedy="name the corpus they were made from with --corpus",
        )  # fmt: skip
    if foreign:
        say(
            f"{foreign:,} rows are not of {corpus.name} (first: {first}): the source is left unnamed"
        )
        return None
    return corpus


def _name(sources: list[SourceFacts], kind: list[str]) -> str:
    """``conjoin``, the source's name and what the rows are, such as ``conjoin-gdtb-attested-pairs``."""
    parts = ["conjoin", *(str(each["corpus"]) for each in sources), *kind]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts), flags=re.ASCII)
