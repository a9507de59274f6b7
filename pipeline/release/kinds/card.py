"""What the documents of releases of all kinds have in common; figures come from the rows or the manifest."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.files import write_json, write_text
from pipeline.core.markdown import code, grid, plain
from pipeline.core.parquet import opened
from pipeline.corpus.licences import terms
from pipeline.release.card import columns_of, place_of
from pipeline.release.card_text import settings as settings_table
from pipeline.release.card_text import templates
from pipeline.release.croissant import croissant
from pipeline.release.front_matter import front_matter, source_names
from pipeline.release.licence_files import bibtex, citation_file, licence_file, notices
from pipeline.release.method_text import annotated, resource

_READ = 4096


@cache
def said(task: str) -> dict[str, Any]:
    """What the card of a kind says, of its YAML file: ``columns`` and ``reasons`` of rejects, and more."""
    found: dict[str, Any] = yaml.safe_load(resource(f"{task}.yaml"))
    return found


def rows_of_release(
    folder: Path, manifest: Mapping[str, Any], wanted: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a release, each with its configuration: some columns, and the reason of rejects."""
    for shard in manifest["shards"]:
        columns = [*wanted, *["reason"] * (shard["config"] == "rejected")]
        with opened(folder / shard["file"]) as file:
            for batch in file.iter_batches(_READ, columns=columns):
                for row in batch.to_pylist():
                    yield shard["config"], row


def reasons_table(
    reasons: Counter[str], manifest: Mapping[str, Any], meaning: Mapping[str, str]
) -> str | None:
    """Why rows were refused, and how many; None where none was."""
    whole = sum(manifest["rows"].values())
    rows = [
        [code(reason), plain(meaning.get(reason, "–")), count, f"{100 * count / whole:.2f} %"]
        for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    return grid(["reason", "meaning", "rows", "of all rows"], rows, names=2) if rows else None


def write_kind_documents(
    folder: Path,
    manifest: Mapping[str, Any],
    origins: Sequence[str],
    *,
    template: str,
    front: Mapping[str, Any],
    facts: Mapping[str, Any],
    texts: Mapping[str, Any],
) -> None:
    """Write README.md, LICENSE, CITATION.cff and croissant.json.

    Args:
        folder: of the release, whose shards and ``manifest.json`` stand.
        manifest: what ``manifest.json`` holds, printable.
        origins: what the ids of sources begin with.
        template: of the card.
        front: what its front matter says otherwise than of coordination.
        facts: what the template is given besides what all are given.
        texts: ``of_a_row`` (whose its licence is), ``changes`` (what was done to the source), ``abstract``,
            ``keywords``, ``columns`` (what each means), ``verb`` (of the command that made the rows),
            ``collection``, ``limits``.
    """
    write_text(
        folder / "LICENSE", licence_file(manifest, origins, texts["of_a_row"], texts["changes"])
    )
    cited = {
        "message": "If you use this corpus, please cite it.",
        "abstract": texts["abstract"],
        "keywords": texts["keywords"],
    }
    write_text(folder / "CITATION.cff", citation_file(manifest, cited))
    described = {
        "description": texts["abstract"],
        "collection": texts["collection"],
        "limits": texts["limits"],
    }
    write_json(
        folder / "croissant.json", croissant(folder, manifest, described, origins, about=texts)
    )
    place = place_of(manifest)
    card = templates().get_template(template).render(
        front_matter=front_matter(folder, manifest, origins, front),
        manifest=manifest,
        place=place,
        path="path/to/" + place.rpartition("/")[2],
        sources_named=source_names(manifest, origins),
        annotated=annotated(manifest),
        columns=columns_of(folder, manifest, texts["columns"]),
        settings=settings_table(manifest),
        licences=[(code(name), n, terms(name)) for name, n in manifest["licenses"].items()],
        sources=notices(manifest, origins),
        bibtex=bibtex(manifest),
        limits=texts["limits"],
        of_a_row=texts["of_a_row"],
        **facts,
    )  # fmt: skip
    write_text(folder / "README.md", card)
