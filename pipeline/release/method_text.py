"""What the documents of a release say of its columns, and of how its rows came about if that is recorded."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from pipeline.core.annotation import described, from_json
from pipeline.core.candidates import HARVESTED, is_proposed
from pipeline.core.families import FAMILY_FACTS
from pipeline.core.types import COLUMNS

TREEBANK = "treebank"
"""What trees say of their parser if they came with the source."""


def synchronized(manifest: Mapping[str, Any]) -> set[bool | None]:
    """Whether the runs filled both contexts at once: yes, no, or (None) not recorded, or in neither way."""
    said = [
        None if is_proposed(run) else run.get("settings", {}).get("sync")
        for run in manifest["generations"].values()
        if run.get("settings", {}).get("fills") != HARVESTED
    ]
    return {each if isinstance(each, bool) else None for each in said} or {None}


def proposed(manifest: Mapping[str, Any]) -> set[bool]:
    """Whether the runs' fills were proposed in either context, and ranked in both."""
    return {is_proposed(run) for run in manifest["generations"].values()} or {False}


def attested(manifest: Mapping[str, Any]) -> set[bool]:
    """Whether the runs' fills are constituents of other sentences; no where it is not recorded."""
    runs = manifest["generations"].values()
    return {run.get("settings", {}).get("fills") == "attested" for run in runs} or {False}


def harvested(manifest: Mapping[str, Any]) -> set[bool]:
    """Whether the runs' rows are natural text; no where it is not recorded."""
    runs = manifest["generations"].values()
    return {run.get("settings", {}).get("fills") == HARVESTED for run in runs} or {False}


def method(manifest: Mapping[str, Any]) -> str:
    """The name of the method."""
    if harvested(manifest) == {True}:
        return "harvest of natural coordinations by a parser"
    natural = " and harvest of natural coordinations" * (True in harvested(manifest))
    among = {1: "", 2: ", in part"}[len(attested(manifest))]
    what = _infilling(manifest)
    named = f"{what}{among} with attested constituents" if True in attested(manifest) else what
    return named + natural


def _infilling(manifest: Mapping[str, Any]) -> str:
    if proposed(manifest) == {True}:
        return "text-infilling by ranked proposals"
    found = synchronized(manifest)
    if found == {True}:
        return "synchronized text-infilling"
    if found == {False}:
        return "text-infilling without synchronization"
    return "text-infilling" + (", in part synchronized" if {True, False} <= found else "")


def parser_of(manifest: Mapping[str, Any], generation: Mapping[str, Any]) -> str | None:
    """The parser of the trees that a run read, if the trees at hand are those."""
    if generation.get("settings", {}).get("trees") == TREEBANK:
        return TREEBANK
    used = generation.get("inputs", {}).get("trees")
    trees = [source["trees"] for source in manifest["sources"] if source.get("trees")]
    trees += [each for source in manifest["sources"] for each in _named(source)]
    found = (str(t["parser"]) for t in trees if t["sha256"] == used and t.get("parser"))
    return next(found, None)


def _named(source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((source.get("named_trees") or {}).values())


def annotated(manifest: Mapping[str, Any]) -> str:
    """What people had annotated for the rows, in words; empty where there is no record, or nothing was."""
    entries = manifest.get("annotation") or []
    corpora = [str(source["corpus"]) for source in manifest["sources"]]
    return described(from_json(entries), corpora[0] if len(corpora) == 1 else "") if entries else ""


def model_name(settings: Mapping[str, Any], unknown: str) -> str:
    """A language model as prose has it: BERT, T5, T5-twins."""
    family, hyphen, rest = str(settings["lm"]).partition("-") if "lm" in settings else ("", "", "")
    title = FAMILY_FACTS[family].title if family in FAMILY_FACTS else family.upper()
    return f"{title}{hyphen}{rest}" or unknown


def parsers(manifest: Mapping[str, Any]) -> list[str | None]:
    """The parsers of all runs that took constituents; None among them: one is not recorded."""
    runs = manifest["generations"].values()
    taken = [run for run in runs if run.get("settings", {}).get("spans") == "constituents"]
    return list(dict.fromkeys(parser_of(manifest, run) for run in taken))


def resource(name: str) -> str:
    """A text file of ``resources/release``."""
    return (files("pipeline") / "resources/release" / name).read_text(encoding="utf-8")


@cache
def said(what: str) -> dict[str, Any]:
    """A part of ``words.yaml``: ``natural``, ``scores``, ``reasons`` of rejects, ``asked``, or ``paper``."""
    found: dict[str, Any] = yaml.safe_load(resource("words.yaml"))[what]
    return found


def meanings(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Column → what it means in this release, in Markdown."""
    if proposed(manifest) == {True}:
        way = "proposed"
    else:
        found = synchronized(manifest)
        way = (
            "synchronized"
            if found == {True}
            else "not synchronized"
            if found == {False}
            else "either"
        )
    usual = {each.name: each.meaning for each in COLUMNS}
    scores: dict[str, str] = said("scores").get(way, {})
    natural: dict[str, str] = said("natural") if True in harvested(manifest) else {}
    return usual | scores | natural
