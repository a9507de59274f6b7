"""Coordinate structures as words: where conjuncts, commas, coordinator and preconjunction stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.core.types import Span, Structure

COMMA = ","

MOST_CONJUNCTS = 4
"""Of a structure that generation builds."""

PRECONJUNCTION_OF = {"and": "both", "or": "either", "nor": "neither"}
"""The word that stands before the first conjunct, by the coordinator, in lower case."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A structure's words, and the places in them of the conjuncts and of the coordinator."""

    words: tuple[str, ...]
    conjuncts: tuple[Span, ...]
    coordinator: int


def laid_out(structure: Structure, conjuncts: Sequence[Sequence[str]], at: int = 0) -> Laid:
    """Write a structure: ``either X , Y , or Z``.

    Args:
        structure: what is written besides the conjuncts; how many it should have does not matter.
        conjuncts: the words of each, two or more. Of two, no comma parts them.
        at: the word of the sentence with which the structure begins.
    """
    words = [structure.preconjunction] if structure.preconjunction else []
    spans: list[Span] = []
    coordinator = -1
    for number, conjunct in enumerate(conjuncts, 1):
        if number == len(conjuncts):
            words += [COMMA] * (structure.comma and number > 2)
            coordinator = at + len(words)
            words.append(structure.coordinator)
        elif number > 1:
            words.append(COMMA)
        spans.append(Span(at + len(words), at + len(words) + len(conjunct)))
        words += conjunct
    return Laid(tuple(words), tuple(spans), coordinator)


def structure_of(
    word: str, coordinator: int, conjuncts: Sequence[Span], reference: Span
) -> Structure | None:
    """The structure that was built around a reference, from its places; None if none was built so.

    Args:
        word: the coordinator as written.
        coordinator: its place in the sentence that was made.
        conjuncts: those of that sentence.
        reference: the first of them in the source sentence.
    """
    if len(conjuncts) < 2:
        return None
    before = conjuncts[0].start - reference.start
    comma = conjuncts[-2].end + 1 == coordinator
    pre = PRECONJUNCTION_OF.get(word.lower()) if before else None
    # Numbers alone: spans from elsewhere may have any length.
    fits = (
        before == (pre is not None)
        and len(conjuncts[0]) == len(reference)
        and all(span.start < span.end for span in conjuncts)
        and all(one.end + 1 == two.start for one, two in pairwise(conjuncts[:-1]))
        and coordinator == conjuncts[-2].end + comma == conjuncts[-1].start - 1
        and (len(conjuncts) > 2 or not comma)
    )
    return Structure(word, pre, len(conjuncts), comma) if fits else None
