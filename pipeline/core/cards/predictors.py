"""``manifest.json`` of a release of a predictor, which ``release`` writes."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pipeline.core.cards.parts import CountOf, PartForm, Share
from pipeline.core.documents import Count, FileName, Number, PlaceName


class LearnedFrom(TypedDict):
    """Something that the weights were learned from, and the licence it is under.

    ``part`` says what it is: the encoder, the texts of its pretraining, annotated text, candidates.
    """

    part: str
    name: PlaceName
    license: str
    rows: NotRequired[Count]


class PredictorFigures(TypedDict):
    """What the predictor reached: figures in [0, 1], the first with its 95 % interval over documents.

    ``figures`` and ``instances`` go by column, ``criteria`` are other figures of the same predictions.
    ``intervals`` are the lower and upper bounds of other columns; versions before wrote none.
    """

    title: str
    figure: str
    split: str
    resampled: str
    overall: Number
    low: Number
    high: Number
    figures: dict[str, Share]
    instances: CountOf
    criteria: dict[str, Share]
    intervals: NotRequired[dict[str, list[Number]]]


class PredictorManifest(TypedDict):
    """The document.

    ``files`` are the predictor's own, with their digests; ``base_model`` is a name of the hub; ``figures``
    are missing where ``not_evaluated`` says why.
    """

    conjoin: str
    kind: Literal["predictor"]
    format: Literal[1]
    name: str
    version: str
    authors: list[str]
    url: str | None
    license: str
    declared: str | None
    learned_from: list[LearnedFrom]
    task: str
    predictor: str
    files: dict[FileName, str]
    base_model: str | None
    corpus: PlaceName | None
    system: str
    command: str
    annotation: list[PartForm]
    annotated: str
    figures: NotRequired[PredictorFigures]
    not_evaluated: NotRequired[str]
