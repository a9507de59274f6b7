"""What ``train`` writes into the folder of a run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from pipeline.core.cards.parts import PartForm, TallyForm
from pipeline.core.documents import Count, Number, PlaceName
from pipeline.core.names import FOLDER_NAME, is_folder_name

ShownField = Literal["generator", "caption", "variation", "control_of"]
ShownAs = dict[ShownField, PlaceName]
"""The ``FIELDS`` of a system that are known (``core/runs.py``)."""


class RunSettings(TypedDict, total=False):
    """Those settings of a run that are read by name; ``run.json`` has them all."""

    augment: str
    augment_lm: str | None
    candidates: PlaceName | None
    warm_steps: Count
    encoder: str
    delta: Number
    brackets: Number | None
    gold_of: PlaceName | None


def _system(name: str) -> str:
    if not is_folder_name(name):
        raise ValueError(FOLDER_NAME)
    return name


def _named(pair: list[Any]) -> list[Any]:
    if not (len(pair) == 2 and isinstance(pair[0], str)):
        raise ValueError("must be a name and a value")
    return pair


class RunPaper(TypedDict, total=False):
    """Settings that are the paper's, and those that are not with the paper's value."""

    alike: list[str]
    unlike: list[Annotated[list[Any], AfterValidator(_named)]]


class BegunWith(TypedDict):
    """The predictor whose encoder a run began with: its system, and whether candidates had taught it."""

    system: PlaceName
    taught: bool


class RunCard(TypedDict):
    """``run.json``, which ``train`` writes when a run has finished.

    Earlier versions did not write ``draw``, ``shown_as``, ``paper``, ``distinct``, ``annotation`` and
    ``held_out``, a digest of the ids that the corpus kept for dev and tests, which it may have divided
    otherwise since; ``augmentation`` is of a run that learned from variants of L; ``notes`` counts what
    else is to be known of it; ``conjuncts`` is a digest of L's conjuncts, from which
    the scorer of ends has learned.
    """

    system: Annotated[str, AfterValidator(_system)]
    mode: str
    labelled: Count
    seed: Count
    draw: NotRequired[str | Count]
    held_out: NotRequired[str]
    shown_as: NotRequired[ShownAs]
    select: NotRequired[str]
    model: NotRequired[str]
    settings: NotRequired[RunSettings]
    paper: NotRequired[RunPaper]
    augmentation: NotRequired[Mapping[str, Any]]
    annotation: NotRequired[list[PartForm]]
    candidates: NotRequired[Count | None]
    excluded: NotRequired[dict[str, TallyForm]]
    notes: NotRequired[dict[str, Count]]
    conjuncts: NotRequired[str]
    begun_with: NotRequired[BegunWith]
    steps: NotRequired[Count | None]
    best_step: NotRequired[Count | None]
    best_validation_accuracy: NotRequired[Number | None]
    best_validation_loss: NotRequired[float | None]
    seen: NotRequired[Count | None]
    distinct: NotRequired[Count | None]
    accepted: NotRequired[Count | None]


class RunTiming(TypedDict):
    """``timing.json`` of a run, which ``train`` writes."""

    seconds: Number


Accepted = dict[str, Annotated[list[Count], Field(min_length=2, max_length=2)]]
"""{name: [accepted, seen]} since the record before."""


class RunLine(TypedDict):
    """A line of a run's ``history.jsonl``, which ``train`` writes: a validation.

    ``validation_loss`` is None where no validation instance can be scored, ``distinct`` counts different
    candidates so far, ``acceptance`` goes by label and ``acceptance_by_length`` by the words in the fill.
    Earlier versions did not write ``validation_loss``, ``distinct`` and ``acceptance_by_length``.
    """

    step: Count
    validation_accuracy: Number
    loss: NotRequired[float | None]
    validation_loss: NotRequired[float | None]
    seen: NotRequired[Count]
    accepted: NotRequired[Count]
    distinct: NotRequired[Count]
    acceptance: NotRequired[Accepted]
    acceptance_by_length: NotRequired[Accepted]
