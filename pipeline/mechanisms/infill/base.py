"""The Infiller protocol: references in, fills out; and what all families share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from transformers import PreTrainedTokenizerBase

from pipeline.mechanisms.naturaltext import join_words
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.sync import Synchronizer

__all__ = [
    "NO_TOKENS",
    "SOURCE_HAS_SPECIAL",
    "SPECIAL_IN_FILL",
    "TOO_LONG",
    "UNUSABLE_SOURCE",
    "Fill",
    "Infiller",
    "Task",
    "fill_usable",
    "reference_tokens",
    "refused",
]

_Encoded = TypeVar("_Encoded")

NO_TOKENS = "reference span has no tokens for the model"
SOURCE_HAS_SPECIAL = "source contains a special token of the model"
SPECIAL_IN_FILL = "special token in the fill"
TOO_LONG = "longer than the model allows"
UNUSABLE_SOURCE = frozenset({NO_TOKENS, SOURCE_HAS_SPECIAL, TOO_LONG})
"""Reasons that lie in the source sentence, before the model wrote anything."""


@dataclass(frozen=True, slots=True)
class Fill:
    """What a model put in the mask.

    ``score`` is the mean log-probability per fill token under the synchronized scores;
    ``score_append`` and ``score_prepend`` under S′(1) and S′(2) alone. ``reason`` says why the
    model refused or spoiled it, else None.
    """

    text: str
    score: float | None = None
    score_append: float | None = None
    score_prepend: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """What to embed in a sentence, and how to choose the fill.

    ``coordinator`` is the word that links the conjuncts, ``synchronizer`` is f of Eq. 1 and 2;
    without ``sync`` only S′(1) is filled.
    """

    coordinator: str = "and"
    synchronizer: Synchronizer = field(default_factory=Synchronizer)
    sync: bool = True


class Infiller(Protocol):
    """A language model that fills the masks of twins with identical text."""

    def fill(self, references: Sequence[Reference]) -> list[Fill]:
        """Fills for a batch of references, in their order.

        The result for a reference depends on the batch only through floating-point rounding, so
        callers keep batches a pure function of their plan.
        """
        ...

    def size(self, reference: Reference) -> int:
        """A sort key that brings references of similar cost together."""
        ...


def reference_tokens(tokenizer: PreTrainedTokenizerBase, reference: Reference) -> int:
    """n: how many subword tokens the reference span has in the model's vocabulary."""
    text = join_words(reference.words).slice(reference.span.start, reference.span.end)
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def refused(tokenizer: PreTrainedTokenizerBase, reference: Reference) -> str | None:
    """Why a source sentence cannot be used with this model at all, or None."""
    text = join_words(reference.words).text
    if any(token in text for token in tokenizer.all_special_tokens):
        return SOURCE_HAS_SPECIAL
    return None


def fill_usable(
    encoded: Sequence[_Encoded | str], decode: Callable[[Sequence[_Encoded]], list[Fill]]
) -> list[Fill]:
    """Decode what could be encoded; a string is the reason why a reference could not."""
    usable = [e for e in encoded if not isinstance(e, str)]
    fills = iter(decode(usable) if usable else [])
    return [Fill("", reason=e) if isinstance(e, str) else next(fills) for e in encoded]
