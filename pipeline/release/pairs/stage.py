"""Writes new argument pairs as a dataset repository; ``release`` calls it where candidates are such."""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from pipeline import __version__
from pipeline.core.annotation import as_json
from pipeline.core.cards.candidates import ReleasedShard, ReleaseManifest, SourceFacts
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say
from pipeline.core.corpora import RELATIONS
from pipeline.core.corpus_folder import (
    RELATIONS_FILE,
    corpus_around,
    corpus_name,
    ingest_card,
    require_ingested,
)
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.pairs import PAIRS
from pipeline.core.parquet import MANIFEST, read_batches, value_counts
from pipeline.corpus.annotated import annotation_of
from pipeline.corpus.counts import Survey
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import combined
from pipeline.corpus.manifest import FORMAT
from pipeline.corpus.rows import generations
from pipeline.release.package import by_part, copy_provenance, counted, write_checksums
from pipeline.release.pairs.card import write_pair_documents
from pipeline.release.pairs.rows import (
    ORDER,
    RELEASED_PAIRS,
    pair_batches,
    require_permission_of_pairs,
    require_valid_pairs,
)
from pipeline.release.settings import ReleaseSettings
from pipeline.release.shards import CONFIGS, shard_count, shuffled, write_shards

_READ = pa.schema([PAIRS.field(name) for name in ("pair_id", "split", "license")])


def release_pairs(
    settings: ReleaseSettings, shards: Shards, found: Survey, claim: Claim
) -> tuple[ReleaseManifest, Survey]:
    """Write the release, whole or not at all; ``require_whole`` and ``survey`` have checked the shards.

    Returns:
        Its manifest, and counts of its rows.

    Raises:
        InputError: a row is not valid, or its licence does not permit it; or ``settings.corpus`` is not the
            corpus that the pairs were made of.
        SettingsError: an option that pairs do not have.
    """
    for name in ("stand_off", "trees"):
        if getattr(settings, name):
            raise SettingsError(
                f"argument pairs have no --{name.replace('_', '-')}: leave it out",
            )
    require_permission_of_pairs(shards, settings.license)
    require_valid_pairs(shards)
    corpus = _corpus(settings, shards)
    sources = [_facts(corpus)] if corpus else list((shards.manifest or {}).get("sources", []))
    with appearing(claim) as folder:
        manifest, released = _write(folder, shards, found, settings, sources)
        copy_provenance(folder, Path(), settings.candidates, *([corpus] if corpus else []))
        write_pair_documents(folder, manifest)
        write_checksums(folder)
    return manifest, released


def _write(
    folder: Path,
    shards: Shards,
    found: Survey,
    settings: ReleaseSettings,
    sources: list[SourceFacts],
) -> tuple[ReleaseManifest, Survey]:
    released, entries = Survey(), list[ReleasedShard]()
    digests: dict[str, str] = {}
    for config in CONFIGS:
        rows = found.rows[config]
        wanted = settings.shards if config == "train" else None
        count = shard_count(rows, wanted) if rows or config == "train" else 0
        schema = RELEASED_PAIRS[config]
        with ExitStack() as stack:
            meter = stack.enter_context(Meter(f"{config} rows, each read and written", 2 * rows))
            batches = counted(pair_batches(shards, config, settings.license), meter.advance)
            order = shuffled(
                released.counted(batches, config), schema, settings.seed, ORDER[config]
            )
            made, whole = write_shards(
                folder, config, schema, counted(stack.enter_context(order), meter.advance),
                rows=rows, count=count,
            )  # fmt: skip
        entries += made
        digests[config] = whole.hex()
    runs = generations(shards)
    manifest: ReleaseManifest = {
        "conjoin": __version__,
        "task": RELATIONS,
        "format": FORMAT,
        "name": settings.name or _name(sources, runs),
        "version": settings.version,
        "authors": list(settings.author),
        "url": settings.url,
        "license": combined(released.licenses),
        "licenses": dict(sorted(released.licenses.items())),
        "stand_off": False,
        "command": settings.shown_command(),
        "seed": settings.seed,
        "rows": by_part(released.rows),
        "digests": {"train": digests["train"], "rejected": digests["rejected"]},
        "shards": entries,
        "generations": {
            key: {**run, "rows": by_part(released.generations.get(key, Counter()))}  # type: ignore[typeddict-item]
            for key, run in runs.items()
        },
        "sources": sources,
        "annotation": as_json(annotation_of(shards)),
    }
    write_json(folder / MANIFEST, manifest)
    return manifest, released


def _corpus(settings: ReleaseSettings, shards: Shards) -> Path | None:
    """The corpus folder of the source, if it is at hand and the pairs were made of its pairs."""
    corpus = settings.corpus or corpus_around(settings.candidates.resolve().parent)
    if corpus is None:
        return None
    require_ingested(corpus, RELATIONS_FILE)
    there = {
        each
        for batch in read_batches(corpus / RELATIONS_FILE, _READ)
        for each in batch.column("pair_id").to_pylist()
    }
    foreign = sorted(
        each
        for config in CONFIGS
        for batch in pair_batches(shards, config)
        for each in batch.column("sentence_id").to_pylist()
        if each not in there
    )
    if foreign and settings.corpus:
        raise InputError(
            f"{len(foreign):,} rows are of pairs that this corpus does not have", path=corpus,
            sentence_id=foreign[0], remedy="name the corpus they were made from with --corpus",
        )  # fmt: skip
    if foreign:
        say(
            f"{len(foreign):,} rows are not of {corpus.name} (first: {foreign[0]}): the source is left "
            "unnamed"
        )
        return None
    return corpus


def _facts(corpus: Path) -> SourceFacts:
    """What the manifest says of the source: name, reader, licence, pairs by split, checksum."""
    path = corpus / RELATIONS_FILE
    splits, licenses = Counter[str](), Counter[str]()
    for batch in read_batches(path, _READ):
        splits.update(value_counts(batch.column("split")))
        licenses.update(value_counts(batch.column("license")))
    found: SourceFacts = {
        "corpus": corpus_name(corpus),
        "license": combined(licenses),
        "pairs": {split: splits[split] for split in sorted(splits)},
        "sha256": sha256_of(path),
    }
    card = ingest_card(corpus)
    if "reader" in card:
        found["reader"] = card["reader"]
    return found


def _name(sources: list[SourceFacts], runs: Mapping[str, Mapping[str, object]]) -> str:
    """``conjoin``, the source's name and whose pairs they are, such as ``conjoin-gdtb-attested-pairs``."""
    given = [run.get("inputs") for run in runs.values()]
    writers = {str(each.get("writer")) for each in given if isinstance(each, Mapping)}
    kinds = sorted(each if each in {"attested", "oracle"} else "written" for each in writers)
    parts = ["conjoin", *(str(each["corpus"]) for each in sources), *kinds, "pairs"]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts), flags=re.ASCII)
