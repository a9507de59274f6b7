"""What T5's encoder read, kept as keys and values for the decoder, in blocks of similar length."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.mechanisms.infill.lockstep import padded
from pipeline.mechanisms.infill.t5weights import Weights, attend, normed

__all__ = ["Memory", "Reader", "shrunk"]

_READ = {"cpu": 1024}
"""Tokens encoded at once: on a CPU as many as the cache holds activations of."""
_READ_ELSEWHERE = 1 << 17

_MERGE = 16
"""Blocks of references are joined once they are together no more than this many."""


@dataclass(slots=True)
class Memory:
    """What the encoder read for references ``[start, start + size)``, of similar length.

    ``keys`` and ``values`` have ``[parts * size, heads, length, d_kv]`` for each layer of the
    decoder, ``mask`` is ``[parts * size, 1, 1, length]``, 0 or -inf.
    """

    start: int
    size: int
    keys: list[Tensor]
    values: list[Tensor]
    mask: Tensor


class Reader:
    """T5's encoder.

    Args:
        weights: the model.
        parts: contexts of each reference.
        pad: id of the padding token.
    """

    def __init__(self, weights: Weights, parts: int, pad: int) -> None:
        self._weights, self._parts, self._pad = weights, parts, pad

    def read(self, sources: Sequence[Sequence[list[int]]]) -> Iterator[Memory]:
        """Blocks of references, whose sources come in ascending length."""
        most = _READ.get(self._weights.embeddings.device.type, _READ_ELSEWHERE)
        start = 0
        while start < len(sources):
            end, longest = start, 0
            while end < len(sources):
                longest = max(longest, *map(len, sources[end]))
                if end > start and (end + 1 - start) * self._parts * longest > most:
                    break
                end += 1
            rows = [source[part] for part in range(self._parts) for source in sources[start:end]]
            yield self._memory(
                start, end - start, *padded(rows, self._pad, self._weights.embeddings.device)
            )
            start = end

    def _memory(self, start: int, size: int, ids: Tensor, mask: Tensor) -> Memory:
        weights = self._weights
        shut = weights.embeddings.new_zeros(mask.shape)
        shut = shut.masked_fill_(mask == 0, -torch.inf)[:, None, None]
        x = self._encode(ids, shut).view(*ids.shape, -1)
        keys, values = [], []
        for block in weights.decoder:
            assert block.cross_kv is not None  # noqa: S101 (a decoder's block has it)
            both = (x @ block.cross_kv).view(*x.shape[:-1], 2, weights.heads, -1)
            k, v = both.permute(2, 0, 3, 1, 4)
            keys.append(k.contiguous())
            values.append(v.contiguous())
        return Memory(start, size, keys, values, shut)

    def _encode(self, ids: Tensor, shut: Tensor) -> Tensor:
        """Encoder states ``[rows * length, d_model]``."""
        weights, length = self._weights, ids.shape[1]
        x = weights.embeddings[ids.flatten()]
        bias = shut
        for i, block in enumerate(weights.encoder):
            if i == 0 or block.bias is not weights.encoder[i - 1].bias:
                bias = block.bias(length, length, 0) + shut
            qkv = normed(x, weights.epsilon) @ block.qkv
            q, k, v = qkv.view(*ids.shape, 3, weights.heads, -1).permute(2, 0, 3, 1, 4)
            x.addmm_(attend(q, k, v, bias).flatten(0, 1), block.out)
            block.feed(x, weights)
        return normed(x, weights.epsilon) * weights.encoder_norm


def shrunk(memories: Sequence[Memory], wanted: Tensor, parts: int) -> list[Memory]:
    """Blocks of the wanted references only, indices in ascending order; small blocks are joined."""
    found: list[Memory] = []
    start = 0
    for memory in memories:
        own = wanted[(wanted >= memory.start) & (wanted < memory.start + memory.size)]
        if len(own):
            kept = _kept(memory, own - memory.start, start, parts)
            if found and found[-1].size + kept.size <= _MERGE:
                kept = _merged(found.pop(), kept, parts)
            found.append(kept)
            start += len(own)
    return found


def _kept(memory: Memory, own: Tensor, start: int, parts: int) -> Memory:
    if len(own) == memory.size:
        memory.start = start
        return memory
    device = memory.mask.device
    rows = (torch.arange(parts).unsqueeze(-1) * memory.size + own).flatten().to(device)
    # Padding that only what has left needed is cut off.
    mask = memory.mask[rows]
    length = int((mask == 0).any(0).sum())
    return Memory(
        start,
        len(own),
        [each[rows, :, :length] for each in memory.keys],
        [each[rows, :, :length] for each in memory.values],
        mask[..., :length],
    )


def _merged(one: Memory, two: Memory, parts: int) -> Memory:
    """Two blocks side by side as one, padded to the longer."""
    length = max(one.mask.shape[-1], two.mask.shape[-1])

    def joined(first: Tensor, second: Tensor, dim: int, value: float) -> Tensor:
        both = []
        for each in (first, second):
            wide = list(each.shape)
            wide[dim] = length - each.shape[dim]
            filled = torch.cat([each, each.new_full(wide, value)], dim)
            both.append(filled.view(parts, -1, *filled.shape[1:]))
        return torch.cat(both, 1).flatten(0, 1)

    return Memory(
        one.start,
        one.size + two.size,
        [joined(a, b, 2, 0.0) for a, b in zip(one.keys, two.keys, strict=True)],
        [joined(a, b, 2, 0.0) for a, b in zip(one.values, two.values, strict=True)],
        joined(one.mask, two.mask, 3, -torch.inf),
    )
