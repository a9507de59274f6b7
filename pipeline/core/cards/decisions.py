"""What ``annotate`` writes of a corpus, line by line, and ``ingest corrected`` reads."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pipeline.core.documents import Count, Number, PlaceName

By = Literal["random", "disagreement"]
"""How sentences are chosen."""


class DrawnLine(TypedDict):
    """Sentences that were drawn to be annotated, in their order; later lines draw more."""

    drawn: list[PlaceName]
    corpus: PlaceName
    by: By
    seed: Count


class DecidedLine(TypedDict):
    """What somebody decided of a coordinator, or that a sentence is set aside.

    ``words`` is a digest of the sentence's words. The structure's conjuncts are half-open ranges of words
    from 0, none where the coordinator joins nothing; without a ``coordinator`` the sentence is set aside.
    """

    sentence_id: PlaceName
    words: str
    coordinator: NotRequired[Count]
    conjuncts: NotRequired[list[list[Count]]]
    seconds: NotRequired[Number]


class UndoneLine(TypedDict):
    """That the last decision that still stands does not: of this sentence and coordinator."""

    undone: PlaceName
    coordinator: NotRequired[Count]
