"""What the card of a release says: sentences, of which Croissant has the same, and tables of figures.

A table is a Markdown text, or None where there is nothing to count.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined

from pipeline.core.candidates import HARVESTED
from pipeline.core.markdown import code, command, grid, plain
from pipeline.corpus.coordinators import is_english
from pipeline.corpus.statistics import SCORES
from pipeline.release.licence_files import notices
from pipeline.release.method_text import (
    TREEBANK,
    attested,
    harvested,
    method,
    model_name,
    parser_of,
    parsers,
    synchronized,
)
from pipeline.release.readable import meaning


@cache
def templates(undefined: type[Undefined] = StrictUndefined) -> Environment:
    """The templates of ``resources/release``, for Markdown and plain text."""
    environment = Environment(
        loader=PackageLoader("pipeline", "resources/release"),
        # Markdown: what comes from corpora goes through plain, code or command.
        autoescape=False,  # noqa: S701
        undefined=undefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(plain=plain, code=code, command=command, listed=_listed)
    return environment


def _listed(names: Sequence[str], word: str = "and") -> str:
    if len(names) < 2:
        return "".join(names) or "an unnamed source"
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def prose(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], origins: Sequence[str]
) -> dict[str, Any]:
    """``description``, ``method``, ``collection`` and ``limits`` (a list) of a release, in plain text."""
    runs = manifest["generations"].values()
    facts = {
        "rows": manifest["rows"],
        "english": is_english(manifest),
        "stand_off": manifest["stand_off"],
        "sources": [notice.source for notice in notices(manifest, origins)],
        "spans": sorted({run.get("settings", {}).get("spans") for run in runs}, key=str),
        "parsers": parsers(manifest),
        "synchronized": synchronized(manifest),
        "attested": sorted(attested(manifest)),
        "harvested": sorted(harvested(manifest)),
        "coordinators": list(summary.get("coordinators") or {}),
        "others": summary.get("other_coordinators") or {},
    }
    # Runs that differ in the model only are described once, with all their models.
    ways: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for run in runs:
        settings = run.get("settings", {})
        way = {"settings": settings, "parser": parser_of(manifest, run)}
        models = ways.setdefault(_block("way", models=["X"], **way), (way, []))[1]
        natural = settings.get("fills") == HARVESTED
        parser = str(run.get("model") or "a constituency parser").partition(" ")[0]
        models.append(parser if natural else model_name(settings, "the language model"))
    descriptions = [
        _block("way", models=list(dict.fromkeys(models)), **way) for way, models in ways.values()
    ]
    return {
        "method": method(manifest),
        "description": _block("description", **facts),
        "collection": " ".join(descriptions) or "Made by conjoin; the settings are not recorded.",
        "limits": _block("limits", line=chr(10), **facts).splitlines(),
    }


def _block(name: str, line: str = " ", **facts: Any) -> str:
    """A block of ``prose.jinja`` without empty lines, its lines joined by ``line``."""
    template = templates(Undefined).get_template("prose.jinja")
    text = "".join(template.blocks[name](template.new_context({**facts, "treebank": TREEBANK})))
    return line.join(" ".join(each.split()) for each in text.splitlines() if each.strip())


_MOST = 20  # coordinators or labels in a table; the rest are one line


def labels(summary: Mapping[str, Any]) -> str | None:
    """Counts and shares of labels, beside the treebank's if there is one."""
    return _shares("label", summary, "labels")


def coordinators(summary: Mapping[str, Any]) -> str | None:
    """Counts and shares of coordinators, beside the treebank's if there is one."""
    return _shares("coordinator", summary, "coordinators")


def lengths(summary: Mapping[str, Any]) -> str | None:
    """Lengths in words of sentences and conjuncts, beside the treebank's."""
    reference = summary.get("reference") or {}
    named = [
        ("sentence", summary.get("sentence_words")),
        ("first conjunct (the source's)", summary.get("reference_length")),
        ("second conjunct (put in)", summary.get("fill_length")),
        ("conjunct, either", summary.get("conjunct_words")),
        ("treebank: sentence with coordination", reference.get("sentence_words")),
        ("treebank: conjunct", reference.get("conjunct_words")),
    ]
    rows = [
        [name, float(d["mean"]), float(d["sd"]), d["min"],
         *(_quantile(d["quantiles"], q) for q in (0.05, 0.5, 0.95)), d["max"]]
        for name, d in named if d
    ]  # fmt: skip
    columns = ["words per", "mean", "sd", "min", "5 %", "median", "95 %", "max"]
    return grid(columns, rows) if rows else None


def scores(summary: Mapping[str, Any]) -> str | None:
    """Mean and quantiles of the scores."""
    found = {name: (summary.get("scores") or {}).get(name) for name in SCORES}
    described = {name: s for name, s in found.items() if s and s.get("quantiles")}
    if not described:
        return None
    points = sorted(next(iter(described.values()))["quantiles"], key=float)
    columns = ["", "mean", *(f"{100 * float(p):g} %" for p in points), "null"]
    rows = [
        [code(name), float(s["mean"]), *(float(s["quantiles"][p]) for p in points), s["null"]]
        for name, s in described.items()
    ]
    return grid(columns, rows)


def acceptance(manifest: Mapping[str, Any]) -> str | None:
    """What each run saw, kept and refused, and how many of its rows are in the release."""
    rows = []
    for key, generation in manifest["generations"].items():
        tally, here = generation.get("tally"), generation.get("rows", {})
        if not tally:
            continue
        share = f"{100 * tally['kept'] / tally['seen']:.2f} %" if tally["seen"] else None
        refused = tally["seen"] - tally["kept"]
        rows.append(
            [
                code(key), tally["seen"], tally["kept"], refused, share,
                here.get("train"), here.get("rejected"),
            ]
        )  # fmt: skip
    columns = [
        "generation", "outcomes", "kept", "refused", "kept, share", "rows here", "rejected here",
    ]  # fmt: skip
    return grid(columns, rows) if rows else None


def filtered(summary: Mapping[str, Any]) -> str | None:
    """Reasons of the rejects, with what each means."""
    reasons = summary.get("reasons") or {}
    total = sum(reasons.values()) + summary["rows"]["accepted"]
    rows = [
        [code(reason), meaning(reason) or "–", count, f"{100 * count / total:.2f} %"]
        for reason, count in reasons.items()
    ]
    columns = ["reason", "meaning", "rows", "of all rows"]
    return grid(columns, rows, names=2) if rows else None


def merged(manifest: Mapping[str, Any]) -> str | None:
    """The corpora that were united, and how many rows of each were kept."""
    rows = [
        [code(each["place"]), sum(each["rows"].values()), sum(each["kept"].values())]
        for each in manifest.get("merged", [])
    ]
    return grid(["corpus", "rows", "kept"], rows) if rows else None


def models(manifest: Mapping[str, Any]) -> str | None:
    """The language model of each run with its revision or checksum, and what ran it."""
    rows = []
    for key, generation in manifest["generations"].items():
        versions = generation.get("versions", {})
        tools = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
        made_by = generation.get("settings", {})
        family = "parser" if made_by.get("fills") == HARVESTED else model_name(made_by, "–")
        model = code(generation.get("model") or "not recorded")
        device = plain(generation.get("device") or "–")
        rows.append([code(key), plain(family), model, plain(tools or "–"), device])
    columns = ["generation", "family", "model", "versions", "device"]
    return grid(columns, rows, names=5) if rows else None


def settings(manifest: Mapping[str, Any]) -> str | None:
    """Every setting of every run; runs are columns, so that differences stand side by side."""
    runs = {key: g.get("settings", {}) for key, g in manifest["generations"].items()}
    names = sorted({name for run in runs.values() for name in run})
    rows = [[code(name), *(_value(run.get(name)) for run in runs.values())] for name in names]
    return grid(["setting", *map(code, runs)], rows, names=1 + len(runs)) if rows else None


def _value(value: Any) -> str | None:
    if value is None:
        return None
    return code("yes" if value is True else "no" if value is False else value)


def _shares(what: str, summary: Mapping[str, Any], name: str) -> str | None:
    counts = summary.get(name)
    if not counts:
        return None
    theirs = (summary.get("reference") or {}).get(name)
    values = [*counts, *(value for value in theirs or {} if value not in counts)]
    wholes = [sum(side.values()) for side in (counts, theirs) if side]

    def row(what: str, chosen: Sequence[str]) -> list[object]:
        found = [sum(side.get(v, 0) for v in chosen) for side in (counts, theirs) if side]
        pairs = ([n, _percent(n, whole)] for n, whole in zip(found, wholes, strict=True))
        return [what, *(cell for pair in pairs for cell in pair)]

    rows = [row(code(value), [value]) for value in values[:_MOST]]
    if rest := values[_MOST:]:
        rows.append(row(f"{len(rest)} others", rest))
    columns = [what, "rows", "share", *(["treebank", "share there"] if theirs else [])]
    return grid(columns, rows)


def _percent(count: int, whole: int) -> str | None:
    return f"{100 * count / whole:.1f} %" if whole else None


def _quantile(quantiles: Mapping[str, Any], wanted: float) -> Any:
    return next((value for point, value in quantiles.items() if float(point) == wanted), None)


TABLES = (
    acceptance, coordinators, filtered, labels, lengths, merged, models, scores, settings,
)  # fmt: skip
"""The tables that the card's template may ask for, by the names of their functions."""
