"""What ``play`` reads and writes: card sets, and the board that somebody built of one."""

from typing import NotRequired

from typing_extensions import TypedDict


class DealtSet(TypedDict):
    """The cards of a round but the wildcard; ``pairs``: the core events that it was dealt from."""

    nouns: list[str]
    predicates: list[str]
    pairs: list[list[str]]


class DealFile(TypedDict):
    """What ``play --deal`` writes; ``level`` may be ``any``."""

    level: str
    seed: int
    sets: list[DealtSet]


class BoardFile(TypedDict):
    """What ``play --score`` reads, and the page sends.

    ``frames`` has of each of the 12 frames, row by row, the number of the card that lies there: 0 to 5 are
    ``nouns``, 6 to 10 ``predicates``, 11 is the card with ``wildcard`` written on it. ``right`` and ``down``
    have the mark behind a frame and the one below it. ``negated`` are the cards that say *not*.
    """

    nouns: list[str]
    predicates: list[str]
    frames: list[int | None]
    right: NotRequired[list[str | None]]
    down: NotRequired[list[str | None]]
    negated: NotRequired[list[int]]
    wildcard: NotRequired[str]
