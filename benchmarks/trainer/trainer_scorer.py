"""Gather-then-MLP, against which the endpoint scorer is timed."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pad_sequence

from pipeline.tasks.coordination.scorer import EndpointScorer, Instance

__all__ = ["Side", "both_ways", "gather_then_mlp", "one_by_one"]

Side = Callable[[EndpointScorer, Tensor, Sequence[Instance]], Tensor]
"""Log-probabilities ``[instances, pairs of the largest]`` of instances, by a scorer's weights."""


def gather_then_mlp(scorer: EndpointScorer, h: Tensor, instances: Sequence[Instance]) -> Tensor:
    """Eq. 3 as printed, batched: F of all pairs of all instances, then the MLP with its dropout."""
    rows = [_rows(instance, h.shape[1]) for instance in instances]
    index = [
        torch.from_numpy(np.concatenate(part)).to(h.device) for part in zip(*rows, strict=True)
    ]
    i, after, j, before = (F.embedding(part, h.flatten(0, 1)) for part in index)
    units = F.relu(scorer.first(torch.cat([i - after, j - before], 1)), inplace=True)
    units = F.dropout(units, scorer.dropout, scorer.training)
    scores = scorer.second(units).squeeze(1)
    parts = list(torch.split(scores, [k * (n - k - 1) for _, k, n in instances]))
    return pad_sequence(parts, batch_first=True, padding_value=-torch.inf).log_softmax(1)


def one_by_one(scorer: EndpointScorer, h: Tensor, instances: Sequence[Instance]) -> Tensor:
    """The same, instance by instance: for many words its F stays in the cache."""
    parts = [gather_then_mlp(scorer, h, [instance])[0] for instance in instances]
    return pad_sequence(parts, batch_first=True, padding_value=-torch.inf)


def _rows(instance: Instance, words: int) -> list["np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    """Rows of i, k + 1, j and k - 1 of every pair."""
    row, k, n = instance
    first, rights = row * words, n - k - 1
    return [
        np.repeat(np.arange(first, first + k), rights),
        np.full(k * rights, first + k + 1),
        np.tile(np.arange(first + k + 1, first + n), k),
        np.full(k * rights, first + k - 1),
    ]


def both_ways(
    side: Side, scorer: EndpointScorer, h: Tensor, instances: Sequence[Instance]
) -> list[Tensor]:
    """Gradients of h and of the weights, after the mean loss of each instance's middle pair."""
    places = [k * (n - k - 1) // 2 for _, k, n in instances]
    scores = side(scorer, h, instances)
    loss = -scores.gather(1, torch.tensor(places, device=h.device)[:, None]).mean()
    return list(torch.autograd.grad(loss, [h, *scorer.parameters()]))
