"""What is decoded together: batches filled by tokens, and halves of one that does not fit.

``plan_batches`` is a pure function of the references and the budget. The composition of a batch may
change the last bits of a score, and rows must not depend on what else held a GPU's memory when they
were made. So halves replace a whole batch only after this device and this model were seen to give the
same rows either way.
"""

import gc
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import torch

from pipeline.core.console import say
from pipeline.core.errors import ModelError, SettingsError
from pipeline.infill.base import EncodedReference, Fill

say_once = cache(say)
_Item_contra = TypeVar("_Item_contra", contravariant=True)
_Encoded = TypeVar("_Encoded", bound=EncodedReference)


class Filler(Protocol[_Item_contra, _Encoded]):
    """A language model that makes fills of items: ``Infiller`` of references, ``Ranker`` of choices."""

    def encode(self, items: Sequence[_Item_contra], /) -> list[_Encoded | str]:
        """The model's input for each item, or why there is none."""

    def decode(self, batch: Sequence[_Encoded]) -> list[list[Fill]]:
        """Fills for what is decoded together, in its order: for each at least one, best first."""


def decode_within(
    infiller: Filler[Any, _Encoded], batch: Sequence[_Encoded], budget: int
) -> list[list[Fill]]:
    """What ``infiller.decode`` gives, even where the batch does not fit at once.

    Out of memory, it frees what is cached and tries once more, then decodes halves. Whether they
    may stand for the whole is tried on the first half that fits: it and its own halves must give
    equal fills and scores, bit for bit.

    Args:
        infiller: the language model.
        batch: what to decode together.
        budget: the tokens of a batch, as set; for the message.

    Raises:
        ModelError: a single reference does not fit.
        SettingsError: halves would change the rows, or nothing shows whether they would.
    """
    found = _tried(infiller, batch)
    if found is None:
        found = _tried(infiller, batch)
    if found is None:
        found = _in_halves(infiller, batch, budget)
        say_once(
            "out of memory: some batches are decoded in parts, which leaves the rows as they are"
        )
    return found


def _in_halves(
    infiller: Filler[Any, _Encoded], batch: Sequence[_Encoded], budget: int
) -> list[list[Fill]]:
    if len(batch) == 1:
        raise ModelError(
            f"one reference ({batch[0].rows} × {batch[0].tokens} tokens) does not fit into memory",
            remedy="fewer beams or fills, --dtype bfloat16, or a device with more memory",
        )
    first, second = _halves(batch)
    found = _tried(infiller, first)
    if found is None:
        found = _in_halves(infiller, first, budget)
    elif len(first) == 1 or found != _by_halves(infiller, first):
        raise SettingsError(
            f"a batch of {len(batch)} references does not fit into memory, and in halves "
            "its scores could differ in their last bits",
            remedy=f"use --batch-tokens {max(1, budget // 2)}; shards made so far are then redone, "
            "because their fingerprint has the budget",
        )
    rest = _tried(infiller, second)
    return found + (_in_halves(infiller, second, budget) if rest is None else rest)


def _by_halves(
    infiller: Filler[Any, _Encoded], batch: Sequence[_Encoded]
) -> list[list[Fill]] | None:
    first, second = (_tried(infiller, half) for half in _halves(batch))
    return None if first is None or second is None else first + second


def _halves(batch: Sequence[_Encoded]) -> tuple[Sequence[_Encoded], Sequence[_Encoded]]:
    middle = (len(batch) + 1) // 2
    return batch[:middle], batch[middle:]


def _tried(infiller: Filler[Any, _Encoded], batch: Sequence[_Encoded]) -> list[list[Fill]] | None:
    """The fills; None, and memory freed, where the batch does not fit."""
    try:
        return infiller.decode(batch)
    except torch.OutOfMemoryError:
        pass  # the failed attempt's memory is referenced until this block ends
    gc.collect()
    torch.cuda.empty_cache()
    return None


def plan_batches(encoded: Sequence[EncodedReference], budget: int) -> list[list[int]]:
    """Indices of what is decoded together: similar costs side by side, the most expensive last.

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
    infiller: Filler[_Item_contra, _Encoded],
    items: Sequence[_Item_contra],
    budget: int = 16_384,
    on_batch: Callable[[int, int], None] = lambda *_: None,
) -> list[list[Fill]]:
    """Fills for items, in their order: for each at least one, best first.

    An item that cannot be filled has one fill, which carries the reason.

    Args:
        infiller: the language model.
        items: what to coordinate: references, or choices.
        budget: tokens of a batch.
        on_batch: called after each batch with its number of items and the tokens that the model
            read for them, both twins counted.
    """
    inputs = infiller.encode(items)
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
