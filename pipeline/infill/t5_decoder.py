"""T5's encoder and decoder for twins in lockstep, without the library's modules around them.

Three parts: ``Weights``, a T5-like model laid out for few and large matrix products; ``read``, the
encoder, whose output is kept as keys and values for the decoder in blocks of references of similar
length (``Memory``); and ``T5Lockstep``, the decoder.

Queries, keys and values are one product, likewise the two inputs of a gated feed-forward layer, and
the scale of each layer norm is part of the product that follows it. That is all that differs from
the library's modules, from which the weights and the relative position biases come.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (everyone's name for it)
from transformers import (
    MT5ForConditionalGeneration,
    PreTrainedModel,
    T5ForConditionalGeneration,
    UMT5ForConditionalGeneration,
)

from pipeline.infill.decoder import Lockstep
from pipeline.infill.output_layer import Head
from pipeline.models.tokenizers import token_batch

_FAMILY = (T5ForConditionalGeneration, MT5ForConditionalGeneration, UMT5ForConditionalGeneration)
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu_,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}

Bias = Callable[[int, int, int], Tensor]
"""Relative position bias ``[1, heads, queries, keys]`` of that many queries and keys, and how many
keys come before the first query."""


def is_t5(model: PreTrainedModel) -> bool:
    """Whether the model is of the family whose layers are written out here: T5, mT5 or UMT5."""
    return (
        type(model) in _FAMILY
        and model.config.dense_act_fn in _ACTIVATIONS
        and len({parameter.dtype for parameter in model.parameters()}) == 1
    )


@dataclass(frozen=True, slots=True)
class Block:
    """One layer; every matrix is ``[in, out]``. An encoder's has no cross-attention."""

    qkv: Tensor
    out: Tensor
    bias: Bias
    cross_q: Tensor | None
    cross_kv: Tensor | None
    cross_out: Tensor | None
    wide: Tensor
    narrow: Tensor

    def feed(self, x: Tensor, weights: "Weights") -> None:
        """Add the feed-forward layer to ``x``, ``[rows, d_model]``, in place."""
        hidden = normed(x, weights.epsilon) @ self.wide
        if weights.gated:
            gate, hidden = hidden.chunk(2, -1)
            hidden = weights.activation(gate) * hidden
        else:
            hidden = weights.activation(hidden)
        x.addmm_(hidden, self.narrow)


@dataclass(frozen=True, slots=True)
class Weights:
    """A T5, mT5 or UMT5 model.

    ``scale`` is what the decoder's output is multiplied by before the output layer: d_model^-½ in
    models that tie it to the embeddings, as the original T5, else 1.
    """

    encoder: tuple[Block, ...]
    decoder: tuple[Block, ...]
    embeddings: Tensor
    decoder_embeddings: Tensor
    encoder_norm: Tensor
    decoder_norm: Tensor
    heads: int
    epsilon: float
    activation: Callable[[Tensor], Tensor]
    gated: bool
    scale: float
    head: Any

    @classmethod
    def of(cls, model: PreTrainedModel) -> "Weights":
        """The weights of a model for which ``is_t5`` holds."""
        config: Any = model.config
        encoder: Any = model.encoder
        decoder: Any = model.decoder
        return cls(
            encoder=_blocks(encoder),
            decoder=_blocks(decoder),
            embeddings=encoder.embed_tokens.weight,
            decoder_embeddings=decoder.embed_tokens.weight,
            encoder_norm=encoder.final_layer_norm.weight,
            decoder_norm=decoder.final_layer_norm.weight,
            heads=config.num_heads,
            epsilon=config.layer_norm_epsilon,
            activation=_ACTIVATIONS[config.dense_act_fn],
            gated=config.is_gated_act,
            scale=config.d_model**-0.5 if _scales(model) else 1.0,
            head=model.get_output_embeddings(),  # type: ignore[no-untyped-call]
        )


def _scales(model: PreTrainedModel) -> bool:
    """Whether the library scales the decoder's output, as of transformers 5.23."""
    if isinstance(model, T5ForConditionalGeneration):
        return bool(model.config.scale_decoder_outputs)
    return isinstance(model, UMT5ForConditionalGeneration) and model.config.tie_word_embeddings


@torch.no_grad()
def _blocks(stack: Any) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for block in stack.block:
        own, feed = block.layer[0], block.layer[-1]
        attention, dense = own.SelfAttention, feed.DenseReluDense
        # In T5 and mT5 the first layer's bias serves all.
        biased = attention if attention.has_relative_attention_bias else None
        bias = blocks[0].bias if biased is None else _bias_of(biased)
        cross = block.layer[1].EncDecAttention if len(block.layer) == 3 else None
        wide = [dense.wi_0, dense.wi_1] if hasattr(dense, "wi_0") else [dense.wi]
        blocks.append(
            Block(
                qkv=_fused(own.layer_norm, attention.q, attention.k, attention.v),
                out=attention.o.weight.T.contiguous(),
                bias=bias,
                cross_q=cross and _fused(block.layer[1].layer_norm, cross.q),
                cross_kv=cross and _fused(None, cross.k, cross.v),
                cross_out=cross and cross.o.weight.T.contiguous(),
                wide=_fused(feed.layer_norm, *wide),
                narrow=dense.wo.weight.T.contiguous(),
            )
        )
    return tuple(blocks)


def _bias_of(attention: Any) -> Bias:
    def bias(queries: int, keys: int, before: int) -> Tensor:
        found: Tensor = attention.compute_bias(queries, keys, past_seen_tokens=before)
        return found

    return bias


def _fused(norm: Any, *layers: nn.Linear) -> Tensor:
    """One matrix ``[in, sum of out]`` of layers that read the same input, the norm's scale in it."""
    joint = torch.cat([layer.weight for layer in layers]).T
    if norm is not None:
        joint = joint * norm.weight.unsqueeze(-1)
    return joint.contiguous()


def normed(x: Tensor, epsilon: float) -> Tensor:
    """``x`` over its root mean square, ``[..., d_model]``; the scale is the next matrix's."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
    return (x * torch.rsqrt(norm.square() / x.shape[-1] + epsilon)).to(x.dtype)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """T5's attention, whose scores are not scaled.

    Args:
        q: ``[rows, heads, queries, d_kv]``.
        k: ``[rows, heads, keys, d_kv]``.
        v: as ``k``.
        bias: added to the scores, broadcast to ``[rows, heads, queries, keys]``.

    Returns:
        ``[rows, queries, heads * d_kv]``.
    """
    if q.is_cuda:
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)
    else:
        # On a CPU the fused kernel takes up to twice as long for one query.
        mixed = (q @ k.transpose(-1, -2)).add_(bias).softmax(-1) @ v
    return mixed.transpose(1, 2).flatten(2)


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


def read(weights: Weights, sources: Sequence[Sequence[list[int]]], pad: int) -> Iterator[Memory]:
    """What T5's encoder reads, in blocks of references.

    Args:
        weights: the model.
        sources: token ids of every reference, one list per context, in ascending length.
        pad: id of the padding token.
    """
    device, parts = weights.embeddings.device, len(sources[0])
    most = _READ.get(device.type, _READ_ELSEWHERE)
    start = 0
    while start < len(sources):
        end, longest = start, 0
        while end < len(sources):
            longest = max(longest, *map(len, sources[end]))
            if end > start and (end + 1 - start) * parts * longest > most:
                break
            end += 1
        rows = [source[part] for part in range(parts) for source in sources[start:end]]
        yield _memory(weights, start, end - start, *token_batch(rows, pad, device))
        start = end


def _memory(weights: Weights, start: int, size: int, ids: Tensor, mask: Tensor) -> Memory:
    shut = weights.embeddings.new_zeros(mask.shape)
    shut = shut.masked_fill_(mask == 0, -torch.inf)[:, None, None]
    x = _encode(weights, ids, shut).view(*ids.shape, -1)
    keys, values = [], []
    for block in weights.decoder:
        assert block.cross_kv is not None  # noqa: S101 (a decoder's block has it)
        both = (x @ block.cross_kv).view(*x.shape[:-1], 2, weights.heads, -1)
        k, v = both.permute(2, 0, 3, 1, 4)
        keys.append(k.contiguous())
        values.append(v.contiguous())
    return Memory(start, size, keys, values, shut)


def _encode(weights: Weights, ids: Tensor, shut: Tensor) -> Tensor:
    """Encoder states ``[rows * length, d_model]``."""
    x = weights.embeddings[ids.flatten()]
    bias = shut
    for i, block in enumerate(weights.encoder):
        if i == 0 or block.bias is not weights.encoder[i - 1].bias:
            bias = block.bias(ids.shape[1], ids.shape[1], 0) + shut
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


_STEPS = 16
"""Decoder positions that are allocated at first."""


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
        self._memories = list(read(weights, sources, pad))
        self._slots, self._written = 0, 0
        self._cache = self._room(len(prompt) + _STEPS)
        self._ancestors = torch.zeros(0, device=self._device, dtype=self._dtype)
        self._head = Head(weights.head)
        self.vocabulary = self._head.vocabulary

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
        return self._head(states)

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
