"""The documents of a release, and among them README.md, its dataset card.

Every figure comes from the files or the manifest, none is typed. The card shows the first row of each
label, which the release's shuffle makes a fair draw, and the commands behind the rows.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.core.files import write_json, write_text
from pipeline.core.markdown import code, grid, plain, printable
from pipeline.core.types import Span, bracketed
from pipeline.corpus.engine import engine, rows_of
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.licences import terms
from pipeline.release import card_text
from pipeline.release.card_text import prose, templates
from pipeline.release.croissant import croissant
from pipeline.release.front_matter import front_matter, source_names
from pipeline.release.licence_files import bibtex, citation_file, licence_file, notices
from pipeline.release.method_text import annotated, attested, harvested, meanings, synchronized
from pipeline.release.shards import CONFIGS


def samples(shards: Shards) -> list[str]:
    """One line of Markdown per label, the most frequent label first.

    Of a stand-off release they show ids and what the model wrote, or where the fill is from.

    Raises:
        InputError: a file is damaged.
    """
    query = f"""SELECT label, count(*) AS rows, arg_min(row, (row.file, row.place)) AS row
        FROM (SELECT label, r AS row FROM {rows_of(shards)} AS r WHERE reason IS NULL)
        GROUP BY label ORDER BY rows DESC, label"""  # noqa: S608 - our own paths
    with engine() as database:
        found = database.execute(query).fetchall()
    return [f"**{plain(label)}** {_shown(row)}" for label, _, row in found]


def _shown(row: Mapping[str, Any]) -> str:
    score = "" if row["score"] is None else f" (score {row['score']:.2f})".replace("-", "−")
    if "words" not in row and row["fill"] is None and row["donor"] is None:
        spans = ", ".join(f"{s['start'] + 1} to {s['end']}" for s in row["conjuncts"])
        return f"{code(row['sentence_id'])}, conjuncts: words {spans}"
    if "words" not in row and row["fill"] is None:
        donors = [*(row.get("middle_donors") or ()), row["donor"]]
        places = [
            f"words {d['start'] + 1} to {d['end']} of {code(d['sentence_id'])}" for d in donors
        ]
        return f"{code(row['sentence_id'])}, fill: {', '.join(places)}{score}"
    if "words" not in row:
        return f"{code(row['sentence_id'])}, generated: {code(row['fill'])}{score}"
    conjuncts = [Span(span["start"], span["end"]) for span in row["conjuncts"]]
    return f"{code(bracketed(row['words'], conjuncts))}{score}"


def commands(manifest: Mapping[str, Any]) -> list[str]:
    """Commands that make such rows again, in order: of ``generate``, ``select``, ``merge``, ``release``."""
    lines = [str(g["command"]) for g in manifest["generations"].values() if g.get("command")]
    lines += [str(each["command"]) for each in manifest.get("selections", [])]
    last = [str(manifest["selection"]["command"])] if manifest.get("selection") else []
    last.append(str(manifest["command"]))
    if merged := [str(each["place"]) for each in manifest.get("merged", [])]:
        written = [place for line in lines if (place := _after(line, "--out"))]
        places = [_whole(place, written) for place in merged]
        out = _after(last[0], "select") or _after(last[0], "release") or "MERGED"
        lines.append(shlex.join(["conjoin", "merge", *places, "--out", out]))
    return list(dict.fromkeys([*lines, *last]))


def _after(line: str, word: str) -> str | None:
    """What follows a word of a command."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation that does not end
        return None
    return next((after for before, after in pairwise(words) if before == word), None)


def _whole(place: str, written: Sequence[str]) -> str:
    """The path of a folder of which the last parts are known, if just one was written that ends so."""
    found = [each for each in dict.fromkeys(written) if f"/{each}".endswith(f"/{place}")]
    return found[0] if len(found) == 1 else place


_ASKED_OF = ("score ", "no score", "probability ", "predictor ", "condition ")
_FLAGS = ("--min-score", "--max-score", "--predictor", "--where")


def chosen_by_score(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> bool:
    """Whether `select` may have left out rows for their score, by a predictor or by a condition."""
    refused = summary.get("reasons") or {}
    lines = [_after(line, flag) for line in commands(manifest) for flag in _FLAGS]
    return any(lines) or any(reason.startswith(_ASKED_OF) for reason in refused)


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
    return templates().get_template("README.md.jinja").render(
        front_matter=front_matter(folder, manifest, origins),
        manifest=manifest,
        summary=summary,
        texts=texts,
        stand_off=stand_off,
        place=place,
        names=[shlex.quote(name) for name in source_names(manifest, origins)],
        free=terms(manifest["license"]).redistributable,
        half=_median(summary),
        chosen=chosen_by_score(manifest, summary),
        synchronized=True in synchronized(manifest),
        attested=attested(manifest),
        harvested=sorted(harvested(manifest)),
        annotated=annotated(manifest),
        path="path/to/" + place.rpartition("/")[2],
        provenance=(folder / "provenance").is_dir(),
        samples=samples(find_shards(folder)),
        program=None if stand_off else training_program(place),
        columns=columns_of(folder, manifest, meanings(manifest)),
        tables={table.__name__: table for table in card_text.TABLES},
        licences=[(code(name), n, terms(name)) for name, n in manifest["licenses"].items()],
        sources=notices(manifest, origins),
        commands=commands(manifest),
        bibtex=bibtex(manifest),
    )  # fmt: skip


def place_of(manifest: Mapping[str, Any]) -> str:
    """What to write where a loader wants the dataset: its name on the hub, or a path to fill in."""
    found = _HUB.fullmatch(manifest["url"] or "")
    return found[1] if found else "path/to/" + re.sub(r"[^\w.-]+", "-", manifest["name"])


def training_program(place: str) -> str:
    """The program that the card shows: a small tagger of conjuncts, trained on the corpus."""
    return templates().get_template("train.py.jinja").render(place=place).rstrip("\n")


def _median(summary: Mapping[str, Any]) -> float | None:
    score = (summary.get("scores") or {}).get("score")
    return score["quantiles"]["0.5"] if score and score["quantiles"] else None


def columns_of(folder: Path, manifest: Mapping[str, Any], said: Mapping[str, str]) -> str:
    """The columns of both configurations, with what each means."""
    first = {s["config"]: folder / s["file"] for s in reversed(manifest["shards"])}
    fields = {f.name: f for part in CONFIGS if part in first for f in pq.read_schema(first[part])}
    rows = [
        [code(f.name), code(_kind(str(f.type))), "yes" if f.nullable else "no", said.get(f.name, "")]
        for f in fields.values()
    ]  # fmt: skip
    return grid(["column", "type", "null", "meaning"], rows, names=4)


def _kind(arrow: str) -> str:
    """A type as one reads it: without the names and flags of list elements and struct fields."""
    bare = arrow.replace(" not null", "")
    return re.sub(r"list<\w+: ", "list<", bare).replace("struct<start: int32, end: int32>", "span")


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
    manifest = printable(manifest)
    origins = [printable(name) for name in summary.get("sources") or {}]
    texts = prose(manifest, summary, origins)
    write_text(folder / "LICENSE", licence_file(manifest, origins))
    write_text(folder / "CITATION.cff", citation_file(manifest))
    write_json(folder / "croissant.json", croissant(folder, manifest, texts, origins))
    write_text(folder / "README.md", card(folder, manifest, summary, texts, origins))
