"""The weights of a T5-like model, laid out for few and large matrix products.

Queries, keys and values are one product, likewise the two inputs of a gated feed-forward layer, and
the scale of each layer norm is part of the product that follows it. That is all that differs from
the library's modules, from which the weights and the relative position biases come.
"""

from collections.abc import Callable
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

__all__ = ["Bias", "Block", "Weights", "attend", "is_t5", "normed"]

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
