"""What ``evaluate`` writes: ``evaluation/metrics.json``."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator
from typing_extensions import TypedDict

from pipeline.core.cards.parts import CountOf, PartForm, Share, with_keys
from pipeline.core.cards.runs import ShownAs
from pipeline.core.corpora import COORDINATION
from pipeline.core.documents import Count, Number, PlaceName
from pipeline.core.types import CATEGORIES, CRITERIA

Combined = Literal["alone", "else", "together"]
"""How a system uses a parser (``core/runs.py``)."""


class SystemRow(TypedDict):
    """What ``System.as_row`` writes; earlier versions wrote less."""

    system: PlaceName
    mode: NotRequired[str]
    augment: NotRequired[str]
    shown_as: NotRequired[ShownAs]
    parser: NotRequired[PlaceName | None]
    combined: NotRequired[Combined | None]
    taught: NotRequired[bool]
    brackets: NotRequired[Number | None]
    gold_of: NotRequired[PlaceName | None]
    begun_with: NotRequired[PlaceName | None]


def _with_overall(value: dict[str, Any]) -> dict[str, Any]:
    return with_keys(value, ("overall",))


Figures = Annotated[dict[str, Share], AfterValidator(_with_overall)]
"""Figures by column, and of all."""


class EvaluatedRun(SystemRow):
    """A run, or a parser's row of one draw; earlier versions did not write ``annotation``."""

    labelled: Count
    seed: Count
    draw: NotRequired[str | Count]
    accuracy: Figures
    criteria: NotRequired[dict[str, Share]]
    annotation: NotRequired[list[PartForm]]
    validation_accuracy: NotRequired[Share]
    best_step: NotRequired[Count | None]
    steps: NotRequired[Count | None]
    seen: NotRequired[Count | None]
    accepted: NotRequired[Count | None]
    unscored: NotRequired[Count]


class TogetherRun(EvaluatedRun):
    """A run and a parser together, by a τ."""

    tau: Number


class MeanAndSd(TypedDict):
    """A figure over seeds."""

    mean: Share
    sd: Share


class SummaryRow(TypedDict):
    """A system at one |L|, over seeds; earlier versions did not write ``draw`` and ``annotated``."""

    system: PlaceName
    labelled: Count
    draw: NotRequired[str | Count]
    seeds: NotRequired[list[Count]]
    annotated: NotRequired[str]
    mean: Figures
    sd: Figures
    criteria: dict[str, MeanAndSd]


class ComparisonRow(TypedDict):
    """A ``Comparison``; earlier versions did not write ``by_seed`` and ``by_t``, its t-interval."""

    system: PlaceName
    against: PlaceName
    labelled: Count
    seeds: list[Count]
    gain: Number
    low: Number
    high: Number
    by_seed: NotRequired[list[Number]]
    by_t: NotRequired[list[float] | None]


class MetricsDocument(TypedDict):
    """The document without what its parts say of one another.

    Earlier versions did not write ``across``, ``corpus``, ``resampled``. ``task`` is of a corpus of another
    task than coordination, whose figures are by category. ``limit`` is there where not all of the split was
    measured.
    """

    split: str
    limit: NotRequired[Count]
    task: NotRequired[str]
    corpus: NotRequired[PlaceName]
    instances: Annotated[CountOf, AfterValidator(_with_overall)]
    resampled: NotRequired[Literal["instances", "documents", "sentences"]]
    runs: list[EvaluatedRun]
    summary: list[SummaryRow]
    comparisons: NotRequired[list[ComparisonRow]]
    across: NotRequired[list[ComparisonRow]]


def measured_on(document: Mapping[str, Any]) -> str:
    """What figures are of, for titles: the split, and where it was cut off."""
    split, limit = str(document["split"]), document.get("limit")
    return split if limit is None else f"{split}, cut off by --limit {limit}"


_COMPARED = ("system", "against")


def _whole(value: dict[str, Any]) -> dict[str, Any]:
    if value.get("task", COORDINATION) == COORDINATION:
        for row in value["summary"]:
            for name in ("mean", "sd"):
                with_keys(row[name], tuple(CATEGORIES))
            with_keys(row["criteria"], CRITERIA)
        with_keys(value["instances"], tuple(CATEGORIES))
    runs = {(run["system"], run["labelled"]) for run in value["runs"]}
    systems = {system for system, _ in runs}
    if not {(each["system"], each["labelled"]) for each in value["summary"]} <= runs:
        raise ValueError("the summary has a system without a run")
    compared = (*value.get("comparisons", ()), *value.get("across", ()))
    if not {one[key] for one in compared for key in _COMPARED} <= systems:
        raise ValueError("the comparisons have a system without a run")
    return value


MetricsCard = Annotated[MetricsDocument, AfterValidator(_whole)]
"""``evaluation/metrics.json``, which ``evaluate`` writes."""
