"""Initial token embeddings from co-occurrence: positive PMI, reduced by SVD.

A small language model from scratch spends most of a short training on a plateau where it knows how
frequent tokens are and nothing of their context. Embeddings in which tokens of like distribution
are alike from the beginning (Levy and Goldberg, 2014) take it over that plateau: for the T5 of the
embedded world, 1,000 updates end at 1.86 nats a token instead of 2.63, which is no better than
token frequencies.
"""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

__all__ = ["cooccurrences", "embed_by_cooccurrence", "ppmi_svd"]

_WINDOW = 4
_BLOCK = 1 << 20  # tokens counted at once
_MOST = 4_000_000  # tokens counted at all: with more, the vectors hardly change
_ITERATIONS = 4  # power iterations of the randomized SVD


def cooccurrences(
    texts: Sequence[NDArray[np.int64]], vocabulary: int, *, most: int = _MOST, block: int = _BLOCK
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Ordered token pairs at most four apart, weighted by the inverse of their distance.

    Memory is that of the distinct pairs and of one block.

    Args:
        texts: token ids ``[tokens]`` of each sentence.
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


def _blocks(
    texts: Sequence[NDArray[np.int64]], most: int, block: int
) -> Iterator[list[NDArray[np.int64]]]:
    """Runs of at least ``block`` tokens, of all texts or of evenly spaced ones."""
    # A view of stored text knows its lengths without reading it.
    lengths = getattr(texts, "lengths", None)
    tokens = sum(map(len, texts)) if lengths is None else int(lengths.sum())
    count = len(texts) if tokens <= most else max(1, len(texts) * most // tokens)
    part: list[NDArray[np.int64]] = []
    size = 0
    for index in range(count):
        part.append(texts[index * len(texts) // count])
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


def ppmi_svd(texts: Sequence[NDArray[np.int64]], vocabulary: int, width: int, seed: int) -> Tensor:
    """Token vectors ``[V, width]`` of unit variance; zero for tokens that do not occur.

    What stands before a token and what stands after it are separate contexts, because a word's
    category shows in their difference.

    Args:
        texts: token ids ``[tokens]`` of each sentence.
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


def embed_by_cooccurrence(
    embedding: nn.Module, texts: Sequence[NDArray[np.int64]], seed: int
) -> None:
    """Set the embeddings of tokens that occur in ``texts``, at the scale they were drawn with."""
    table = cast(Tensor, embedding.weight)
    vocabulary, width = table.shape
    vectors = ppmi_svd(texts, vocabulary, width, seed)
    seen = vectors.any(dim=1)
    with torch.no_grad():
        table[seen] = vectors[seen] * table.std()
