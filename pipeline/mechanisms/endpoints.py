"""The endpoint scorer of Eq. 3: a score for every pair of boundary words of a coordinator.

    F(i, j, k) = [h_i - h_{k+1}; h_j - h_{k-1}]          SCORE(i, j, k) = MLP(F(i, j, k))

The MLP's first layer is linear in F, so it splits into one projection per endpoint: words are
projected once (O(n) products), each only as what it can be, beginning or end, and pairs are only
added (O(n²) sums, ``pairs.py``), where gathering F first costs O(n²) products. At bert-base's width
and 30, 60 and 120 words that is TODO times as fast forward and TODO both ways.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pad_sequence

from pipeline.mechanisms.pairs import Grid, keep_masks, keep_share, pair_scores

__all__ = ["EndpointScorer", "Instance", "batches"]

_Rows = np.ndarray[tuple[int], np.dtype[np.int64]]
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

    def forward(self, h: Tensor, instances: Sequence[Instance]) -> list[Tensor]:
        """Log-probability of every endpoint pair of every instance (softmax over its pairs).

        Args:
            h: word representations ``[sentences, words, width]``.
            instances: at least one; those of one sentence share its projections.

        Returns:
            A matrix ``[k, n - k - 1]`` for each instance; element ``[i, b]`` is that of the pair
            (i, k + 1 + b), both words inclusive.
        """
        scores = self.log_probabilities(h, instances)
        return [
            row[: _size(instance)].view(instance[1], -1)
            for row, instance in zip(scores, instances, strict=True)
        ]

    def log_probabilities(self, h: Tensor, instances: Sequence[Instance]) -> Tensor:
        """The same as one tensor ``[instances, pairs of the largest]``.

        Pair ``[i, b]`` of an instance stands at ``i · (n - k - 1) + b``; padding is -inf.
        """
        begins, ends, shifts, grids = self._project(h, instances)
        # Words may come from a product in half precision; their sums and the softmax are not.
        with torch.autocast(h.device.type, enabled=False):
            weight, masks = self.second.weight[0], None
            if self.training and self.dropout:
                masks = keep_masks(grids, len(weight), self.dropout, h.device)
                weight = weight / keep_share(self.dropout)
            scores = pair_scores(begins, ends, shifts, weight, grids=grids, masks=masks)
            scores = scores + self.second.bias
            parts = list(torch.split(scores, [grid.size for grid in grids]))
            return pad_sequence(parts, batch_first=True, padding_value=-torch.inf).log_softmax(1)

    def _project(
        self, h: Tensor, instances: Sequence[Instance]
    ) -> tuple[Tensor, Tensor, Tensor, list[Grid]]:
        """The first layer: A·h of beginnings, B·h of ends, bias - A·h_{k+1} - B·h_{k-1} of instances.

        Returns:
            These, ``[rows, hidden]`` each, and where the instances' pairs stand in the first two.
        """
        first, second, grids = _layout(instances, h.shape[1])
        # Embedding is a gather of rows whose gradient is fast on CPU and deterministic on CUDA.
        words = F.embedding(_index(np.concatenate([first, second]), h), h.flatten(0, 1))
        split = torch.split(words, [len(first), len(second)])
        begin, end = self.first.weight.chunk(2, dim=1)
        wide = torch.promote_types(h.dtype, self.first.weight.dtype)
        begins, ends = F.linear(split[0], begin).to(wide), F.linear(split[1], end).to(wide)
        after = F.embedding(_index([g.left + g.lefts + 1 for g in grids], h), begins)
        before = F.embedding(_index([g.right - 2 for g in grids], h), ends)
        return begins, ends, self.first.bias - after - before, grids


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


def _layout(instances: Sequence[Instance], words: int) -> tuple[_Rows, _Rows, list[Grid]]:
    """Which words to project: a sentence's up to its last k + 1, and from its first k - 1 on.

    Returns:
        Rows of ``[sentences · words]`` that are beginnings, those that are ends, and where each
        instance's words stand among them.
    """
    spans: dict[int, tuple[int, int, int]] = {}
    for sentence, k, n in instances:
        low, high, length = spans.get(sentence, (k, k, n))
        spans[sentence] = min(low, k), max(high, k), max(length, n)
    begins, ends, places = [], [], {}
    begin = end = 0
    for sentence, (low, high, n) in spans.items():
        start = sentence * words
        places[sentence] = begin, end - (low - 1)
        begins.append(np.arange(start, start + high + 2))
        ends.append(np.arange(start + low - 1, start + n))
        begin, end = begin + len(begins[-1]), end + len(ends[-1])
    grids = [
        Grid(places[sentence][0], k, places[sentence][1] + k + 1, n - k - 1)
        for sentence, k, n in instances
    ]
    return np.concatenate(begins), np.concatenate(ends), grids


def _index(rows: Sequence[int] | _Rows, like: Tensor) -> Tensor:
    return torch.as_tensor(rows, dtype=torch.int64).to(like.device, non_blocking=True)
