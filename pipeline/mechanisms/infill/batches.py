"""What is decoded together: batches filled by tokens, a pure function of the unit and the budget."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pipeline.mechanisms.infill.base import Encoded, Fill, Infiller
from pipeline.mechanisms.infill.memory import decode_within
from pipeline.mechanisms.spans import Reference

__all__ = ["fill", "plan_batches"]

_Encoded = TypeVar("_Encoded", bound=Encoded)


def plan_batches(encoded: Sequence[Encoded], budget: int) -> list[list[int]]:
    """Indices of what is decoded together: similar costs side by side, dearest last.

    Args:
        encoded: what to decode.
        budget: tokens of a batch at most, padding included; one reference is always let in.
    """
    batches: list[list[int]] = []
    batch: list[int] = []
    rows = longest = 0
    for i in sorted(range(len(encoded)), key=lambda i: (encoded[i].order, i)):
        each = encoded[i]
        if batch and (rows + each.rows) * max(longest, each.tokens) > budget:
            batches.append(batch)
            batch, rows, longest = [], 0, 0
        batch.append(i)
        rows, longest = rows + each.rows, max(longest, each.tokens)
    return [*batches, batch] if batch else batches


def fill(
    infiller: Infiller[_Encoded],
    references: Sequence[Reference],
    budget: int = 16_384,
    on_batch: Callable[[int, int], None] = lambda *_: None,
) -> list[list[Fill]]:
    """Fills for references, in their order: for each at least one, best first.

    A reference that cannot be filled has one fill, which carries the reason.

    Args:
        infiller: the language model.
        references: what to coordinate.
        budget: tokens of a batch.
        on_batch: told after each batch how many references were in it, and how many tokens the
            model read for them, both twins counted.
    """
    inputs = infiller.encode(references)
    fills = [[Fill("", reason=e)] if isinstance(e, str) else [] for e in inputs]
    usable = [(i, e) for i, e in enumerate(inputs) if not isinstance(e, str)]
    on_batch(len(inputs) - len(usable), 0)
    for batch in plan_batches([e for _, e in usable], budget):
        encoded = [usable[k][1] for k in batch]
        decoded = decode_within(infiller, encoded, budget)
        for k, found in zip(batch, decoded, strict=True):
            fills[usable[k][0]] = found
        on_batch(len(batch), sum(each.read for each in encoded))
    return fills
