"""The endpoint scorer of Eq. 3: a score for every pair of boundary words of a coordinator.

    F(i, j, k) = [h_i - h_{k+1}; h_j - h_{k-1}]          SCORE(i, j, k) = MLP(F(i, j, k))

The MLP's first layer is linear in F, so it splits into one projection per endpoint: each word is
projected once (O(n) products) and pairs are only added (O(n²) sums), where gathering F first costs
O(n²) products: on one CPU core, at bert-base's width and 30, 60 and 120 words, 10, 13 and 30 times
as much forward. The pairs of all instances stand one after the other in one tensor, unpadded, so a
batch takes a dozen operations however many instances it has (twice as fast as one instance at a
time with 20 instances of 20 words; sums come in another order, which changes the last digits).
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pad_sequence

__all__ = ["EndpointScorer", "Instance", "batches"]

Instance = tuple[int, int, int]
"""(sentence, k, n): the sentence's row, the coordinator's word index, the number of words; with
0 < k < n - 1."""


class EndpointScorer(nn.Module):
    """An MLP of one hidden layer with ReLU and dropout over endpoint pairs (Eq. 3, §5.1).

    Args:
        width: size of a word's representation h.
        hidden: units of the hidden layer.
        dropout: probability of dropping a hidden unit in training.
    """

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(2 * width, hidden)
        self.second = nn.Linear(hidden, 1)
        self.dropout = dropout

    def project(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Each word's part in the first layer as beginning and as end of a structure.

        Args:
            h: word representations ``[sentences, words, width]``.

        Returns:
            Two tensors ``[sentences, words, hidden]``, without the bias.
        """
        begin, end = self.first.weight.chunk(2, dim=1)
        return h @ begin.T, h @ end.T

    def forward(self, begin: Tensor, end: Tensor, instances: Sequence[Instance]) -> list[Tensor]:
        """Log-probability of every endpoint pair of every instance (softmax over its pairs).

        Args:
            begin: beginnings' projections, ``[sentences, words, hidden]``.
            end: ends' projections, of the same shape.
            instances: at least one.

        Returns:
            A matrix ``[k, n - k - 1]`` for each instance; element ``[i, b]`` is that of the pair
            (i, k + 1 + b), both words inclusive.
        """
        scores = self.log_probabilities(begin, end, instances)
        return [
            row[: _size(instance)].view(instance[1], -1)
            for row, instance in zip(scores, instances, strict=True)
        ]

    def log_probabilities(
        self, begin: Tensor, end: Tensor, instances: Sequence[Instance]
    ) -> Tensor:
        """The same as one tensor ``[instances, pairs of the largest]``.

        Pair ``[i, b]`` of an instance stands at ``i · (n - k - 1) + b``; padding is -inf.
        """
        sizes = [_size(instance) for instance in instances]
        units = self._drop(self._hidden(begin, end, instances), sizes)
        scores = self.second(units).squeeze(-1).split(sizes)
        padded = pad_sequence(scores, batch_first=True, padding_value=-torch.inf)
        return padded.log_softmax(1)

    def _hidden(self, begin: Tensor, end: Tensor, instances: Sequence[Instance]) -> Tensor:
        """Hidden units of all pairs, ``[pairs, hidden]``."""
        left, after, right, before, i, j = (
            torch.from_numpy(index).to(begin.device)
            for index in _indices(instances, begin.shape[1])
        )
        begin, end = begin.flatten(0, 1), end.flatten(0, 1)
        # Embedding is a gather of rows whose gradient is fast on CPU and deterministic on CUDA.
        # A·(h_i - h_{k+1}) and B·(h_j - h_{k-1}) + bias, from the words' projections:
        lefts = F.embedding(left, begin) - F.embedding(after, begin)
        rights = F.embedding(right, end) - F.embedding(before, end) + self.first.bias
        return (F.embedding(i, lefts) + F.embedding(j, rights)).relu_()

    def _drop(self, units: Tensor, sizes: Sequence[int]) -> Tensor:
        if not (self.training and self.dropout):
            return units
        noise = torch.empty_like(units)
        # Instance by instance, so that its mask does not depend on how many others are batched.
        for part in torch.split(noise, list(sizes)):
            part.bernoulli_(1 - self.dropout)
        return units * noise.div_(1 - self.dropout)


def batches(instances: Sequence[Instance], pairs: int = 4096) -> Iterator[Sequence[Instance]]:
    """Cut instances into runs of at most ``pairs`` pairs (or one instance), to bound memory."""
    begin, total = 0, 0
    for index, instance in enumerate(instances):
        if index > begin and total + _size(instance) > pairs:
            yield instances[begin:index]
            begin, total = index, 0
        total += _size(instance)
    if instances:
        yield instances[begin:]


def _size(instance: Instance) -> int:
    _, k, n = instance
    return k * (n - k - 1)


def _indices(
    instances: Sequence[Instance], words: int
) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Rows to gather: words i, k + 1, j and k - 1 of each instance, then pairs of those rows."""
    counts = [(k, n - k - 1) for _, k, n in instances]
    starts = accumulate(counts, lambda a, b: (a[0] + b[0], a[1] + b[1]), initial=(0, 0))
    parts = []
    for (row, k, n), (lefts, rights), (i, j) in zip(instances, counts, starts, strict=False):
        first = row * words
        parts.append(
            (
                np.arange(first, first + k),
                np.full(lefts, first + k + 1),
                np.arange(first + k + 1, first + n),
                np.full(rights, first + k - 1),
                np.repeat(np.arange(i, i + lefts), rights),
                np.tile(np.arange(j, j + rights), lefts),
            )
        )
    return [np.concatenate(part) for part in zip(*parts, strict=True)]
