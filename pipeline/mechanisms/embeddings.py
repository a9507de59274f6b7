"""Initial token embeddings from co-occurrence: positive PMI, reduced by SVD.

A small language model from scratch spends most of a short training on a plateau where it knows how
frequent tokens are and nothing of their context. Embeddings in which tokens of like distribution
are alike from the beginning (Levy and Goldberg, 2014) take it over that plateau: for the T5 of the
embedded world, 1,000 updates end at 1.86 nats a token instead of 2.63, which is no better than
token frequencies.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

__all__ = ["cooccurrences", "embed_by_cooccurrence", "ppmi_svd"]

_WINDOW = 4
_ITERATIONS = 4  # power iterations of the randomized SVD


def cooccurrences(
    texts: Sequence[NDArray[np.int64]], vocabulary: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Ordered token pairs at most four apart, weighted by the inverse of their distance.

    Args:
        texts: token ids ``[tokens]`` of each sentence.
        vocabulary: V.

    Returns:
        First tokens, second tokens and weights, each ``[distinct pairs]``, sorted by pair.
    """
    keys, weights = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for distance in range(1, _WINDOW + 1):
        for ids in texts:
            if len(ids) > distance:
                keys.append(ids[:-distance] * vocabulary + ids[distance:])
                weights.append(np.full(len(keys[-1]), 1.0 / distance))
    pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    totals = np.bincount(inverse, weights=np.concatenate(weights), minlength=len(pairs))
    return pairs // vocabulary, pairs % vocabulary, totals.astype(np.float64)


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
