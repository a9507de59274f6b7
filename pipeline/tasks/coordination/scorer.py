"""The endpoint scorer of Eq. 3: a score for every pair of boundary words of a coordinator.

    F(i, j, k) = [h_i - h_{k+1}; h_j - h_{k-1}]          SCORE(i, j, k) = MLP(F(i, j, k))

The MLP's first layer is linear in F, so it splits into one projection per endpoint: words are
projected once (O(n) products), each only as what it can be, beginning or end, and pairs are only
added (O(n²) sums). Gathering F first would cost O(n²) products: on one CPU core, at bert-base's width
and 30, 60 and 120 words, 12, 19 and 34 times as much forward and 5, 16 and 20 times as much forward
and backward.

The score of a pair is Σ_u w_u · keep_iju · ReLU(begin_iu + end_ju + c_u). On a CPU ``pair_scores``
works on blocks of pairs that stay in the cache and keeps for the backward pass only the words and,
with dropout, one byte per hidden unit: it computes the units again, and since each pair is a sum, the
gradients of words *and* of w are row and column sums of the pairs'. On a GPU, where starting a kernel
costs more than adding, all pairs of all instances are in one tensor.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pad_sequence

_BLOCK = 1 << 18  # hidden units in a block: a megabyte of float32, about a core's L2 cache
_Rows = np.ndarray[tuple[int], np.dtype[np.int64]]

Instance = tuple[int, int, int]
"""(sentence, k, n): the sentence's row, the coordinator's word index, the number of words; with
0 < k < n - 1."""


class Grid(NamedTuple):
    """An instance's pairs: each of ``lefts`` beginnings with each of ``rights`` ends.

    ``left`` and ``right`` are the first one's rows in the tables of beginnings and of ends.
    """

    left: int
    lefts: int
    right: int
    rights: int

    @property
    def size(self) -> int:
        """Number of pairs."""
        return self.lefts * self.rights


def pair_scores(
    begins: Tensor,
    ends: Tensor,
    shifts: Tensor,
    weight: Tensor,
    *,
    grids: Sequence[Grid],
    masks: Sequence[Tensor] | None,
) -> Tensor:
    """Score all pairs of all grids; differentiable once.

    Args:
        begins: words as beginnings, ``[rows, hidden]``.
        ends: words as ends, ``[rows, hidden]``.
        shifts: what is added to every pair of a grid, ``[grids, hidden]``.
        weight: of the hidden units in the score, ``[hidden]``.
        grids: at least one.
        masks: which units are kept, one tensor of 0 and 1 ``[pairs, hidden]`` for each grid; None
            keeps all.

    Returns:
        ``[pairs of all grids]``, grid by grid, ends running fastest.
    """
    if begins.device.type == "cpu":
        scores: Tensor = _Blocks.apply(begins, ends, shifts, weight, grids, masks)  # type: ignore[no-untyped-call]
        return scores
    return _at_once(begins, ends, shifts, weight, grids=grids, masks=masks)


def keep_share(dropout: float) -> float:
    """Share of units that ``keep_masks`` keeps: 1 - ``dropout`` to the nearest 1/65,536, above 0."""
    levels, dropped = _levels(dropout)
    return 1 - dropped / levels


def keep_masks(
    grids: Sequence[Grid], hidden: int, dropout: float, device: torch.device
) -> list[Tensor]:
    """Draw which hidden units of each pair are kept, instance by instance.

    So an instance's mask does not depend on how many others are batched. Units are kept by bytes of
    a random stream (words of two bytes where the share of a byte is not exact): on a CPU a tenth of
    the time of ``bernoulli_``, which would be more than that of all else here.
    """
    levels, dropped = _levels(dropout)
    kind = torch.int8 if levels == 256 else torch.int16
    masks = []
    for grid in grids:
        count = grid.size * hidden
        stream = torch.empty(-(-count * kind.itemsize // 8), dtype=torch.int64, device=device)
        units = stream.random_(-(2**63), None).view(kind)[:count]
        masks.append(units.ge_(dropped - levels // 2).view(grid.size, hidden))
    return masks


def _levels(dropout: float) -> tuple[int, int]:
    """How many equally likely values a unit's number has, and how many of them drop it."""
    levels = 256 if (dropout * 256).is_integer() else 65_536
    return levels, min(round(dropout * levels), levels - 1)


class _Blocks(torch.autograd.Function):
    """``pair_scores`` by blocks of the rows of a grid; its order of sums is fixed."""

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd passes by position
        ctx: Any,
        begins: Tensor,
        ends: Tensor,
        shifts: Tensor,
        weight: Tensor,
        grids: Sequence[Grid],
        masks: Sequence[Tensor] | None,
    ) -> Tensor:
        ctx.save_for_backward(begins, ends, shifts, weight, *(masks or ()))
        ctx.grids = grids
        scores = begins.new_empty(sum(grid.size for grid in grids))
        scratch = _Scratch(begins, grids, masked=masks is not None)
        at = 0
        for index, grid in enumerate(grids):
            left, right = _sides(begins, ends, shifts[index], grid)
            for rows, pairs in scratch.blocks(grid):
                units = scratch.units(rows, grid)
                torch.add(left[rows, None], right, out=units).relu_()
                if masks is not None:
                    units *= scratch.floats(masks[index][pairs]).view_as(units)
                out = scores[at + pairs.start : at + pairs.stop]
                torch.mv(units.view(-1, len(weight)), weight, out=out)
            at += grid.size
        return scores

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        begins, ends, shifts, weight, *masks = ctx.saved_tensors
        # Of each word and shift: the sum over its pairs of their gradients where a unit is active and
        # kept. The score is linear in them and in w, so this is all that any gradient needs.
        of_begins, of_ends, of_shifts = map(torch.zeros_like, (begins, ends, shifts))
        scratch = _Scratch(begins, ctx.grids, masked=bool(masks))
        at = 0
        for index, grid in enumerate(ctx.grids):
            left, right = _sides(begins, ends, shifts[index], grid)
            of_left = torch.empty_like(left)
            of_right = of_ends[grid.right : grid.right + grid.rights]
            for rows, pairs in scratch.blocks(grid):
                units = scratch.units(rows, grid)
                torch.add(left[rows, None], right, out=units)
                own = gradient[at + pairs.start : at + pairs.stop].view(*units.shape[:2], 1)
                torch.ops.aten.threshold_backward.grad_input(
                    own.expand_as(units), units, 0, grad_input=units
                )
                if masks:
                    units *= scratch.floats(masks[index][pairs]).view_as(units)
                torch.sum(units, 1, out=of_left[rows])
                of_right += units.sum(0)
            of_begins[grid.left : grid.left + grid.lefts] += of_left
            torch.sum(of_left, 0, out=of_shifts[index])
            at += grid.size
        parts = ((begins, of_begins), (ends, of_ends), (shifts, of_shifts))
        of_weight = sum(((part * of).sum(0) for part, of in parts), torch.zeros_like(weight))
        return (*(of.mul_(weight) for _, of in parts), of_weight, None, None)


class _Scratch:
    """Memory for one block, used again for the next."""

    def __init__(self, like: Tensor, grids: Sequence[Grid], *, masked: bool) -> None:
        self._hidden = like.shape[1]
        size = max(self._rows(grid) * grid.rights for grid in grids) * self._hidden
        self._units = like.new_empty(size)
        self._floats = like.new_empty(size if masked else 0)

    def _rows(self, grid: Grid) -> int:
        return min(grid.lefts, max(1, _BLOCK // (grid.rights * self._hidden)))

    def blocks(self, grid: Grid) -> Iterator[tuple[slice, slice]]:
        """Yield the beginnings of each block, and its pairs within the grid."""
        step = self._rows(grid)
        for first in range(0, grid.lefts, step):
            last = min(first + step, grid.lefts)
            yield slice(first, last), slice(first * grid.rights, last * grid.rights)

    def units(self, rows: slice, grid: Grid) -> Tensor:
        """Memory for a block's hidden units, ``[beginnings, ends, hidden]``."""
        shape = rows.stop - rows.start, grid.rights, self._hidden
        return self._units[: shape[0] * shape[1] * shape[2]].view(shape)

    def floats(self, mask: Tensor) -> Tensor:
        """A mask as numbers to multiply with; a product of mixed types would convert more slowly."""
        return self._floats[: mask.numel()].copy_(mask.view(-1))


def _sides(begins: Tensor, ends: Tensor, shift: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
    """A grid's beginnings, shifted, and its ends."""
    left = begins[grid.left : grid.left + grid.lefts] + shift
    return left, ends[grid.right : grid.right + grid.rights]


def _at_once(
    begins: Tensor,
    ends: Tensor,
    shifts: Tensor,
    weight: Tensor,
    *,
    grids: Sequence[Grid],
    masks: Sequence[Tensor] | None,
) -> Tensor:
    """``pair_scores`` in a dozen kernels however many grids there are."""
    left, right, grid = (
        torch.from_numpy(rows).to(begins.device, non_blocking=True) for rows in _gathered(grids)
    )
    # Embedding is a gather of rows whose gradient is deterministic on CUDA, unlike indexing's.
    pairs = F.embedding(left, begins) + F.embedding(right, ends)
    units = (pairs + F.embedding(grid, shifts)).relu_()
    if masks is not None:
        units = units * torch.cat(list(masks)).to(units.dtype)
    return units @ weight


def _gathered(grids: Sequence[Grid]) -> list[_Rows]:
    """Row of the beginning, row of the end and number of the grid of each pair."""
    parts = [
        (
            np.repeat(np.arange(grid.left, grid.left + grid.lefts), grid.rights),
            np.tile(np.arange(grid.right, grid.right + grid.rights), grid.lefts),
            np.full(grid.size, number),
        )
        for number, grid in enumerate(grids)
    ]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


class TwoWordMLP(nn.Module):
    """The layers of an MLP of one hidden layer with ReLU and dropout over two words.

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


class EndpointScorer(TwoWordMLP):
    """A ``TwoWordMLP`` over endpoint pairs (Eq. 3, §5.1)."""

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
