"""What ``diagnose`` writes: the structures that a predictor gets wrong."""

from typing import Annotated, Literal, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from pipeline.core import words
from pipeline.core.cards.parts import PartForm
from pipeline.core.documents import Count
from pipeline.core.structures import MOST_CONJUNCTS


class TargetKind(TypedDict):
    """Structures of one kind: ``length`` is the number of their bucket, ``share`` what is wanted of them.

    Whoever writes shares by hand may write counts, or percent; their sum is a number still.
    """

    label: str
    length: Count
    coordinator: Annotated[str, Field(max_length=20), AfterValidator(words.coordinator)]
    preconjunction: NotRequired[str | None]
    conjuncts: Annotated[int, Field(ge=2, le=MOST_CONJUNCTS)]
    structures: NotRequired[Count]
    errors: NotRequired[Count]
    share: Annotated[float, Field(ge=0, le=1e12)]


class Diagnosis(TypedDict):
    """Where a predictor fails.

    ``edges`` are the greatest lengths in words of all buckets but the last, ascending; ``commas`` the
    share of structures of three conjuncts or more with a comma before the coordinator.
    """

    smoothing: NotRequired[float]
    edges: list[Count]
    commas: Annotated[float, Field(ge=0, le=1)]
    structures: NotRequired[Count]
    errors: NotRequired[Count]
    cells: list[TargetKind]


class DiagnosedRun(TypedDict, total=False):
    """Whose targets they are."""

    system: str
    draw: str
    seed: Count
    folds: Count


class TargetsFile(Diagnosis):
    """``targets.json``, which ``diagnose`` writes; earlier versions did not write ``annotation``.

    People may write one, too, which needs no counts.
    """

    format: Literal[1]
    run: NotRequired[DiagnosedRun]
    annotation: NotRequired[list[PartForm]]
