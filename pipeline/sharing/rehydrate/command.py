"""``conjoin rehydrate``: a stand-off release with the text restored, for users who have the source."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.core.claims import Claim, appearing
from pipeline.core.console import say, table
from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.checked import require_whole
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.licences import terms
from pipeline.corpus.origin import facts, sentences_of
from pipeline.corpus.statistics import summarise
from pipeline.release.card import write_documents
from pipeline.release.kinds.known import kind_of
from pipeline.release.kinds.protocol import PuttingBack
from pipeline.release.package import carry_provenance, earlier_release, write_checksums
from pipeline.release.rehydrate import RebuiltCandidates, write_rehydrated
from pipeline.release.shards import CONFIGS
from pipeline.sharing.rehydrate.settings import RehydrateSettings


def run(settings: RehydrateSettings) -> None:
    """Rebuild the release into ``settings.out``, whole or not at all.

    Raises:
        InputError: there is no stand-off release, it is damaged, the source is not the one it was
            made of, or ``out`` is something else than a release.
    """
    shards = _input(settings.release)
    source = sentences_of(settings.source)
    claim = Claim(
        settings.out, "rehydrate", [settings.release, source],
        partial(earlier_release, rehydrated=True),
    )  # fmt: skip
    claim.check()
    require_whole(shards)
    kind = kind_of(shards)
    facts(source)  # a sentence must not stand there twice
    with appearing(claim) as folder:
        putting: PuttingBack = RebuiltCandidates(source)
        if kind is not None:
            putting = kind.putting_back(source)
        manifest = write_rehydrated(folder, shards, source, settings.shown_command(), putting)
        carry_provenance(folder, settings.release)
        if kind is None:
            write_documents(folder, manifest, summarise(find_shards(folder), source))
        else:
            kind.write_documents(folder, manifest)
        write_checksums(folder)
    _print(settings, manifest)


def _input(place: Path) -> Shards:
    shards = find_shards(place)
    if shards.kind != "stand-off":
        what = "has its text already" if shards.kind == "release" else "is no release"
        if shards.manifest is None:
            what = f"has no {MANIFEST}, which says what it lacks"
        raise InputError(
            f"this {what}", path=place, remedy="name a folder that `conjoin release --stand-off` wrote"
        )  # fmt: skip
    return shards


def _print(settings: RehydrateSettings, manifest: Mapping[str, Any]) -> None:
    table(
        f"{manifest['name']} {manifest['version']}, rebuilt in {settings.out}",
        ("configuration", "rows", "row digest, as released"),
        [(config, manifest["rows"][config], manifest["digests"][config]) for config in CONFIGS],
    )
    if not terms(manifest["license"]).redistributable:
        say(
            f"Do not pass this folder on: it holds the source's text, under {manifest['license']}. "
            "What may be passed on is the stand-off release it was rebuilt from."
        )
