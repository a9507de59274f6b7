"""Scores of given fills by an encoder-decoder (Eq. 2), whose tokens are all known beforehand.

So nothing is written step by step. The options of a reference are a trie, where what several begin with
stands once; the decoder reads its nodes in one pass, each in sight of its ancestors alone, and the output
layer follows at every node: the next tokens of the options, and the end of those that end there.
``Forcing`` is a decoder that can do so, and ``forced`` the loop around it, which holds no more than the
scores of some nodes at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from pipeline.infill.base import InfillRequest
from pipeline.infill.rankings.protocol import OptionScores
from pipeline.infill.stepwise import score_blocks

_PASS = {"cpu": 2048}
_PASS_ELSEWHERE = 1 << 16
"""Nodes that the decoder reads at once, padding and all contexts included."""

_NODES = 512
"""Nodes of a trie at most: self-attention, and the memory that it takes, grow with their square."""


@dataclass(frozen=True, slots=True)
class Trie:
    """Options of a reference as a tree of tokens, whose node 0, the root, is the prompt.

    Attributes:
        tokens: of each node; of the root 0.
        parents: of each node, which come before it; of the root itself.
        depths: of each node, of the root 0.
        paths: nodes of each option, one a token.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, options: Sequence[Sequence[int]]) -> "Trie":
        """The trie of options, each with at least one token."""
        tokens, parents, depths = [0], [0], [0]
        known: dict[tuple[int, int], int] = {}
        paths = []
        for option in options:
            node, path = 0, []
            for token in option:
                parent, node = node, known.setdefault((node, token), len(tokens))
                if node == len(tokens):
                    tokens.append(token)
                    parents.append(parent)
                    depths.append(depths[parent] + 1)
                path.append(node)
            paths.append(tuple(path))
        return cls(tuple(tokens), tuple(parents), tuple(depths), tuple(paths))

    def __len__(self) -> int:
        return len(self.tokens)


class Read(Protocol):
    """What an encoder read for references ``[start, start + size)``."""

    start: int
    size: int


_Read = TypeVar("_Read", bound=Read)


class Forcing(ABC, Generic[_Read]):
    """A decoder that reads what it would have to write, in all contexts of references.

    Attributes:
        parts: how many contexts.
        vocabulary: V, how many tokens have a score.
        device: where it runs.
        branches: whether it reads tries; else each option must be a trie of its own.
        most: nodes that it can read at once, padding and all contexts included.
    """

    parts: int
    vocabulary: int
    device: torch.device
    branches: bool = True

    @property
    def most(self) -> int:
        """Nodes that it reads at once, padding and all contexts included."""
        return _PASS.get(self.device.type, _PASS_ELSEWHERE)

    @abstractmethod
    def read(self) -> Iterator[_Read]:
        """What the encoder reads, in blocks of references."""

    @abstractmethod
    def states(self, read: _Read, owners: Sequence[int], tries: Sequence[Trie]) -> Tensor:
        """States at the nodes of some tries, one after the other, ``[parts, nodes, ...]``.

        Args:
            read: what the encoder read.
            owners: which of its references each trie belongs to.
            tries: what the decoder reads.
        """

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """Scores of the next token ``[rows, V]`` from states ``[rows, ...]``; valid until the next."""


def forced(
    forcing: Forcing[_Read],
    options: Sequence[Sequence[Sequence[int]]],
    stops: Sequence[int],
    request: InfillRequest,
) -> OptionScores:
    """Scores of given fills; those beyond a reference's are 0.

    Args:
        forcing: the decoder, with its references.
        options: tokens of the options of each reference; each has at least one.
        stops: tokens that end a fill; the likelier one counts.
        request: has the synchronizer.
    """
    kinds = forcing.parts + 1
    shape = len(options), max(map(len, options))
    found = torch.zeros((kinds + 1, *shape), dtype=torch.float64, device=forcing.device)
    for read in forcing.read():
        tries = [
            (owner, first, trie)
            for owner in range(read.size)
            for first, trie in _tries(options[read.start + owner], branches=forcing.branches)
        ]
        for some in _passes(tries, forcing.most // forcing.parts):
            owners, firsts, own = zip(*some, strict=True)
            scores = _Scores(forcing, own, stops, request).of(forcing.states(read, owners, own))
            places = [
                (read.start + owner, first + i)
                for owner, first, trie in zip(owners, firsts, own, strict=True)
                for i in range(len(trie.paths))
            ]
            rows, columns = torch.tensor(places, device=forcing.device).T
            found[:, rows, columns] = scores
    return OptionScores(found[:-1], found[-1])


def _tries(options: Sequence[Sequence[int]], *, branches: bool) -> Iterator[tuple[int, Trie]]:
    """Tries of no more than ``_NODES`` tokens, unless one option has more, and their first options."""
    first = tokens = 0
    for i, option in enumerate(options):
        if i > first and (not branches or tokens + len(option) > _NODES):
            yield first, Trie.of(options[first:i])
            first, tokens = i, 0
        tokens += len(option)
    yield first, Trie.of(options[first:])


def _passes(
    tries: Sequence[tuple[int, int, Trie]], most: int
) -> Iterator[list[tuple[int, int, Trie]]]:
    """What is read together: tries of similar size, no more than ``most`` nodes with padding."""
    some: list[tuple[int, int, Trie]] = []
    for each in sorted(tries, key=lambda each: len(each[2])):
        if some and (len(some) + 1) * len(each[2]) > most:
            yield some
            some = []
        some.append(each)
    if some:
        yield some


class _Scores:
    """Scores of the options of some tries, whose nodes are numbered one after the other."""

    def __init__(
        self,
        forcing: Forcing[_Read],
        tries: Sequence[Trie],
        stops: Sequence[int],
        request: InfillRequest,
    ) -> None:
        self._forcing, self._synchronizer, self._stops = forcing, request.synchronizer, list(stops)
        starts = [0, *accumulate(map(len, tries))]
        self._nodes = starts[-1]
        numbered = list(zip(starts, tries, strict=False))
        parents = np.array([s + parent for s, trie in numbered for parent in trie.parents])
        tokens = np.array([token for trie in tries for token in trie.tokens])
        # Tokens by the node that they are scored at, without the roots, which are nobody's next.
        children = np.flatnonzero(parents != np.arange(self._nodes))
        children = children[np.argsort(parents[children], kind="stable")]
        self._bounds = np.searchsorted(parents[children], np.arange(self._nodes + 1)).tolist()
        self._children, self._parents, self._tokens = (
            torch.from_numpy(each).to(forcing.device)
            for each in (children, parents[children], tokens[children])
        )
        paths = [[s + node for node in path] for s, trie in numbered for path in trie.paths]
        longest = max(map(len, paths))
        # Beyond its last token an option has a node that scores 0.
        filled = [[*path, *[self._nodes] * (longest - len(path))] for path in paths]
        self._paths = torch.tensor(filled, device=forcing.device)
        self._lengths = torch.tensor([len(path) for path in paths], device=forcing.device)
        self._last = torch.tensor([path[-1] for path in paths], device=forcing.device)

    def of(self, states: Tensor) -> Tensor:
        """Means under u′, S′(1) and any S′(2), then u′ with the end: ``[kinds + 1, options]``."""
        kinds = self._forcing.parts + 1
        values = torch.zeros(kinds, self._nodes + 1, device=states.device)
        ends = torch.zeros(self._nodes, device=states.device)
        for first, logits in score_blocks(self._forcing, states):
            scores = self._synchronizer.join(*logits)
            every = self._synchronizer.normalizers(scores)
            after = first + logits.shape[1]
            ends[first:after] = scores.fused[:, self._stops].amax(-1) - every[0].squeeze(-1)
            own = slice(self._bounds[first], self._bounds[after])
            nodes, at, tokens = self._children[own], self._parents[own] - first, self._tokens[own]
            for kind, score, normalizer in zip(
                values, (scores.fused, *scores.contexts), every, strict=True
            ):
                kind[nodes] = score[at, tokens] - normalizer[at, 0]
        sums = values.double()[:, self._paths].sum(-1)
        ended = (sums[0] + ends[self._last].double()) / (self._lengths + 1)
        return torch.cat([sums / self._lengths, ended.unsqueeze(0)])
