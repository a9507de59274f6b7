"""T5's decoder over tries: one pass, the nodes of a trie as query positions that see their ancestors."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from pipeline.infill.forcing import Forcing, Trie
from pipeline.infill.output_layer import Head
from pipeline.infill.t5_decoder import Block, Memory, Weights, attend, normed, read


class T5Forcing(Forcing[Memory]):
    """A T5, mT5 or UMT5 that reads tries.

    Padding takes part in attention alone: everything else works on the nodes that there are.

    Args:
        weights: the model.
        sources: encoder input ids of every reference, one list per context, in ascending length.
        prompt: decoder tokens that stand before every option.
        pad: id of the padding token.
    """

    def __init__(
        self,
        weights: Weights,
        sources: Sequence[Sequence[list[int]]],
        prompt: Sequence[int],
        pad: int,
    ) -> None:
        self._weights, self._sources, self._pad = weights, sources, pad
        self._prompt = list(prompt)
        self._head = Head(weights.head)
        self.parts, self.vocabulary = len(sources[0]), self._head.vocabulary
        self.device = weights.embeddings.device

    def read(self) -> Iterator[Memory]:
        """What the encoder reads, in blocks of references of similar length."""
        return read(self._weights, self._sources, self._pad)

    def logits(self, states: Tensor) -> Tensor:
        """Scores of the next token in fp32, ``[rows, V]``, from states ``[rows, d_model]``."""
        return self._head(states)

    def states(self, read: Memory, owners: Sequence[int], tries: Sequence[Trie]) -> Tensor:
        """States at the nodes, ``[parts, nodes, d_model]``."""
        weights, forest = self._weights, _Forest(tries, self._prompt, self.parts, self.device)
        own = torch.tensor(owners, device=self.device)
        rows = (torch.arange(self.parts, device=self.device)[:, None] * read.size + own).flatten()
        mask = read.mask[rows]
        x = weights.decoder_embeddings[forest.ids]
        bias = mask
        for layer, block in enumerate(weights.decoder):
            assert block.cross_q is not None  # noqa: S101 (a decoder's block has them)
            assert block.cross_out is not None  # noqa: S101
            if layer == 0 or block.bias is not weights.decoder[layer - 1].bias:
                bias = forest.bias(block)
            q, k, v = forest.padded(normed(x, weights.epsilon) @ block.qkv, 3, weights.heads)
            x.addmm_(forest.packed(attend(q, k, v, bias)), block.out)
            (q,) = forest.padded(normed(x, weights.epsilon) @ block.cross_q, 1, weights.heads)
            found = attend(q, read.keys[layer][rows], read.values[layer][rows], mask)
            x.addmm_(forest.packed(found), block.cross_out)
            block.feed(x, weights)
        x = normed(x[forest.nodes], weights.epsilon) * (weights.decoder_norm * weights.scale)
        return x.view(self.parts, -1, x.shape[-1])


class _Forest:
    """Prompts and nodes of tries in all contexts, packed one after the other or padded side by side.

    Attributes:
        ids: their tokens, packed.
        nodes: which of these are nodes, the last token of the prompt being the root.
    """

    def __init__(
        self, tries: Sequence[Trie], prompt: Sequence[int], parts: int, device: torch.device
    ) -> None:
        before = len(prompt) - 1
        longest = before + max(map(len, tries))
        ids = np.zeros((len(tries), longest), np.int64)
        positions = np.zeros((len(tries), longest), np.int64)
        # Padding sees itself, so that it is no NaN, which would be slow.
        seen = np.tile(np.eye(longest, dtype=bool), (len(tries), 1, 1))
        seen[:, :, :before] |= np.tri(longest, before, dtype=bool)
        for i, trie in enumerate(tries):
            end = before + len(trie)
            ids[i, :end] = [*prompt, *trie.tokens[1:]]
            positions[i, :end] = [*range(before), *(before + depth for depth in trie.depths)]
            own = seen[i]
            for node, parent in enumerate(trie.parents[1:], before + 1):
                own[node] |= own[before + parent]
        sizes = np.array([before + len(trie) for trie in tries])
        real = np.arange(longest) < sizes[:, None]
        one = np.flatnonzero(real)
        every = np.concatenate([one + part * ids.size for part in range(parts)])
        is_node = np.tile((np.arange(longest) >= before) & real, (parts, 1, 1)).flatten()[every]
        self._shape = parts * len(tries), longest
        self._parts, self._depth = parts, int(positions.max()) + 1
        self._at, self._positions, self._seen, self.ids, self.nodes = (
            torch.from_numpy(each).to(device)
            for each in (every, positions, seen, np.tile(ids.flatten()[one], parts), is_node)
        )

    def padded(self, x: Tensor, count: int, heads: int) -> Tensor:
        """``count`` tensors ``[rows, heads, queries, d_kv]`` of what is packed."""
        wide = x.new_zeros(self._shape[0] * self._shape[1], x.shape[1])
        wide[self._at] = x
        return wide.view(*self._shape, count, heads, -1).permute(2, 0, 3, 1, 4)

    def packed(self, x: Tensor) -> Tensor:
        """Of ``[rows, queries, width]`` what there is, ``[nodes, width]``."""
        return x.flatten(0, 1)[self._at]

    def bias(self, block: Block) -> Tensor:
        """What is added to self-attention's scores, ``[rows, heads, queries, keys]``."""
        found = block.bias(self._depth, self._depth, 0)[0].permute(1, 2, 0)
        at = self._positions
        found = found[at[:, :, None], at[:, None, :]].permute(0, 3, 1, 2)
        found = found.masked_fill(~self._seen[:, None], -torch.inf)
        return found.repeat(self._parts, 1, 1, 1)
