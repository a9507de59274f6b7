"""Decoder state of hypotheses that are written after S′(1) and S′(2) at once.

Rows are ``[parts, references, hypotheses]``: a part is one context of all references, S′(1) before
S′(2); without synchronization there is one part. All hypotheses of a reference share what the
encoder read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from pipeline.models.tokenizers import token_batch

COMPACT_AT = 0.75
"""Share of a batch still being written at which what is finished leaves it."""


class Lockstep(ABC):
    """A decoder that writes every hypothesis in all of its contexts.

    What ``start`` and ``advance`` return are states, ``[parts, references, hypotheses, ...]``, from
    which ``logits`` makes scores: separately, because the output layer over a vocabulary is expensive
    and its output is too large to hold for all rows at once.
    """

    parts: int
    """How many contexts."""

    vocabulary: int
    """V, how many tokens have a score."""

    @abstractmethod
    def start(self) -> Tensor:
        """States after the prompt, of one hypothesis per reference."""

    @abstractmethod
    def widen(self, width: int) -> None:
        """Go on with ``width`` copies of the one hypothesis of each reference."""

    @abstractmethod
    def advance(self, tokens: Tensor, parents: Tensor | None = None) -> Tensor:
        """States after one token more.

        Args:
            tokens: the token of every hypothesis, ``[references, hypotheses]``.
            parents: which hypothesis of the same reference each goes on from; None: itself.
        """

    @abstractmethod
    def keep(self, references: Tensor) -> None:
        """Go on with these references only; indices in ascending order."""

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """Scores of the next token ``[rows, V]`` from states ``[rows, ...]``; valid until the next."""


@contextmanager
def last_alone(model: PreTrainedModel) -> Iterator[None]:
    """Have a model's head see the last position of each row alone.

    Over a vocabulary it is expensive, and of what was read before, a prompt, no other counts.
    """
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    hook = head.register_forward_pre_hook(lambda _head, args: (args[0][:, -1:],))
    try:
        yield
    finally:
        hook.remove()


class RowLockstep(Lockstep):
    """A model driven through its own forward pass, with a row for every hypothesis in each of its contexts.

    States are the scores themselves. Who makes one sets ``parts`` and ``vocabulary``, ``_mask``, which has
    the rows, and ``_width``, 1.
    """

    _mask: Tensor
    _width: int

    def widen(self, width: int) -> None:
        """Go on with ``width`` copies of each hypothesis."""
        self._width = width
        self._select(self._rows().repeat_interleave(width))

    def keep(self, references: Tensor) -> None:
        """Go on with these references only."""
        self._select(self._rows().view(self.parts, -1, self._width)[:, references].flatten())

    def logits(self, states: Tensor) -> Tensor:
        """The states."""
        return states

    @abstractmethod
    def _select(self, rows: Tensor) -> None:
        """Go on with these rows, in this order."""

    def _of_parents(self, parents: Tensor) -> Tensor:
        """The rows that hypotheses go on from; ``parents`` as of ``advance``."""
        own = self._rows().view(self.parts, -1, self._width)
        return own.gather(2, parents.expand(self.parts, -1, -1)).flatten()

    def _rows(self) -> Tensor:
        return torch.arange(len(self._mask), device=self._mask.device)


class ModelLockstep(RowLockstep):
    """Any encoder-decoder of the library, driven through its own forward pass and cache.

    Args:
        model: the language model.
        sources: encoder input ids of every reference, one list per context.
        prompt: decoder tokens that stand before every hypothesis.
        pad: id of the padding token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        sources: Sequence[Sequence[list[int]]],
        prompt: Sequence[int],
        pad: int,
    ) -> None:
        self.parts, self._model = len(sources[0]), model
        head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        self.vocabulary = len(head.weight)
        rows = [source[part] for part in range(self.parts) for source in sources]
        ids, self._mask = token_batch(rows, pad, model.device)
        self._memory = model.get_encoder()(
            input_ids=ids, attention_mask=self._mask
        ).last_hidden_state
        # Given a configuration, a cache has as many layers as the encoder.
        self._cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        self._prompt = torch.tensor([list(prompt)], device=model.device)
        self._width = 1

    def start(self) -> Tensor:
        """States, here the logits themselves, after the prompt."""
        return self._forward(self._prompt.expand(len(self._mask), -1))

    def advance(self, tokens: Tensor, parents: Tensor | None = None) -> Tensor:
        """States, here the logits themselves, after one token more."""
        if parents is not None:
            # What the encoder read is the same for all hypotheses of a reference.
            self._cache.self_attention_cache.batch_select_indices(self._of_parents(parents))
        return self._forward(tokens.reshape(-1, 1).repeat(self.parts, 1))

    def _select(self, rows: Tensor) -> None:
        self._cache.batch_select_indices(rows)
        self._memory, self._mask = self._memory[rows], self._mask[rows]

    def _forward(self, ids: Tensor) -> Tensor:
        with last_alone(self._model):
            logits: Tensor = self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=self._memory),
                attention_mask=self._mask,
                decoder_input_ids=ids,
                past_key_values=self._cache,
                use_cache=True,
            ).logits[:, -1]
        return logits.view(self.parts, -1, self._width, logits.shape[-1])
