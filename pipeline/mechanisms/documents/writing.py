"""The documents of a release, for people and for machines: made of its manifest and its figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.ground.files import write_json, write_text
from pipeline.mechanisms.documents.card import card
from pipeline.mechanisms.documents.citation import citation_file
from pipeline.mechanisms.documents.croissant import croissant
from pipeline.mechanisms.documents.notices import licence_file
from pipeline.mechanisms.documents.prose import prose

__all__ = ["write_documents"]


def write_documents(folder: Path, manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """Write README.md, LICENSE, CITATION.cff and croissant.json of a release.

    The same input gives the same bytes: there are no dates in them.

    Args:
        folder: of the release, whose shards and ``manifest.json`` stand.
        manifest: what ``manifest.json`` holds.
        summary: what ``statistics.summarise`` says of the folder.

    Raises:
        InputError: a shard is damaged, or the folder cannot be written to.
    """
    origins = list(summary.get("sources") or {})
    texts = prose(manifest, summary, origins)
    write_text(folder / "LICENSE", licence_file(manifest, origins))
    write_text(folder / "CITATION.cff", citation_file(manifest))
    write_json(folder / "croissant.json", croissant(folder, manifest, texts, origins))
    write_text(folder / "README.md", card(folder, manifest, summary, texts, origins))
