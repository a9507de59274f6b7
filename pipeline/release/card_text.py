"""What a release's card and its Croissant file both say in sentences, made of the manifest's facts.

The tables of a release's card: each a Markdown text, or None where there is nothing to count.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.core.markdown import code, grid
from pipeline.release.licence_files import notices
from pipeline.release.method_text import (
    TREEBANK,
    method,
    model_name,
    parser_of,
    parsers,
    said,
    synchronized,
)

_DECODING = {
    "greedy": "a text, at each place the token that scored best,",
    "sample": "texts drawn at random",
    "n-best": "the texts that scored best in a search",
}


def prose(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], origins: Sequence[str]
) -> dict[str, Any]:
    """``description``, ``method``, ``collection`` and ``limits`` (a list) of a release, in plain text."""
    return {
        "method": method(manifest),
        "description": _description(manifest, origins),
        "collection": _collection(manifest),
        "limits": _limits(manifest, summary),
    }


def _trained_on(parser: str) -> str:
    if parser.startswith("stanza:train:"):
        return f"{parser} (trained on trees of the source corpus itself)"
    if parser.startswith("stanza:ptb"):
        return f"{parser} (trained on the Penn Treebank, newspaper text)"
    return parser


def _description(manifest: Mapping[str, Any], origins: Sequence[str]) -> str:
    rows = manifest["rows"]
    text = (
        f"{rows['train']:,} English sentences, each with one coordinate structure (“X and Y”) whose "
        "two conjuncts are marked. They are machine-made: a language model wrote the second conjunct "
        f"into a sentence of {_listed([n.source for n in notices(origins)])}."
    )
    if _spans(manifest) == {"random"}:
        text += " The first conjunct is a random sequence of words, often no constituent."
    if rows["rejected"]:
        text += (
            f" {rows['rejected']:,} outcomes that were refused come along, each with the reason."
        )
    if manifest["stand_off"]:
        text += (
            " This is a stand-off release: it has positions and generated text, but no source "
            "sentence of four or more words and no four words in a row of a row's own sentence. "
            "The generated text may share words with them."
        )
    return text


def _spans(manifest: Mapping[str, Any]) -> set[Any]:
    return {g.get("settings", {}).get("spans") for g in manifest["generations"].values()}


def _collection(manifest: Mapping[str, Any]) -> str:
    # What runs did that differ in the model only is told once.
    ways: dict[tuple[str, str], list[str]] = {}
    for generation in manifest["generations"].values():
        s = generation.get("settings", {})
        family = model_name(s, "the language model")
        families = ways.setdefault(_way(s, parser_of(manifest, generation)), [])
        if family not in families:
            families.append(family)
    told = [f"{begin}{_listed(families, 'or')}{end}" for (begin, end), families in ways.items()]
    return " ".join(told) or "Made by conjoin; the settings are not recorded."


def _way(settings: Mapping[str, Any], parser: str | None) -> tuple[str, str]:
    """What a run did, before and after the name of its model."""
    word = settings.get("coordinator", "and")
    where = "into a gap beside X"
    if settings.get("sync") is True:
        where = (
            f"into two copies of the sentence at once, “X {word} ___” and “___ {word} X”, scored in "
            "both together"
        )
    elif settings.get("sync") is False:
        where = f"into one copy of the sentence only, “X {word} ___”"
    span = {
        "constituents": "a constituent of an automatic parse",
        "random": "a random sequence of words",
        "given": "a span that was given",
    }.get(str(settings.get("spans")), "a span")
    if settings.get("spans") == "constituents" and parser in {None, TREEBANK}:
        span = "a constituent of its tree" + (" in the source" if parser else "")
    what = _DECODING.get(str(settings.get("decoding")), "a text")
    return (
        f"From a sentence without coordination {span} was chosen as the first conjunct X; ",
        f" then wrote {what} {where}. Coordinator and text stand after X; their positions are the "
        "annotation.",
    )


def _limits(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    spans = _spans(manifest)
    limits = [
        "Nobody has read the rows. Models err, so a share of the sentences is ungrammatical or makes "
        "no sense, and a share of the marked boundaries is wrong. Use the scores or a trained "
        "predictor to choose among them, and evaluate on sentences that people have annotated."
    ]
    if spans != {"random"}:
        limits.append(
            "The label is the category of the first conjunct. That the second is of the same category "
            "is assumed, not checked."
        )
    if False in synchronized(manifest):
        limits.append(
            "Without synchronization (setting sync: no) a text had to follow the first conjunct only; "
            "whether it could stand in its place was not scored."
        )
    limits += _of_trees(parsers(manifest))
    if "random" in spans:
        limits.append(
            "First conjuncts of some or all rows are random word sequences (label X), often no "
            "constituents at all."
        )
    coordinators = summary.get("coordinators") or {}
    if len(coordinators) == 1:
        limits.append(
            f"The only coordinator is “{next(iter(coordinators))}”, every structure has exactly two "
            "conjuncts, one on each side of it. Other coordinators and longer lists do not occur."
        )
    elif coordinators:
        limits.append(
            "Every structure has exactly two conjuncts, one on each side of the coordinator. Longer "
            "lists do not occur."
        )
    limits += [
        "Exactly one structure of a sentence is marked. If the model wrote another coordination into "
        "its text, that one is not.",
        "The generated text says nothing true about the world: names, figures and findings in it are "
        "the model's invention, with the biases of what it was trained on.",
    ]
    return limits


def _of_trees(named: Sequence[str | None]) -> list[str]:
    """Where the constituents are from; one parser or several, the source's own trees, not recorded."""
    some = "First conjuncts" if len(named) < 2 else "Some first conjuncts"
    errs = (
        ": where it errs, the boundary of the first conjunct and the label are wrong, and more so in "
        "text unlike what it was trained on."
    )
    limits = []
    if found := [_trained_on(name) for name in named if name and name != TREEBANK]:
        limits.append(f"{some} are constituents found by a parser, {_listed(found, 'or')}{errs}")
    if TREEBANK in named:
        limits.append(f"{some} are constituents of the trees that came with the source.")
    if None in named:
        limits.append(
            f"{some} are constituents of trees, and who made those is not recorded. If a parser did"
            f"{errs}"
        )
    return limits


def _listed(names: Sequence[str], word: str = "and") -> str:
    if len(names) < 2:
        return "".join(names) or "an unnamed source"
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


_SCORES = ("score", "score_append", "score_prepend")
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
        ("second conjunct (generated)", summary.get("fill_length")),
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
    found = {name: (summary.get("scores") or {}).get(name) for name in _SCORES}
    told = {name: s for name, s in found.items() if s and s.get("quantiles")}
    if not told:
        return None
    points = sorted(next(iter(told.values()))["quantiles"], key=float)
    columns = ["", "mean", *(f"{100 * float(p):g} %" for p in points), "null"]
    rows = [
        [code(name), float(s["mean"]), *(float(s["quantiles"][p]) for p in points), s["null"]]
        for name, s in told.items()
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
        [code(reason), said("reasons").get(reason, "–"), count, f"{100 * count / total:.2f} %"]
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
        family = model_name(generation.get("settings", {}), "–")
        model = code(generation.get("model") or "not recorded")
        rows.append([code(key), family, model, tools or "–", generation.get("device") or "–"])
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
        told = ([n, _percent(n, whole)] for n, whole in zip(found, wholes, strict=True))
        return [what, *(cell for pair in told for cell in pair)]

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
