"""The forms of the JSON documents that a report is made from: the keys that it reads, and of which types.

Everything may be absent that an earlier version of conjoin did not write; docs/schema.md names the keys.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator
from typing_extensions import TypedDict

from pipeline.core.annotation import Part
from pipeline.core.documents import Count, FileName, Number, PlaceName
from pipeline.core.runs import SystemRow
from pipeline.core.tally import TallyForm
from pipeline.core.types import CATEGORIES, CRITERIA


def _by_category(value: dict[str, Any]) -> dict[str, Any]:
    return _with_keys(value, ("overall", *CATEGORIES))


def _by_criterion(value: dict[str, Any]) -> dict[str, Any]:
    return _with_keys(value, CRITERIA)


def _with_keys(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    if missing := [key for key in keys if key not in value]:
        raise ValueError(f"lacks {missing[0]}")
    return value


_Share = Number | None
_Counts = dict[str, Count]
_Figures = Annotated[dict[str, _Share], AfterValidator(_by_category)]


class _Tally(TypedDict, total=False):
    kept: Count
    refused: _Counts


class Ingested(TypedDict, total=False):
    """``ingest.json``."""

    reader: str
    splits: dict[str, _Counts]
    labels: dict[str, _Counts]
    unlabelled_seeds: _Counts | None
    refused: _Counts | None


class _ParserTraining(TypedDict, total=False):
    f1: Number
    tags: str
    trees: Count


class PreparseRecord(TypedDict, total=False):
    """``preparse.json``."""

    parser: str
    unlabelled: _Tally
    training: _ParserTraining | None


class _Made(TypedDict, total=False):
    lm: object  # a folder of which nothing is known is called as it is
    trees: str | None
    sync: bool
    decoding: str
    synchronize: str
    fills: str
    match: str
    pool: Count
    coordinators: str | None
    arity: str
    parser: str
    labelled: str
    tags: str
    parser_lm: str | None


class _MadeOf(TypedDict, total=False):
    targets: str | None


class _Distance(TypedDict):
    before: Number
    after: Number


class _Sample(TypedDict, total=False):
    distance: _Distance


class _Input(TypedDict):
    place: str
    rows: _Counts
    kept: _Counts


class SelectionRecord(TypedDict):
    """How candidates were chosen, once for a folder."""

    command: str
    inputs: list[_Input]
    left_out: _Counts
    sample: NotRequired[_Sample]


class CandidatesManifest(TypedDict):
    """``manifest.json`` of a folder of candidates: what made them, or how they were chosen."""

    settings: NotRequired[_Made]
    inputs: NotRequired[_MadeOf]
    selection: NotRequired[SelectionRecord]


class Counted(CandidatesManifest):
    """The same document: what came of it."""

    tally: TallyForm


class _Overlap(TypedDict, total=False):
    found: _Counts | None
    policy: str | None


class Pretrained(TypedDict, total=False):
    """``pretrain.json``, or ``ready.json``, which has a ``name`` alone."""

    name: str
    base: str | None
    objective: str
    parameters: Count | None
    vocabulary: Count | None
    steps: Count | None
    tokens: Count | None
    perplexity: _Share
    texts: _Tally | None
    overlap: _Overlap | None
    text_digest: str | None


class PretrainingTime(TypedDict, total=False):
    """``timing.json`` of a language model."""

    seconds: _Share
    tokens_per_second: _Share
    device: str | None
    processes: Count | None
    dtype: str | None


class LookLine(TypedDict):
    """A line of a language model's ``history.jsonl``."""

    step: Count
    tokens: Count


class _RunAccuracy(TypedDict):
    overall: _Share


class _EvaluatedRun(SystemRow):
    labelled: Count
    seed: Count
    accuracy: _RunAccuracy
    annotation: NotRequired[list[Part]]


class _MeanAndSd(TypedDict):
    mean: _Share
    sd: _Share


class _Summary(TypedDict):
    system: PlaceName
    labelled: Count
    draw: NotRequired[str | Count]
    mean: _Figures
    sd: _Figures
    criteria: Annotated[dict[str, _MeanAndSd], AfterValidator(_by_criterion)]


class _Comparison(TypedDict):
    system: PlaceName
    against: PlaceName
    labelled: Count
    seeds: list[Count]
    gain: Number
    low: Number
    high: Number
    by_seed: NotRequired[list[Number]]


class _Evaluated(TypedDict):
    split: str
    instances: Annotated[_Counts, AfterValidator(_by_category)]
    runs: list[_EvaluatedRun]
    summary: list[_Summary]
    comparisons: NotRequired[list[_Comparison]]
    across: NotRequired[list[_Comparison]]
    corpus: NotRequired[PlaceName]
    resampled: NotRequired[Literal["instances", "documents"]]


def _of_its_runs(value: dict[str, Any]) -> dict[str, Any]:
    runs = {(run["system"], run["labelled"]) for run in value["runs"]}
    systems = {system for system, _ in runs}
    if not {(each["system"], each["labelled"]) for each in value["summary"]} <= runs:
        raise ValueError("the summary has a system without a run")
    compared = (*value.get("comparisons", ()), *value.get("across", ()))
    if not {one[key] for one in compared for key in _COMPARED} <= systems:
        raise ValueError("the comparisons have a system without a run")
    return value


_COMPARED = ("system", "against")


Evaluated = Annotated[_Evaluated, AfterValidator(_of_its_runs)]
"""``evaluation/metrics.json``."""


class _Judged(TypedDict):
    judged: Count
    right: _Share
    sensible: _Share


class _FilteredLabel(TypedDict):
    judged: Count
    acceptance: _Share
    accepted_right: _Share
    rejected_right: _Share


class _AuditedGeneration(_Judged):
    candidates: FileName
    other: _Share
    ungrammatical: _Share
    repeats: _Share
    distinct: _Share
    by_label: dict[str, _Judged]
    by_fill_length: dict[str, _Judged]


def _right_is_known(side: dict[str, Any]) -> dict[str, Any]:
    if side["judged"] and side["right"] is None:
        raise ValueError("some were judged, so right must be a number")
    return side


_Side = Annotated[_Judged, AfterValidator(_right_is_known)]


class _AuditedFilter(TypedDict):
    system: PlaceName
    labelled: Count
    accepted: _Side
    rejected: _Side
    by_label: dict[str, _FilteredLabel]


class WithOracle(TypedDict):
    """``audit/audit.json`` where something could be judged."""

    oracle: Literal[True]
    judge: NotRequired[Literal["grammar", "treebank"]]
    generation: list[_AuditedGeneration]
    filter: list[_AuditedFilter]


class WithoutOracle(TypedDict):
    """``audit/audit.json`` of another corpus."""

    oracle: Literal[False]
