"""New language models: a small BERT and a small T5, with random weights and informed embeddings.

A small language model from scratch spends most of a short training on a plateau where it has learnt
how frequent tokens are and nothing of their context. Token embeddings from co-occurrence (positive
PMI, reduced by SVD), in which tokens of similar distribution are similar from the beginning (Levy and
Goldberg, 2014), take it over that plateau: for the T5 of the embedded world, 1,000 updates end at 1.86
nats a token instead of 2.63, which is no better than token frequencies.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
)

from pipeline.core.errors import SettingsError
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.token_store import Text, lengths_of
from pipeline.text.word_vectors import ppmi_svd


def embed_by_cooccurrence(embedding: nn.Module, texts: Sequence[Text], seed: int) -> None:
    """Set the embeddings of tokens that occur in ``texts``, at the scale they were drawn with."""
    table = cast(Tensor, embedding.weight)
    vocabulary, width = table.shape
    vectors = ppmi_svd(texts, lengths_of(texts), vocabulary, width, seed)
    seen = vectors.any(dim=1)
    with torch.no_grad():
        table[seen] = vectors[seen] * table.std()


_SPREAD = 0.8  # standard deviation of a new BERT's weights times the root of its width
_POSITIONS = 2.8  # amplitude of its position embeddings in those deviations
_BRANCH = 0.25  # its sublayers' outputs, against what they are added to
_NEIGHBOURS, _SHARPNESS = (-1, 1, -2, 2), 2.0  # where heads look first, and how firmly
_PAST = (0, -1, -2, -1)  # the same for a decoder, which sees no later token
_FIRMNESS = 5.0  # of T5's heads: what is added to their scores there


def new_model(
    make: Callable[[PretrainSettings, PreTrainedTokenizerBase], PreTrainedModel],
    settings: PretrainSettings,
    tokenizer: PreTrainedTokenizerBase,
    training: Sequence[Text],
) -> PreTrainedModel:
    """A new language model whose embeddings begin with the text's co-occurrences.

    Args:
        make: makes one of the family, with random weights.
        settings: sizes and seed.
        tokenizer: whose vocabulary it has.
        training: the text.

    Raises:
        SettingsError: the heads do not divide the width.
    """
    if settings.hidden % settings.heads:
        raise SettingsError(
            f"pretrain.hidden = {settings.hidden}: not a multiple of heads = {settings.heads}"
        )
    model = make(settings, tokenizer)
    embed_by_cooccurrence(model.get_input_embeddings(), training, settings.seed)
    return model


def new_bert(settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase) -> BertForMaskedLM:
    """A BERT with random weights drawn from torch's global generator.

    A small model with little text spends most of it on learning where to attend. It learns sooner
    with larger weights than BERT's 0.02, sinusoidal positions, and heads that look at the
    neighbouring tokens from the beginning: on 64k sentences of the miniature world those heads,
    with positions twice as large as the weights, took the validation loss from 4.21 to 3.27.
    Sublayers that begin quietly leave the words visible through the layers: without it four layers
    stayed at token frequencies for 1,400 updates on GENIA.
    """
    spread = _SPREAD / math.sqrt(settings.hidden)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=4 * settings.hidden,
            max_position_embeddings=settings.max_length,
            initializer_range=spread,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    positions = model.bert.embeddings.position_embeddings.weight
    with torch.no_grad():
        positions.copy_(_sinusoids(*positions.shape) * _POSITIONS * spread)
        for layer in model.bert.encoder.layer:
            _look_to_neighbours(layer.attention.self, settings.heads)  # type: ignore[union-attr]
            for branch in (layer.attention.output, layer.output):  # type: ignore[union-attr]
                branch.dense.weight.mul_(_BRANCH)  # type: ignore[union-attr, operator]
    return model


def _rates(width: int) -> Tensor:
    return torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))


def _sinusoids(positions: int, width: int) -> Tensor:
    """Sines and cosines of geometrically spaced wavelengths (Vaswani et al., 2017, §3.5)."""
    angles = torch.arange(positions).unsqueeze(1) * _rates(width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def _look_to_neighbours(attention: Any, heads: int) -> None:
    """Make each head's keys its queries, turned so that a fixed neighbour matches best.

    Moving a sinusoidal position by d is a rotation R(d) of its sine-cosine pairs, whatever the
    position: so with W_k = g W_q R(-d), query i agrees most with key i + d.
    """
    query, key = attention.query.weight, attention.key.weight
    width = query.shape[1]
    even = torch.arange(0, width - 1, 2)
    size = width // heads
    for head in range(heads):
        angles = -_NEIGHBOURS[head % len(_NEIGHBOURS)] * _rates(width)[: len(even)]
        turn = torch.eye(width)
        turn[even, even] = turn[even + 1, even + 1] = angles.cos()
        turn[even, even + 1] = angles.sin()
        turn[even + 1, even] = -angles.sin()
        rows = slice(head * size, (head + 1) * size)
        key[rows] = _SHARPNESS * query[rows] @ turn


def new_t5(
    settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase
) -> T5ForConditionalGeneration:
    """A T5 (the original: ReLU, tied embeddings) with random weights from torch's generator.

    Its heads, too, look at the neighbouring tokens from the beginning: 400 updates on the miniature
    world ended at 2.29 nats a token on held-out text instead of 2.60.
    """
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=settings.hidden,
            d_kv=settings.hidden // settings.heads,
            d_ff=4 * settings.hidden,
            num_layers=settings.layers,
            num_heads=settings.heads,
            dropout_rate=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,  # type: ignore[call-arg]
        )
    )
    for stack, places in ((model.encoder, _NEIGHBOURS), (model.decoder, _PAST)):
        attention: Any = stack.block[0].layer[0].SelfAttention  # type: ignore[union-attr, index]
        bias = attention.relative_attention_bias.weight  # [buckets, heads], used by every layer
        with torch.no_grad():
            for head in range(settings.heads):
                bias[_bucket(places[head % len(places)]), head] += _FIRMNESS
    return model


def _bucket(distance: int) -> int:
    """Row of T5's bias table for a token so near: later tokens have the upper half of an encoder's."""
    return abs(distance) + (T5Config().relative_attention_num_buckets // 2 if distance > 0 else 0)
