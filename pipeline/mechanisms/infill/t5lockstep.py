"""T5's encoder and decoder for twins in lockstep, without the library's modules around them."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pipeline.mechanisms.infill.lockstep import Lockstep
from pipeline.mechanisms.infill.t5memory import Reader, shrunk
from pipeline.mechanisms.infill.t5weights import Block, Weights, attend, normed

__all__ = ["T5Lockstep"]

_STEPS = 16
"""Decoder positions for which there is room at first."""


class T5Lockstep(Lockstep):
    """A T5 whose hypotheses are query positions of one cross-attention cache per reference.

    References are read, and their caches kept, in blocks of similar length, so that padding is
    neither encoded nor attended to. Of a reference's hypotheses each writes keys and values into
    slots of its own in a pool that they share; a mask says which slots are its ancestors', so that
    beams change places without moving what is cached.

    Args:
        weights: the model.
        sources: encoder input ids of every reference, one list per context, in ascending length.
        prompt: decoder tokens that stand before every hypothesis.
        pad: id of the padding token.
    """

    def __init__(
        self,
        weights: Weights,
        sources: Sequence[Sequence[list[int]]],
        prompt: Sequence[int],
        pad: int,
    ) -> None:
        self._weights, self.parts, self._width = weights, len(sources[0]), 1
        table = weights.decoder_embeddings
        self._size, self._device, self._dtype = len(sources), table.device, table.dtype
        self._prompt = torch.tensor(list(prompt), device=self._device)
        self._memories = list(Reader(weights, self.parts, pad).read(sources))
        self._slots, self._written = 0, 0
        self._cache = self._room(len(prompt) + _STEPS)
        self._ancestors = torch.zeros(0, device=self._device, dtype=self._dtype)
        head: Tensor = weights.head.weight
        # bf16 scores tie at the top in a few percent of steps: the output layer's are in fp32.
        self._head = head if head.is_cuda else head.float()
        self.vocabulary = len(head)
        self._buffer = torch.zeros(0, device=self._device)

    def start(self) -> Tensor:
        """States after the prompt ``[parts, references, 1, d_model]``."""
        count = len(self._prompt)
        future = torch.full((count, count), -torch.inf, device=self._device, dtype=self._dtype)
        mask = future.triu(1)
        rows = self.parts * self._size
        ids = self._prompt.expand(rows, -1)
        biases = self._biases(lambda block: block.bias(count, count, 0) + mask)
        states = self._decode(ids, biases)[:, -1:]
        self._written = count
        return states.reshape(self.parts, self._size, 1, -1)

    def widen(self, width: int) -> None:
        """Go on with ``width`` copies of the one hypothesis of each reference."""
        self._width = width
        if width > 1:
            shape = self._size, width, self._slots
            self._ancestors = torch.zeros(shape, device=self._device, dtype=self._dtype)

    def advance(self, tokens: Tensor, parents: Tensor | None = None) -> Tensor:
        """States after one token more, ``[parts, references, hypotheses, d_model]``."""
        if self._width > 1:
            self._inherit(parents)
        self._reserve(self._slots + self._width)
        biases = self._biases(self._bias_of_step)
        ids = tokens.expand(self.parts, -1, -1).reshape(-1, self._width)
        states = self._decode(ids, biases)
        self._written += 1
        return states.view(self.parts, self._size, self._width, -1)

    def keep(self, references: Tensor) -> None:
        """Go on with these references only."""
        every = torch.arange(self.parts, device=self._device).unsqueeze(-1) * self._size
        self._cache = self._cache[:, :, (every + references).flatten()]
        if self._width > 1:
            self._ancestors = self._ancestors[references]
        wanted = references.cpu()
        self._memories = shrunk(self._memories, wanted, self.parts)
        self._size = len(wanted)

    def logits(self, states: Tensor) -> Tensor:
        """Scores of the next token in fp32, ``[rows, V]``, from states ``[rows, d_model]``."""
        if self._head.dtype != torch.float32:
            found = torch.mm(states, self._head.T, out_dtype=torch.float32)
        else:
            # A fresh buffer of this size would cost page faults at every step.
            if len(self._buffer) < len(states):
                self._buffer = torch.empty(len(states), len(self._head), device=self._device)
            found = torch.mm(states.float(), self._head.T, out=self._buffer[: len(states)])
        bias: Tensor | None = getattr(self._weights.head, "bias", None)
        return found if bias is None else found.add_(bias)

    def _decode(self, ids: Tensor, biases: list[Tensor]) -> Tensor:
        """Decoder states ``[rows, queries, d_model]`` of ids ``[rows, queries]``, and their cache."""
        weights = self._weights
        shape = *ids.shape, weights.heads, -1
        x = weights.decoder_embeddings[ids.flatten()]
        for layer, (block, bias) in enumerate(zip(weights.decoder, biases, strict=True)):
            self._attend_self(x, shape, layer, block, bias)
            self._attend_memory(x, shape, layer, block)
            block.feed(x, weights)
        self._slots += ids.shape[1]
        x = normed(x, weights.epsilon) * (weights.decoder_norm * weights.scale)
        return x.view(*ids.shape, -1)

    def _attend_self(
        self, x: Tensor, shape: tuple[int, ...], layer: int, block: Block, bias: Tensor
    ) -> None:
        qkv = normed(x, self._weights.epsilon) @ block.qkv
        q, *new = qkv.view(*shape[:2], 3, *shape[2:]).permute(2, 0, 3, 1, 4)
        if self._width > 1:
            # A mask keeps siblings from seeing one another, but not from a NaN: 0 · NaN is NaN.
            new = [each.nan_to_num(0.0, 0.0, 0.0) for each in new]
        end = self._slots + shape[1]
        keys, values = self._cache[layer]
        keys[:, :, self._slots : end], values[:, :, self._slots : end] = new
        mixed = attend(q, keys[:, :, :end], values[:, :, :end], bias)
        x.addmm_(mixed.flatten(0, 1), block.out)

    def _attend_memory(self, x: Tensor, shape: tuple[int, ...], layer: int, block: Block) -> None:
        assert block.cross_q is not None  # noqa: S101 (a decoder's block has them)
        assert block.cross_out is not None  # noqa: S101
        q = normed(x, self._weights.epsilon) @ block.cross_q
        q = q.view(self.parts, self._size, *shape[1:])
        mixed = torch.empty((*q.shape[:3], block.cross_q.shape[1]), device=x.device, dtype=x.dtype)
        for each in self._memories:
            own = slice(each.start, each.start + each.size)
            some = q[:, own].flatten(0, 1).transpose(1, 2)
            found = attend(some, each.keys[layer], each.values[layer], each.mask)
            mixed[:, own] = found.view(self.parts, -1, *found.shape[1:])
        x.addmm_(mixed.flatten(0, 2), block.cross_out)

    def _biases(self, of: Callable[[Block], Tensor]) -> list[Tensor]:
        """What is added to the self-attention scores of each layer."""
        found: list[Tensor] = []
        blocks = self._weights.decoder
        for i, block in enumerate(blocks):
            same = i and block.bias is blocks[i - 1].bias
            found.append(found[-1] if same else of(block))
        return found

    def _bias_of_step(self, block: Block) -> Tensor:
        """The bias over all slots, the step's own included."""
        bias = block.bias(1, self._written + 1, self._written)
        if self._width == 1:
            return bias
        prompt = len(self._prompt)
        slots = torch.cat(
            [bias[..., :prompt], bias[..., prompt:].repeat_interleave(self._width, -1)], -1
        )
        return (slots + self._ancestors.unsqueeze(1)).repeat(self.parts, 1, 1, 1)

    def _inherit(self, parents: Tensor | None) -> None:
        """Let hypotheses read what their parents could, and each its own new slot."""
        past = self._ancestors
        if parents is not None:
            past = past.gather(1, parents.unsqueeze(-1).expand(-1, -1, past.shape[-1]))
        others = torch.full((self._width, self._width), -torch.inf, device=self._device)
        own = others.fill_diagonal_(0).to(self._dtype).expand(self._size, -1, -1)
        self._ancestors = torch.cat([past, own], -1)

    def _room(self, slots: int) -> Tensor:
        """Cache of every layer: keys and values ``[layers, 2, rows, heads, slots, d_kv]``."""
        blocks, heads = self._weights.decoder, self._weights.heads
        depth = blocks[0].qkv.shape[1] // 3 // heads
        shape = len(blocks), 2, self.parts * self._size, heads, slots, depth
        return torch.empty(shape, device=self._device, dtype=self._dtype)

    def _reserve(self, slots: int) -> None:
        if slots > self._cache.shape[4]:
            old = self._cache
            self._cache = self._room(slots * 3 // 2 + _STEPS)
            self._cache[:, :, :, :, : self._slots] = old[:, :, :, :, : self._slots]
