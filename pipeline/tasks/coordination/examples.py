"""Examples of coordination: a sentence with the structures to learn from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pipeline.core.types import Sentence, Span
from pipeline.text.coordinations import PRECONJUNCTIONS

EDGE = "coordinator at the edge of the sentence"
_COORDINATOR = "CC"
OUTSIDE = "structure does not reach both sides of its coordinator"


@dataclass(frozen=True, slots=True)
class CoordinationExample:
    """One of the N_batch examples of a batch: a sentence with the structures to learn from it.

    ``extents[m]`` is the outer boundary, half-open, of the structure at ``coordinators[m]``. ``variant``: it
    was made of another example of its batch, and is encoded by itself even if their words are the same.
    ``conjuncts[m]`` are the structure's, from one end to the other; empty where only boundaries are known.
    """

    words: tuple[str, ...]
    coordinators: tuple[int, ...]
    extents: tuple[Span, ...]
    variant: bool = False
    conjuncts: tuple[tuple[Span, ...], ...] = ()

    @property
    def instances(self) -> int:
        """Its structures."""
        return len(self.coordinators)

    @property
    def row(self) -> dict[str, int]:
        """The outer boundary of its structure, ``start`` and ``end``."""
        return {"start": self.extents[0].start, "end": self.extents[0].end}

    def joined(self, others: Sequence[Self]) -> Self:
        """One example of the structures of several that have the same words."""
        every = [self, *others]
        return replace(
            self,
            coordinators=tuple(k for each in every for k in each.coordinators),
            extents=tuple(extent for each in every for extent in each.extents),
            conjuncts=tuple(spans for each in every for spans in each.conjuncts)
            if all(each.conjuncts for each in every)
            else (),
        )


def instances(
    examples: Iterable[CoordinationExample],
) -> tuple[list[tuple[str, ...]], list[int], list[Span]]:
    """Words, coordinator and extent of every structure of some examples, in their order."""
    rows = [(e, k, x) for e in examples for k, x in zip(e.coordinators, e.extents, strict=True)]
    return [e.words for e, _, _ in rows], [k for _, k, _ in rows], [x for _, _, x in rows]


def obstacle(words: Sequence[str], coordinator: int, extent: Span | None = None) -> str | None:
    """Why no endpoint pair, or not this one, exists for a coordinator; None if it does.

    A pair needs a word on either side of the coordinator (i ≤ k-1, j ≥ k+1).
    """
    if not 0 < coordinator < len(words) - 1:
        return EDGE
    if extent is not None and not (0 <= extent.start < coordinator < extent.end - 1 < len(words)):
        return OUTSIDE
    return None


def protected(sentence: Sentence) -> frozenset[int]:
    """The words that say where structures are, which no variant changes.

    These are coordinators, annotated or not; whatever links the conjuncts of an annotated structure
    (coordinator, commas, *then*); and both, either or neither before one.
    """
    known = sentence.coordinators
    found = {i for i, word in enumerate(sentence.words) if word.lower() in known}
    found |= {i for i, tag in enumerate(sentence.tags or ()) if tag == _COORDINATOR}
    for each in sentence.coordinations:
        inside = {i for span in each.conjuncts for i in range(span.start, span.end)}
        found |= set(range(each.start, each.end)) - inside
        if each.start and sentence.words[each.start - 1].lower() in PRECONJUNCTIONS:
            found.add(each.start - 1)
    return frozenset(found)
