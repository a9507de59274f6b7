"""Twins: the two masked sentences S′(1) and S′(2) of a reference span (§3.1)."""

from dataclasses import dataclass

from pipeline.core.types import Reference
from pipeline.text.natural import join_words


@dataclass(frozen=True, slots=True)
class Twins:
    """``append`` is S′(1), "X and ⟨mask⟩"; ``prepend`` is S′(2), "⟨mask⟩ and X"; as natural text."""

    append: str
    prepend: str


def make_twins(reference: Reference, coordinator: str, mask: str, masks: int = 1) -> Twins:
    """Embed ``masks`` copies of the mask string with the coordinator, after and before the span.

    Args:
        reference: the sentence and its reference span X.
        coordinator: the word that links the conjuncts.
        mask: the model's own mask or sentinel string.
        masks: how many (BERT has one per subword token of X, T5 a single sentinel).
    """
    words, span = list(reference.words), reference.span
    blank = [mask] * masks
    return Twins(
        append=join_words([*words[: span.end], coordinator, *blank, *words[span.end :]]).text,
        prepend=join_words([*words[: span.start], *blank, coordinator, *words[span.start :]]).text,
    )
