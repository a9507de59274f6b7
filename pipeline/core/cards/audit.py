"""What ``audit`` writes: ``audit/audit.json``."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator
from typing_extensions import TypedDict

from pipeline.core.cards.parts import Share
from pipeline.core.documents import Count, FileName, PlaceName


class JudgedForm(TypedDict):
    """Some candidates that were judged, and the share of them whose annotation is right."""

    judged: Count
    right: Share
    sensible: Share


class GenerationFigures(JudgedForm):
    """What the annotations of some candidates are worth."""

    other: Share
    ungrammatical: Share
    repeats: Share
    distinct: Share
    by_label: dict[str, JudgedForm]
    by_fill_length: dict[str, JudgedForm]


class AuditedGeneration(GenerationFigures):
    """A folder of candidates, all seeds together; ``unknown``: how many the treebank does not have."""

    candidates: FileName
    seeds: NotRequired[list[Count]]
    unknown: NotRequired[Count]


class FilteredLabel(TypedDict):
    """What the filter does to candidates of one label."""

    judged: Count
    acceptance: Share
    accepted_right: Share
    rejected_right: Share


def _right_is_known(side: dict[str, Any]) -> dict[str, Any]:
    if side["judged"] and side["right"] is None:
        raise ValueError("some were judged, so right must be a number")
    return side


_Side = Annotated[JudgedForm, AfterValidator(_right_is_known)]


class FilterFigures(TypedDict):
    """What the filter accepted, and what it rejected."""

    accepted: _Side
    rejected: _Side
    by_label: dict[str, FilteredLabel]


class AuditedFilter(FilterFigures):
    """A system at one |L|, all seeds together; ``unknown``: how many the treebank does not have."""

    system: PlaceName
    labelled: Count
    seeds: NotRequired[list[Count]]
    unknown: NotRequired[Count]


class AuditCard(TypedDict):
    """``audit/audit.json``, which ``audit`` writes where something could be judged.

    Earlier versions did not write ``judge``, which was the grammar.
    """

    oracle: Literal[True]
    judge: NotRequired[Literal["grammar", "treebank"]]
    generation: list[AuditedGeneration]
    filter: list[AuditedFilter]


class NoAuditCard(TypedDict):
    """``audit/audit.json`` of another corpus."""

    oracle: Literal[False]
