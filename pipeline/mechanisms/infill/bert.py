"""Synchronized infilling with a masked LM (§3.2.1): all masks in one forward pass."""

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.mechanisms.checkpoints import length_limit
from pipeline.mechanisms.heads import logits_at
from pipeline.mechanisms.infill.base import (
    NO_TOKENS,
    SPECIAL_IN_FILL,
    TOO_LONG,
    Fill,
    Task,
    fill_usable,
    reference_tokens,
    refused,
)
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.sync import Scored
from pipeline.mechanisms.twins import make_twins

__all__ = ["BertInfiller"]

_SPLIT_WORD = "fill begins inside a word"


class BertInfiller:
    """Fills ``[CLS] S′(1) [SEP] S′(2) [SEP]`` with as many tokens as the reference span has."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        task: Task,
    ) -> None:
        self.model, self.tokenizer, self.task = model, tokenizer, task
        self._limit = length_limit(model.config, tokenizer)
        self._special = frozenset(tokenizer.all_special_ids)

    def size(self, reference: Reference) -> int:
        """Words of the input, which is what a forward pass costs."""
        return len(reference.words) + len(reference.span)

    def encode(self, reference: Reference) -> tuple[list[int], list[int], int] | str:
        """Token ids, token types and n for one reference, or why it cannot be filled.

        n is the number of subword tokens of the reference span, and of masks in each twin.
        """
        if reason := refused(self.tokenizer, reference):
            return reason
        count = reference_tokens(self.tokenizer, reference)
        if not count:
            return NO_TOKENS
        twins = make_twins(reference, self.task.coordinator, str(self.tokenizer.mask_token), count)
        pair = (twins.append, twins.prepend) if self.task.sync else (twins.append,)
        encoding = self.tokenizer(*pair, verbose=False)
        ids = list(encoding["input_ids"])
        if len(ids) > self._limit:
            return TOO_LONG
        return ids, list(encoding.encodings[0].type_ids), count

    @torch.inference_mode()
    def fill(self, references: Sequence[Reference]) -> list[Fill]:
        """Fills by Eq. 1, one forward pass for the batch."""
        return fill_usable([self.encode(reference) for reference in references], self._decode)

    def _decode(self, encoded: Sequence[tuple[list[int], list[int], int]]) -> list[Fill]:
        width = max(len(ids) for ids, _, _ in encoded)
        pad = self.tokenizer.pad_token_id

        def padded(rows: Sequence[Sequence[int]], value: int) -> Tensor:
            filled = [[*row, *[value] * (width - len(row))] for row in rows]
            return torch.tensor(filled, device=self.model.device)

        ids = padded([ids for ids, _, _ in encoded], pad)
        inputs = {
            "input_ids": ids,
            "attention_mask": padded([[1] * len(ids) for ids, _, _ in encoded], 0),
        }
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = padded([types for _, types, _ in encoded], 0)
        at_masks = ids == self.tokenizer.mask_token_id
        base = self.model.base_model
        logits = logits_at(self.model, base, at_masks, inputs)  # [masks of the batch, V]
        # Row-major order puts each sequence's S′(1) masks before its S′(2) masks.
        counts = [count for _, _, count in encoded]
        per_row = (
            torch.tensor(counts).repeat_interleave(2) if self.task.sync else torch.tensor(counts)
        )
        pieces = torch.split(logits, per_row.tolist())
        first = torch.cat(pieces[0::2]) if self.task.sync else logits
        second = torch.cat(pieces[1::2]) if self.task.sync else None
        scored = self.task.synchronizer.choose(first, second)
        return [self._finish(scored, begin, count) for begin, count in _blocks(counts)]

    def _finish(self, scored: Scored, begin: int, count: int) -> Fill:
        block = slice(begin, begin + count)
        tokens = scored.tokens[block].tolist()
        text = str(self.tokenizer.decode(tokens)).strip()
        reason = None
        if self._special.intersection(tokens):
            reason = SPECIAL_IN_FILL
        elif text.startswith("##"):
            reason = _SPLIT_WORD
        return Fill(
            text,
            score=float(scored.fused[block].mean()),
            score_append=float(scored.append[block].mean()),
            score_prepend=None if scored.prepend is None else float(scored.prepend[block].mean()),
            reason=reason,
        )


def _blocks(counts: Sequence[int]) -> list[tuple[int, int]]:
    begins = [sum(counts[:i]) for i in range(len(counts))]
    return list(zip(begins, counts, strict=True))
