"""Any encoder-decoder of the library as one that is forced, through its own forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from pipeline.infill.forcing import Forcing, Trie
from pipeline.models.tokenizers import token_batch

_READ = 16
"""References whose encoder states are held at once."""


@dataclass(slots=True)
class _States:
    """Encoder states ``[parts * size, length, d_model]`` and their mask ``[parts * size, length]``."""

    start: int
    size: int
    states: Tensor
    mask: Tensor


class ModelForcing(Forcing[_States]):
    """Its modules know no trie, so each option is a row of its own; states are the scores themselves.

    Args:
        model: the language model.
        sources: encoder input ids of every reference, one list per context, in ascending length.
        prompt: decoder tokens that stand before every option.
        pad: id of the padding token.
    """

    branches = False

    def __init__(
        self,
        model: PreTrainedModel,
        sources: Sequence[Sequence[list[int]]],
        prompt: Sequence[int],
        pad: int,
    ) -> None:
        self._model, self._sources, self._prompt, self._pad = model, sources, list(prompt), pad
        head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        self.parts, self.vocabulary, self.device = len(sources[0]), len(head.weight), model.device

    @property
    def most(self) -> int:
        """So many nodes that there is room for their scores."""
        return max(1, super().most // 2)

    def read(self) -> Iterator[_States]:
        """What the encoder reads, some references at a time."""
        for start in range(0, len(self._sources), _READ):
            some = self._sources[start : start + _READ]
            rows = [source[part] for part in range(self.parts) for source in some]
            ids, mask = token_batch(rows, self._pad, self.device)
            states = self._model.get_encoder()(input_ids=ids, attention_mask=mask)
            yield _States(start, len(some), states.last_hidden_state, mask)

    def states(self, read: _States, owners: Sequence[int], tries: Sequence[Trie]) -> Tensor:
        """Scores at the nodes, ``[parts, nodes, V]``."""
        before = len(self._prompt) - 1
        rows = [part * read.size + owner for part in range(self.parts) for owner in owners]
        written = [[*self._prompt, *trie.tokens[1:]] for trie in tries] * self.parts
        # Padding comes last, where what counts does not see it.
        ids, mask = token_batch(written, self._pad, self.device)
        logits = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=read.states[rows]),
            attention_mask=read.mask[rows],
            decoder_input_ids=ids,
            use_cache=False,
        ).logits[:, before:]
        nodes: Tensor = logits[mask[:, before:].bool()]
        return nodes.view(self.parts, -1, self.vocabulary)

    def logits(self, states: Tensor) -> Tensor:
        """The states."""
        return states
