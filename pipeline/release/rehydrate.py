"""The shards and the manifest of a stand-off release with the text put back."""

from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import RELEASED, RELEASED_REJECTS, STAND_OFF, STAND_OFF_REJECTS
from pipeline.release.shards import with_source, write_shards
from pipeline.release.stand_off import Rebuilder
from pipeline.release.survey import CONFIGS

_SCHEMAS = {"train": (STAND_OFF, RELEASED), "rejected": (STAND_OFF_REJECTS, RELEASED_REJECTS)}


def write_rehydrated(folder: Path, shards: Shards, source: Path, command: str) -> dict[str, Any]:
    """Write shards and ``manifest.json`` into an empty folder; rows and shards are those released.

    Args:
        folder: of the rebuilt release.
        shards: the stand-off release; ``require_whole`` was content with it.
        source: the ``sentences.parquet`` it was made of.
        command: the line that does this.

    Returns:
        The manifest.

    Raises:
        InputError: the source is another one, or the manifest has no digests to hold the rows against.
    """
    manifest = dict(shards.manifest or {})
    try:
        digests = manifest.pop("full_digests")
        expected = {config: str(digests[config]) for config in CONFIGS}
        rows = {config: int(manifest["rows"][config]) for config in CONFIGS}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "not a manifest of a stand-off release: it lacks rows or full_digests",
            path=shards.place / MANIFEST, remedy="get the release again",
        ) from error  # fmt: skip
    entries, found = [], {}
    rebuilder = Rebuilder()
    for config, files in zip(CONFIGS, (shards.accepted, shards.rejects), strict=True):
        if not files and not rows[config]:
            continue
        bare, full = _SCHEMAS[config]
        with with_source(files, bare, source) as batches:
            made, whole = write_shards(
                folder, config, full, rebuilder.rebuild(batches, full),
                rows=rows[config], count=len(files),
            )  # fmt: skip
        entries += made
        found[config] = whole.hex()
    if any(found.get(config, expected[config]) != expected[config] for config in CONFIGS):
        raise rebuilder.error(source)
    manifest |= {
        "stand_off": False,
        "rehydrated": True,
        "digests": expected,
        "shards": entries,
        "command": f"{manifest.get('command', '')} && {command}",
    }
    write_json(folder / MANIFEST, manifest)
    return manifest
