"""Masked twins of several references as tensors, and what stands in their masks."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.mechanisms.heads import logits_at, positionwise_end

__all__ = ["MaskedTwins", "Source"]


class Source(Protocol):
    """Token ids and types of a pair of twins with ``count`` masks in each."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def types(self) -> list[int]:
        """0 in the first twin, 1 in the second, where the model tells them apart."""
        ...

    @property
    def count(self) -> int:
        """n, masks per twin."""
        ...


class MaskedTwins:
    """``[CLS] S′(1) [SEP] S′(2) [SEP]`` of several references.

    Their *places*, numbered through, are the n of the first reference, those of the second and so
    on. A place is a mask in both twins: what is written there stands in both.

    Args:
        model: the masked LM.
        tokenizer: its tokenizer.
        sources: the references.
        parts: twins in each input: one without synchronization.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        sources: Sequence[Source],
        parts: int,
    ) -> None:
        self._model, self._mask = model, tokenizer.mask_token_id
        self._end = positionwise_end(model.base_model)
        lengths = [len(source.ids) for source in sources]
        self._ids = self._padded([source.ids for source in sources], tokenizer.pad_token_id or 0)
        self._more: dict[str, Tensor] = {}
        if min(lengths) < max(lengths):  # attention is cheaper without a mask
            self._more["attention_mask"] = self._padded([[1] * n for n in lengths], 0)
        if getattr(model.config, "type_vocab_size", 0) > 1:
            self._more["token_type_ids"] = self._padded([source.types for source in sources], 0)
        rows: list[int] = []
        columns: list[list[int]] = [[] for _ in range(parts)]
        for row, source in enumerate(sources):
            at = [i for i, token in enumerate(source.ids) if token == self._mask]
            rows += [row] * source.count
            for part, column in enumerate(columns):
                column.extend(at[part * source.count : (part + 1) * source.count])
        self._rows = self._tensor(rows)
        self._columns = self._tensor(columns)

    def logits(self, places: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Logits at some places (None: at all) under S′(1) and S′(2), each ``[places, V]``.

        References none of whose places are asked for are left out of the forward pass.
        """
        rows, columns = self._rows, self._columns
        inputs = {"input_ids": self._ids, **self._more}
        if places is not None:
            asked, rows = torch.unique(rows[places], return_inverse=True)
            columns = columns[:, places]
            inputs = {name: value[asked] for name, value in inputs.items()}
        at = rows.repeat(len(columns)), columns.flatten()
        found = logits_at(self._model, self._model.base_model, at, inputs, self._end)
        if len(columns) == 1:
            return found, None
        append, prepend = found.chunk(2)
        return append, prepend

    def write(self, tokens: Tensor) -> None:
        """Put tokens ``[all places]`` into their places, in both twins."""
        self._ids[self._rows, self._columns] = tokens

    def hide(self, places: Tensor) -> None:
        """Mask these places again."""
        self._ids[self._rows[places], self._columns[:, places]] = self._mask

    def _padded(self, rows: Sequence[list[int]], value: int) -> Tensor:
        width = max(map(len, rows))
        return self._tensor([[*row, *[value] * (width - len(row))] for row in rows])

    def _tensor(self, numbers: Sequence[object]) -> Tensor:
        return torch.tensor(numbers, device=self._model.device)
