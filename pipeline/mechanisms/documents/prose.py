"""What a release's card and its Croissant file both say in sentences, made of the manifest's facts."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pipeline.mechanisms.documents.notices import notices
from pipeline.settings.base import flag_of
from pipeline.settings.generate import Generate

__all__ = ["commands", "parsers", "prose"]

_DECODING = {
    "greedy": "the most probable text",
    "sample": "texts drawn at random",
    "n-best": "the most probable texts",
}

_SPANS = {
    "constituents": "a constituent of an automatic parse",
    "random": "a random sequence of words",
    "given": "a span that was given",
}
_TREEBANK = "treebank"  # what trees say of their parser if people annotated them
_ALWAYS = {
    "lm",
    "sync",
    "decoding",
    "spans",
    "seed",
}  # options worth reading even if they are usual


def prose(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], origins: Sequence[str]
) -> dict[str, Any]:
    """``description``, ``collection`` and ``limits`` (a list) of a release, in plain text."""
    return {
        "description": _description(manifest, origins),
        "collection": _collection(manifest),
        "limits": _limits(manifest, summary),
    }


def parsers(manifest: Mapping[str, Any]) -> list[str]:
    """The parsers of the sources, where the trees at hand are those that the rows were made from."""
    used = {g.get("inputs", {}).get("trees") for g in manifest["generations"].values()}
    trees = [source["trees"] for source in manifest["sources"] if source.get("trees")]
    found = [str(t["parser"]) for t in trees if t["sha256"] in used and t.get("parser")]
    return list(dict.fromkeys(found))


def _trained_on(parser: str) -> str:
    if parser.startswith("stanza:train:"):
        return f"{parser} (trained on trees of the source corpus itself)"
    if parser.startswith("stanza:ptb"):
        return f"{parser} (trained on the Penn Treebank, newspaper text)"
    return parser


def commands(manifest: Mapping[str, Any]) -> list[str]:
    """Commands that make such rows again: ``conjoin generate`` for each run, then the release's own.

    A manifest records what rows depend on, not where things lay, so the corpus is the source's name.
    """
    place = f"data/{manifest['sources'][0]['corpus'] if manifest['sources'] else 'CORPUS'}"
    lines = [
        line
        for generation in manifest["generations"].values()
        if (line := _generate(generation.get("settings", {}), place))
    ]
    return [*dict.fromkeys(lines), manifest["command"]]


def _generate(settings: Mapping[str, Any], place: str) -> str | None:
    known = {
        key: v for key, v in settings.items() if key in Generate.model_fields and v is not None
    }
    try:
        made = Generate(**{**known, "corpus": place})
    except ValidationError:
        return None  # a run of another version of conjoin, with settings of its own
    usual = Generate.model_fields
    words = ["conjoin", "generate", place]
    for name in usual:
        if name not in known or (name not in _ALWAYS and known[name] == usual[name].default):
            continue
        flag = flag_of(name)
        switch = isinstance(value := getattr(made, name), bool)
        words += [f"--{flag}" if value else f"--no-{flag}"] if switch else [f"--{flag}", str(value)]
    return shlex.join(words)


def _description(manifest: Mapping[str, Any], origins: Sequence[str]) -> str:
    rows = manifest["rows"]
    text = (
        f"{rows['train']:,} English sentences, each with one coordinate structure (“X and Y”) whose "
        "two conjuncts are marked. They are machine-made: a language model wrote the second conjunct "
        f"into a sentence of {_listed([n.source for n in notices(origins)])}."
    )
    if rows["rejected"]:
        text += (
            f" {rows['rejected']:,} outcomes that were refused come along, each with the reason."
        )
    if manifest["stand_off"]:
        text += (
            " This is a stand-off release: it has positions and generated text, but not a word of "
            "the source."
        )
    return text


def _collection(manifest: Mapping[str, Any]) -> str:
    ways: dict[str, list[str]] = {}  # what runs did that differ in the model only is told once
    for generation in manifest["generations"].values():
        s = generation.get("settings", {})
        family = str(s["lm"]).upper() if "lm" in s else "the language model"
        families = ways.setdefault(_way(s), [])
        if family not in families:
            families.append(family)
    told = [way.format(family=_listed(families, "or")) for way, families in ways.items()]
    return " ".join(told) or "Made by conjoin; the settings are not recorded."


def _way(settings: Mapping[str, Any]) -> str:
    both = (
        "into two copies of the sentence at once, “X and ___” and “___ and X”, so that it fits both"
        if settings.get("sync", True)
        else "into one copy of the sentence only, “X and ___”"
    )
    span = _SPANS.get(str(settings.get("spans")), "a span")
    what = _DECODING.get(str(settings.get("decoding")), "a text")
    return (
        f"From a sentence without coordination {span} was chosen as the first conjunct X; {{family}} "
        f"then wrote {what} {both}. Coordinator and text stand after X; their positions are the "
        "annotation."
    )


def _limits(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> list[str]:
    spans = {g.get("settings", {}).get("spans") for g in manifest["generations"].values()}
    limits = [
        "Nobody has read the rows. Models err, so a share of the sentences is ungrammatical or makes "
        "no sense, and a share of the marked boundaries is wrong. Use the scores or a trained "
        "predictor to choose among them, and evaluate on sentences that people have annotated.",
        "The label is the category of the first conjunct. That the second is of the same category is "
        "assumed, not checked.",
    ]
    if "constituents" in spans:
        named = parsers(manifest)
        who = (
            _listed([_trained_on(name) for name in named])
            if named
            else "whose name is not recorded"
        )
        limits.append(
            f"First conjuncts are constituents found by a parser, {who}: where it errs, the boundary "
            "of the first conjunct and the label are wrong, and more so in text unlike what it was "
            "trained on."
            if named != [_TREEBANK]
            else "First conjuncts are constituents of the trees that people annotated."
        )
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


def _listed(names: Sequence[str], word: str = "and") -> str:
    if len(names) < 2:
        return "".join(names) or "an unnamed source"
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
