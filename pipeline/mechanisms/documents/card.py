"""README.md of a release, its dataset card: every figure comes from the files, none is typed."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.mechanisms.documents import figures
from pipeline.mechanisms.documents.citation import PAPER_BIBTEX, bibtex
from pipeline.mechanisms.documents.columns import meanings
from pipeline.mechanisms.documents.commands import commands
from pipeline.mechanisms.documents.frontmatter import CONFIGS, front_matter, source_names
from pipeline.mechanisms.documents.markup import code, grid, plain
from pipeline.mechanisms.documents.methods import synchronized
from pipeline.mechanisms.documents.notices import notices
from pipeline.mechanisms.documents.samples import samples
from pipeline.mechanisms.sharing.layout import find_shards
from pipeline.mechanisms.sharing.licences import terms

__all__ = ["card", "training_program"]

_HUB = re.compile(r"https://huggingface\.co/datasets/([\w-][\w.-]*/[\w-][\w.-]*)/?")


def card(
    folder: Path,
    manifest: Mapping[str, Any],
    summary: Mapping[str, Any],
    texts: Mapping[str, Any],
    origins: Sequence[str],
) -> str:
    """The card of a release.

    Args:
        folder: of the release, whose shards and manifest stand.
        manifest: that of the release.
        summary: what ``statistics.summarise`` says of it.
        texts: what ``prose`` says of it.
        origins: what the sentence ids begin with.

    Raises:
        InputError: a shard is damaged.
    """
    place = place_of(manifest)
    stand_off = bool(manifest["stand_off"])
    return _templates().get_template("README.md.jinja").render(
        front_matter=front_matter(folder, manifest, origins),
        manifest=manifest,
        summary=summary,
        texts=texts,
        stand_off=stand_off,
        place=place,
        names=source_names(manifest, origins),
        free=terms(manifest["license"]).redistributable,
        half=_median(summary),
        synchronized=True in synchronized(manifest),
        path="path/to/" + place.rpartition("/")[2],
        provenance=(folder / "provenance").is_dir(),
        samples=samples(find_shards(folder)),
        program=None if stand_off else training_program(place),
        columns=_columns(folder, manifest),
        tables={name: getattr(figures, name) for name in figures.__all__},
        licences=[(code(name), n, terms(name)) for name, n in manifest["licenses"].items()],
        sources=notices(origins),
        commands=commands(manifest),
        bibtex=bibtex(manifest),
        paper=PAPER_BIBTEX,
    )  # fmt: skip


def place_of(manifest: Mapping[str, Any]) -> str:
    """What to write where a loader wants the dataset: its name on the hub, or a path to fill in."""
    found = _HUB.fullmatch(manifest["url"] or "")
    return found[1] if found else "path/to/" + re.sub(r"[^\w.-]+", "-", manifest["name"])


def training_program(place: str) -> str:
    """The program that the card shows: a small tagger of conjuncts, trained on the corpus."""
    return _templates().get_template("train.py.jinja").render(place=place).rstrip("\n")


def _median(summary: Mapping[str, Any]) -> float | None:
    score = (summary.get("scores") or {}).get("score")
    return score["quantiles"]["0.5"] if score and score["quantiles"] else None


def _columns(folder: Path, manifest: Mapping[str, Any]) -> str:
    first = {s["config"]: folder / s["file"] for s in reversed(manifest["shards"])}
    fields = {f.name: f for part in CONFIGS if part in first for f in pq.read_schema(first[part])}
    said = meanings(manifest)
    rows = [
        [code(f.name), code(_kind(str(f.type))), "yes" if f.nullable else "no", said.get(f.name, "")]
        for f in fields.values()
    ]  # fmt: skip
    return grid(["column", "type", "null", "meaning"], rows, names=4)


def _kind(arrow: str) -> str:
    """A type as one reads it: without the names and flags of list elements and struct fields."""
    bare = arrow.replace(" not null", "")
    return re.sub(r"list<\w+: ", "list<", bare).replace("struct<start: int32, end: int32>", "span")


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipeline", "resources/release"),
        autoescape=False,  # noqa: S701 - Markdown; what comes from corpora goes through plain or code
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(plain=plain, code=code)
    return environment
