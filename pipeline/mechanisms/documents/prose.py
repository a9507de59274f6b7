"""What a release's card and its Croissant file both say in sentences, made of the manifest's facts."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.mechanisms.documents.methods import (
    TREEBANK,
    method,
    model_name,
    parser_of,
    parsers,
    synchronized,
)
from pipeline.mechanisms.documents.notices import notices

__all__ = ["prose"]

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
