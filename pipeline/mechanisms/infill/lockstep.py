"""An encoder-decoder that reads both twins of many references and writes token by token."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

__all__ = ["COMPACT_AT", "Lockstep"]

COMPACT_AT = 0.8
"""Share of a batch still being written at which what is finished leaves it."""


class Lockstep:
    """Decoder state of hypotheses, each of which is written after S′(1) and S′(2) at once.

    A hypothesis has one row per twin; all S′(1) come first, then all S′(2), so that the two parts
    of the batch are the two contexts. Without synchronization there is one part only.

    Args:
        model: the language model.
        ids: encoder input of all twins, ``[parts * references, length]``.
        mask: its attention mask.
        width: hypotheses per reference; those of one reference lie side by side.
        prompt: decoder tokens that stand before every hypothesis.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        ids: Tensor,
        mask: Tensor,
        *,
        width: int,
        prompt: Sequence[int],
        parts: int,
    ) -> None:
        self._model, self._parts = model, parts
        self._memory = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        self._mask = mask
        if width > 1:
            self._memory = self._memory.repeat_interleave(width, 0)
            self._mask = mask.repeat_interleave(width, 0)
        self._cache = EncoderDecoderCache(
            DynamicCache(config=model.config), DynamicCache(config=model.config)
        )
        self._next = torch.tensor([list(prompt)], device=ids.device).expand(len(self._mask), -1)

    def logits(self) -> tuple[Tensor, Tensor | None]:
        """Logits of the next token of every hypothesis under S′(1) and S′(2), ``[rows, V]``."""
        head = self._model.get_output_embeddings()  # type: ignore[no-untyped-call]
        # Over a vocabulary the head is dear, and of the prompt only the last position counts.
        hook = head.register_forward_pre_hook(lambda _head, args: (args[0][:, -1:],))
        try:
            logits = self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=self._memory),
                attention_mask=self._mask,
                decoder_input_ids=self._next,
                past_key_values=self._cache,
                use_cache=True,
            ).logits[:, -1]
        finally:
            hook.remove()
        if self._parts == 1:
            return logits, None
        append, prepend = logits.chunk(2)
        return append, prepend

    def extend(self, tokens: Tensor) -> None:
        """Append one token to every hypothesis, ``[rows]``, in both contexts."""
        self._next = tokens.repeat(self._parts).unsqueeze(-1)

    def reorder(self, rows: Tensor) -> None:
        """Let hypothesis i go on from what ``rows[i]`` wrote; both belong to one reference."""
        # What the encoder read is the same for all hypotheses of a reference.
        self._cache.self_attention_cache.batch_select_indices(self._both(rows))

    def keep(self, rows: Tensor) -> None:
        """Go on with these hypotheses only, in this order."""
        both = self._both(rows)
        self._cache.batch_select_indices(both)
        self._memory, self._mask = self._memory[both], self._mask[both]
        self._next = self._next[both]

    def _both(self, rows: Tensor) -> Tensor:
        """Rows of a part as rows of the batch."""
        size = len(self._mask) // self._parts
        return torch.cat([rows + part * size for part in range(self._parts)])
