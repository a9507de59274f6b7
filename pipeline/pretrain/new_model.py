"""New language models: a small BERT and a small T5, with random weights and informed embeddings.

A small language model from scratch spends most of a short training on a plateau where it has learnt
how frequent tokens are and nothing of their context. Token embeddings from co-occurrence (positive
PMI, reduced by SVD), in which tokens of similar distribution are similar from the beginning (Levy and
Goldberg, 2014), take it over that plateau: for the T5 of the embedded world, 1,000 updates end at 1.86
nats a token instead of 2.63, which is no better than token frequencies.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
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
from pipeline.pretrain.settings import Pretrain
from pipeline.pretrain.token_store import Text, lengths_of

_WINDOW = 4
_BLOCK = 1 << 20  # tokens counted at once
_MOST = 4_000_000  # tokens counted at all: with more, the vectors hardly change
_ITERATIONS = 4  # power iterations of the randomized SVD


def cooccurrences(
    texts: Sequence[Text], vocabulary: int, *, most: int = _MOST, block: int = _BLOCK
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Ordered token pairs at most four apart, weighted by the inverse of their distance.

    Memory is that of the distinct pairs and of one block.

    Args:
        texts: the sentences.
        vocabulary: V.
        most: tokens to count; of more, evenly spaced sentences are counted.
        block: tokens counted at once, on which the outcome does not depend.

    Returns:
        First tokens, second tokens and weights, each ``[distinct pairs]``, sorted by pair.
    """
    keys, counts = np.empty(0, dtype=np.int64), np.empty((_WINDOW, 0), dtype=np.int64)
    for part in _blocks(texts, most, block):
        keys, counts = _merged((keys, counts), _counted(part, vocabulary))
    # Weights are added one by one, as if the pairs came in order of distance: sums of thirds are
    # inexact, and a seed's embeddings must not depend on how the counting is done.
    totals = np.zeros(len(keys))
    for distance, times in enumerate(counts, 1):
        _add_repeatedly(totals, 1.0 / distance, times)
    return keys // vocabulary, keys % vocabulary, totals


def _blocks(texts: Sequence[Text], most: int, block: int) -> Iterator[list[NDArray[np.int64]]]:
    """Runs of at least ``block`` tokens, of all texts or of evenly spaced ones."""
    tokens = int(lengths_of(texts).sum())
    count = len(texts) if tokens <= most else max(1, len(texts) * most // tokens)
    part: list[NDArray[np.int64]] = []
    size = 0
    for index in range(count):
        part.append(texts[index * len(texts) // count].ids)
        size += len(part[-1])
        if size >= block:
            yield part
            part, size = [], 0
    if part:
        yield part


_Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sorted keys of pairs ``[pairs]``, and how often each occurs at each distance ``[4, pairs]``."""


def _counted(texts: Sequence[NDArray[np.int64]], vocabulary: int) -> _Counts:
    ids = np.concatenate(texts).astype(np.int64)
    sentence = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    found = [
        np.unique(
            (ids[:-d] * vocabulary + ids[d:])[sentence[:-d] == sentence[d:]], return_counts=True
        )
        for d in range(1, _WINDOW + 1)
    ]
    keys = _union([pairs for pairs, _ in found])
    counts = np.zeros((_WINDOW, len(keys)), dtype=np.int64)
    for row, (pairs, times) in zip(counts, found, strict=True):
        row[np.searchsorted(keys, pairs)] = times
    return keys, counts


def _merged(one: _Counts, other: _Counts) -> _Counts:
    keys = _union([one[0], other[0]])
    counts = np.zeros((_WINDOW, len(keys)), dtype=np.int64)
    for pairs, times in (one, other):
        counts[:, np.searchsorted(keys, pairs)] += times
    return keys, counts


def _union(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The different keys of several sorted arrays, sorted."""
    every = np.concatenate(keys)
    every.sort(kind="stable")  # which merges runs that are sorted
    new = np.ones(len(every), dtype=bool)
    new[1:] = every[1:] != every[:-1]
    return every[new]


def _add_repeatedly(totals: NDArray[np.float64], value: float, times: NDArray[np.int64]) -> None:
    """Add ``value`` to each of ``totals`` so many ``times``, with the rounding of each addition."""
    order = np.argsort(-times, kind="stable")
    sums, falling = totals[order], times[order]
    # How many are still added to in each round; ever fewer.
    ends = np.searchsorted(-falling, -np.arange(falling[0] if len(falling) else 0), side="left")
    for end in ends.tolist():
        sums[:end] += value
    totals[order] = sums


def token_counts(texts: Sequence[Text], vocabulary: int, *, most: int = _MOST) -> NDArray[np.int64]:
    """How often each token occurs ``[V]``, in all texts or in evenly spaced ones of ``most`` tokens."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for part in _blocks(texts, most, _BLOCK):
        counts += np.bincount(np.concatenate(part), minlength=vocabulary)
    return counts


def ppmi_svd(texts: Sequence[Text], vocabulary: int, width: int, seed: int) -> Tensor:
    """Token vectors ``[V, width]`` of unit variance; zero for tokens that do not occur.

    Tokens before a token and tokens after it are separate contexts, because a word's category shows
    in their difference.

    Args:
        texts: the sentences.
        vocabulary: V.
        width: dimensions kept (fewer if V is smaller, the rest is zero).
        seed: seed of the randomized SVD.
    """
    first, second, weight = cooccurrences(texts, vocabulary)
    rows = np.concatenate([first, second])
    columns = np.concatenate([second, first + vocabulary])
    weight = np.concatenate([weight, weight])
    row_sums = np.bincount(rows, weights=weight, minlength=vocabulary)
    column_sums = np.bincount(columns, weights=weight, minlength=2 * vocabulary)
    information = np.log(weight * weight.sum() / (row_sums[rows] * column_sums[columns]))
    positive = information > 0
    matrix = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows[positive], columns[positive]])),
        torch.from_numpy(information[positive].astype(np.float32)),
        (vocabulary, 2 * vocabulary),
        check_invariants=True,
    ).coalesce()
    vectors = torch.zeros(vocabulary, width)
    rank = min(width, vocabulary)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        left, values, _ = torch.svd_lowrank(matrix, q=rank, niter=_ITERATIONS)
    vectors[:, :rank] = left * values.sqrt()
    lengths = vectors.norm(dim=1, keepdim=True)
    return torch.where(lengths > 1e-6, vectors / lengths * width**0.5, torch.zeros(()))


def embed_by_cooccurrence(embedding: nn.Module, texts: Sequence[Text], seed: int) -> None:
    """Set the embeddings of tokens that occur in ``texts``, at the scale they were drawn with."""
    table = cast(Tensor, embedding.weight)
    vocabulary, width = table.shape
    vectors = ppmi_svd(texts, vocabulary, width, seed)
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
    settings: Pretrain, tokenizer: PreTrainedTokenizerBase, training: Sequence[Text]
) -> PreTrainedModel:
    """A language model of the settings' family; its embeddings begin with the text's co-occurrences.

    Args:
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
    model = (new_bert if settings.family == "bert" else new_t5)(settings, tokenizer)
    embed_by_cooccurrence(model.get_input_embeddings(), training, settings.seed)
    return model


def new_bert(settings: Pretrain, tokenizer: PreTrainedTokenizerBase) -> BertForMaskedLM:
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


def new_t5(settings: Pretrain, tokenizer: PreTrainedTokenizerBase) -> T5ForConditionalGeneration:
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
