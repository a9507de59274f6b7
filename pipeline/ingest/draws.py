"""The low-resource draw of §5.1: n sentences with coordination for training, n/5 for validation."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.types import Sentence

Size = int | Literal["full"]
"""How many sentences to draw: a number, or all."""

SMALLEST = 5
"""Smallest draw: it has one validation sentence."""


@dataclass(frozen=True, slots=True)
class Draw:
    """L: sentence ids for training and, none of them among these, for validation."""

    labelled: tuple[str, ...]
    validation: tuple[str, ...]


def drawable(sentences: Iterable[Sentence]) -> list[str]:
    """Ids of the training sentences with an evaluable coordination."""
    return [s.sentence_id for s in sentences if s.split == "train" and s.evaluable]


def draw(
    ids: Iterable[str],
    size: Size,
    seed: int,
    validation: int | None = None,
    drawn_of: str = "sentences with coordination",
) -> Draw:
    """Draw ``size`` training and ``validation`` (unset: ``size // 5``) other sentences.

    A pure function of (seed, set of ids): each id has a pseudo-random key of its own, and training
    sentences are taken from the small end of the keys, validation sentences from the large end. So
    a smaller draw with the same seed is part of a larger one, and no validation sentence of one
    size is a training sentence of another as long as the largest draw fits.

    Args:
        ids: ids to draw from (``drawable``).
        size: n, the number of training sentences; ``full`` is all but the validation sentences, of
            which there are then a sixth of all, again a fifth of n (rounded down).
        seed: number of the draw.
        validation: number of validation sentences.
        drawn_of: what the ids are of, for the error.

    Raises:
        SettingsError: ``size`` is below 5, which leaves no validation sentence.
        InputError: there are fewer ids than the draw needs.
    """
    order = sorted(set(ids), key=lambda name: (_key(seed, name), name))
    n = max(SMALLEST, len(order) - (validation or len(order) // 6)) if size == "full" else size
    if n < SMALLEST:
        raise SettingsError(f"ingest.labelled must be at least {SMALLEST}, was {n}")
    held_out = validation or (max(len(order) - n, 1) if size == "full" else n // 5)
    if len(order) < n + held_out:
        raise InputError(
            f"a draw of {size} needs {n + held_out:,} training {drawn_of}, "
            f"the corpus has {len(order):,}",
            remedy="ingest more of it" if size == "full" else _SMALLER,
        )
    return Draw(tuple(order[:n]), tuple(order[-held_out:]))


_SMALLER = "give smaller --labelled sizes, or --labelled full for all"


def _key(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"draw/{seed}/{name}".encode()).digest()
