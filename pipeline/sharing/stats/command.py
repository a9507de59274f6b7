"""``conjoin stats``: what a corpus holds, and how that compares with a treebank."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core.candidates import HARVESTED
from pipeline.core.console import plain_json, say, table
from pipeline.corpus.checked import open_shards
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import generations
from pipeline.corpus.statistics import find_reference, summarise
from pipeline.sharing.stats.settings import StatsSettings

_KINDS = {
    "candidates": "candidates",
    "release": "a release",
    "stand-off": "a stand-off release",
    "file": "rows of one file",
}
_LONG_FILL = 10  # fills of more words are rare; they share a row of the table
_QUANTILES = {"0.05": "5 %", "0.25": "25 %", "0.5": "median", "0.75": "75 %", "0.95": "95 %"}


def run(settings: StatsSettings) -> None:
    """Print the figures of a corpus as tables, or as one JSON object.

    Raises:
        InputError: there is no corpus, or a file of it or of the treebank cannot be read.
    """
    shards = open_shards(settings.place)
    reference = settings.reference or find_reference(settings.place)
    summary = summarise(shards, reference)
    if settings.json_:
        print(plain_json(json.dumps(summary, indent=2, ensure_ascii=False)))
        return
    _overview(shards, summary)
    _counts(summary, "labels", "label", "category of the coordinated phrase")
    _counts(summary, "coordinators", "coordinator", "the word between the conjuncts")
    _lengths(summary)
    _fills(summary)
    _scores(summary)
    _reasons(summary)
    _runs(shards, summary)
    _comparison(summary, reference)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table and an empty line; nothing where there are no rows."""
    if rows:
        table(title, columns, rows)
        say("")


def _overview(shards: Shards, summary: Mapping[str, Any]) -> None:
    rows = summary["rows"]
    sources = ", ".join(summary["sources"])
    say(f"{shards.place}: {_KINDS[shards.kind]}")
    say(f"  usable candidates  {rows['accepted']:,}")
    say(f"  rejected           {rows['rejected']:,}")
    say(
        f"  source sentences   {summary['sentences']:,} of the usable candidates; source: {sources or 'none'}"
    )
    if summary["attested"]["rows"]:
        say(
            f"  attested fills     {summary['attested']['rows']:,}, taken from "
            f"{summary['attested']['donors']:,} places in other sentences"
        )
    merged = (shards.manifest or {}).get("merged")
    if merged:
        say(f"  merged from        {', '.join(entry['place'] for entry in merged)}")
    text, content = summary["duplicates"]["text"], summary["duplicates"]["content"]
    if text is None:
        say("  repetitions        not known")
        say(
            "  the source's words are not here, and what needs them is not known; "
            "`conjoin rehydrate` puts them back"
        )
    else:
        say(
            f"  repetitions        {content:,} candidates with the words, coordinator and conjuncts of "
            f"another; {text:,} with the words of another"
        )
    _others(summary["other_coordinators"])
    licences = summary["licenses"]
    for number, (name, count) in enumerate((licences or {"not known": sum(rows.values())}).items()):
        say(f"  {'' if number else 'licence of rows':<17}  {name}: {count:,}")
    say("")


def _others(found: Mapping[str, int | None] | None) -> None:
    """How many candidates hold a coordinator that is not the marked one."""
    if found is None:
        text = "not known"
    elif found["rows"] is None:
        unknown = f" and in {found['unknown']:,} fills" if found["unknown"] else ""
        text = f"{found['fill']:,} candidates in the fill; those in the source's words{unknown} are not known"
    else:
        text = (
            f"{found['rows']:,} candidates hold one that is not marked: {found['source']:,} in the "
            f"source's words, {found['fill']:,} in the fill"
        )
    say(f"  more coordinators  {text}")


def _counts(summary: Mapping[str, Any], name: str, column: str, what: str) -> None:
    """A table of counts and shares, beside the treebank's shares."""
    own: Mapping[str, int] | None = summary[name]
    if not own:
        return
    treebank = summary["reference"]
    other: Mapping[str, int] = treebank[name] if treebank else {}
    total, whole = sum(own.values()), sum(other.values())
    rows: list[list[object]] = []
    for value in [*own, *(value for value in other if value not in own)]:
        count = own.get(value, 0)
        shares = [_share(count, total)] + ([_share(other.get(value, 0), whole)] if treebank else [])
        rows.append([value, count, *shares])
    beside = (
        f", beside that among the {whole:,} coordinations in {treebank['name']}'s training split"
        if treebank
        else ""
    )
    columns = [
        column,
        "candidates",
        "share",
        *([f"share in {treebank['name']}"] if treebank else []),
    ]
    _table(f"{name}: {what}; share of the usable candidates{beside}", columns, rows)


def _lengths(summary: Mapping[str, Any]) -> None:
    treebank = summary["reference"]
    kinds: list[tuple[str, Any]] = [
        ("sentence", summary["sentence_words"]),
        ("first conjunct (the reference)", summary["reference_length"]),
        ("last conjunct (the fill)", summary["fill_length"]),
        ("all conjuncts", summary["conjunct_words"]),
    ]
    if treebank:
        kinds += [
            (f"{treebank['name']}: sentence with coordination", treebank["sentence_words"]),
            (f"{treebank['name']}: all conjuncts", treebank["conjunct_words"]),
        ]
    rows = [
        [name, f"{d['mean']:.2f}", f"{d['sd']:.2f}", d["min"], *_quantiles(d, ""), d["max"]]
        for name, d in kinds
        if d
    ]
    columns = ["", "mean", "sd", "least", *_QUANTILES.values(), "most"]
    _table("lengths: in words; 5 % means that this many of a hundred are no longer", columns, rows)


def _fills(summary: Mapping[str, Any]) -> None:
    counts: Mapping[str, int] | None = summary["fill_words"]
    if not counts:
        return
    total = sum(counts.values())
    rows = [[n, count, _share(count, total)] for n, count in counts.items() if int(n) <= _LONG_FILL]
    more = sum(count for n, count in counts.items() if int(n) > _LONG_FILL)
    if more:
        rows.append([f"over {_LONG_FILL}", more, _share(more, total)])
    columns = ["words", "candidates", "share"]
    _table("fills: words that were put in as the last conjunct", columns, rows)


def _scores(summary: Mapping[str, Any]) -> None:
    rows = [
        [name, f"{d['mean']:.2f}", *_quantiles(d, ".2f"), d["null"]]
        for name, d in summary["scores"].items()
        if d and d["mean"] is not None
    ]
    _table(
        "scores: the fill's mean log-probability per token, under both contexts, where it follows "
        "the reference, where it precedes it",
        ["", "mean", *_QUANTILES.values(), "without"],
        rows,
    )


def _reasons(summary: Mapping[str, Any]) -> None:
    total = sum(summary["rows"].values())
    rows = [[reason, n, _share(n, total)] for reason, n in summary["reasons"].items()]
    columns = ["reason", "rows", "share"]
    _table("rejected: why a row is no candidate; share of all rows", columns, rows)


def _runs(shards: Shards, summary: Mapping[str, Any]) -> None:
    known = generations(shards)
    rows = [[key, n, _how(known.get(key))] for key, n in summary["generations"].items()]
    title = "generations: the runs that made the rows, and how (all of it in manifest.json)"
    _table(title, ["generation", "rows", "how"], rows)


def _how(about: Mapping[str, Any] | None) -> str:
    """What distinguishes runs most, of the settings of one."""
    settings = (about or {}).get("settings")
    if not isinstance(settings, Mapping):
        return "not described here"
    if settings.get("fills") == HARVESTED:
        shown = (
            f"{k} {settings[k]}" for k in ("parser", "labelled", "tags", "seed") if k in settings
        )
        return f"harvested natural text, {', '.join(shown)}"
    parts = [str(settings.get("lm", "model not named"))]
    if "sync" in settings:
        over = " of ".join(str(settings[k]) for k in ("synchronize", "scores") if k in settings)
        over = f" ({over})" if over else ""
        parts.append(f"synchronized{over}" if settings["sync"] else "one context only")
    if settings.get("fills") == "attested":
        parts.append(f"the best of {settings.get('pool', '?')} attested fills")
    parts += [f"{k} {settings[k]}" for k in ("decoding", "spans", "seed") if k in settings]
    parts += ["trees of the treebank"] if settings.get("trees") == "treebank" else []
    return ", ".join(parts)


def _comparison(summary: Mapping[str, Any], reference: Path | None) -> None:
    treebank = summary["reference"]
    if treebank is None:
        why = "none was found; name one with --reference"
        if reference:
            why = f"{reference} has no coordination in its training split"
        say(f"not compared with a treebank: {why}")
        return
    names = {
        "labels": "labels",
        "coordinators": "coordinators",
        "conjunct_words": "length of conjuncts, in bins",
        "sentence_words": "length of sentences, in bins",
    }
    rows = [
        [what, "not known" if (bits := treebank["divergence"][name]) is None else f"{bits:.3f}"]
        for name, what in names.items()
    ]
    table(
        f"distance from {treebank['name']}: Jensen-Shannon divergence in bits; 0: distributed alike, "
        "1: nothing in common",
        ["distribution", "bits"],
        rows,
    )


def _quantiles(figures: Mapping[str, Any], form: str) -> list[str]:
    return [f"{figures['quantiles'][q]:{form}}" for q in _QUANTILES]


def _share(count: int, total: int) -> str:
    if not total:
        return "–"
    share = f"{100 * count / total:.1f} %"
    return "< 0.1 %" if count and share == "0.0 %" else share
