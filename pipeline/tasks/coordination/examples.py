"""Examples of coordination: a sentence with the structures to learn from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.types import Span

EDGE = "coordinator at the edge of the sentence"
OUTSIDE = "structure does not reach both sides of its coordinator"


@dataclass(frozen=True, slots=True)
class Example:
    """One of the N_batch examples of a batch: a sentence with the structures to learn from it.

    ``extents[m]`` is the outer boundary, half-open, of the structure at ``coordinators[m]``. ``twin``: it was
    made of another example of its batch, and is encoded by itself even if their words are the same.
    """

    words: tuple[str, ...]
    coordinators: tuple[int, ...]
    extents: tuple[Span, ...]
    twin: bool = False


def instances(
    examples: Iterable[Example],
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
