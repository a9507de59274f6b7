"""What ``diagnose`` writes of a run of relations: ``confusions.json``."""

from typing import Literal

from typing_extensions import TypedDict

from pipeline.core.cards.parts import PartForm
from pipeline.core.documents import Count, PlaceName


class ConfusedRun(TypedDict):
    """Whose model it was."""

    system: PlaceName
    draw: str
    seed: Count


class ConfusionRow(TypedDict):
    """A cell off the diagonal: ``errors`` of ``there`` pairs."""

    true: str
    predicted: str
    errors: Count
    there: Count


class ConfusionsFile(TypedDict):
    """The matrix, a row for each true and a column for each predicted sense, and its largest cells."""

    format: Literal[1]
    run: ConfusedRun
    split: str
    least_errors: Count
    senses: list[str]
    matrix: list[list[Count]]
    largest: list[ConfusionRow]
    annotation: list[PartForm]
