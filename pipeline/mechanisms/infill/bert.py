"""Synchronized infilling with a masked LM (§3.2.1): all masks in one forward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from pipeline.mechanisms.heads import logits_at
from pipeline.mechanisms.infill.base import TOO_LONG, Fill, TwinFiller
from pipeline.mechanisms.infill.decoding import best_ranks, draw, key_of, uniform
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.sync import Scored, Scores
from pipeline.mechanisms.twins import make_twins

__all__ = ["BertInfiller"]

_SPLIT_WORD = "fill begins inside a word"


@dataclass(frozen=True, slots=True)
class _Source:
    """Token ids and types of the twins, n masks in each, and what identifies the reference."""

    ids: list[int]
    types: list[int]
    count: int
    key: str

    @property
    def order(self) -> tuple[int, ...]:
        """Tokens, which is what a forward pass costs."""
        return (self.tokens,)

    @property
    def rows(self) -> int:
        """One: both twins are in it."""
        return 1

    @property
    def tokens(self) -> int:
        """Tokens of the input."""
        return len(self.ids)


class BertInfiller(TwinFiller[_Source]):
    """Fills ``[CLS] S′(1) [SEP] S′(2) [SEP]`` with as many tokens as the reference span has.

    One forward pass scores all masks (Eq. 1), so the positions are independent given the twins:
    the N best fills are exact, but samples lose the dependence between neighbouring words.
    """

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[_Source | str]:
        mask = str(self.tokenizer.mask_token)
        twins = [
            make_twins(reference, self.task.coordinator, mask, count)
            for reference, count in zip(references, counts, strict=True)
        ]
        texts = [[each.append for each in twins]]
        if self.task.sync:
            texts.append([each.prepend for each in twins])
        return [
            TOO_LONG
            if len(encoding.ids) > self._limit
            else _Source(encoding.ids, encoding.type_ids, count, key_of(reference))
            for reference, count, encoding in zip(
                references, counts, self._tokenized(*texts), strict=True
            )
        ]

    def _decode(self, encoded: Sequence[_Source]) -> list[list[Fill]]:
        scores = self._scores(encoded)
        scored = scores.of(self._tokens(scores.fused, encoded)).cpu()
        ends = accumulate(s.count for s in encoded)
        blocks = [range(end - s.count, end) for s, end in zip(encoded, ends, strict=True)]
        return [
            [self._finish(scored, block, ranks) for ranks in self._choices(scored, block)]
            for block in blocks
        ]

    def _scores(self, encoded: Sequence[_Source]) -> Scores:
        """Synchronized scores at the masks of all sources in turn, ``[n of all, V]``."""
        ids = self._padded([s.ids for s in encoded], self.tokenizer.pad_token_id)
        attention = self._padded([[1] * len(s.ids) for s in encoded], 0)
        inputs = {"input_ids": ids, "attention_mask": attention}
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = self._padded([s.types for s in encoded], 0)
        at_masks = ids == self.tokenizer.mask_token_id
        logits = logits_at(self.model, self.model.base_model, at_masks, inputs)
        if not self.task.sync:
            return self.task.synchronizer.join(logits, None)
        # Row-major order puts each sequence's S′(1) masks before its S′(2) masks.
        pieces = torch.split(logits, [s.count for s in encoded for _ in range(2)])
        return self.task.synchronizer.join(torch.cat(pieces[0::2]), torch.cat(pieces[1::2]))

    def _tokens(self, fused: Tensor, encoded: Sequence[_Source]) -> Tensor:
        """Tokens to choose from at each mask, ``[n of all, k]``."""
        decoding = self.task.decoding
        if decoding.kind == "greedy":
            return fused.argmax(-1, keepdim=True)
        if decoding.kind == "n-best":
            return fused.topk(min(decoding.fills, fused.shape[-1])).indices
        uniforms = [
            [uniform(decoding.seed, s.key, sample, at) for sample in range(decoding.fills)]
            for s in encoded
            for at in range(s.count)
        ]
        numbers = torch.tensor(uniforms, dtype=torch.float64, device=fused.device)
        return draw(fused, numbers, decoding.temperature, decoding.top_p)

    def _choices(self, scored: Scored, block: range) -> list[tuple[int, ...]]:
        """For each fill of a reference the columns of ``scored.tokens`` to take in its rows."""
        decoding = self.task.decoding
        if decoding.kind == "n-best":
            rows = scored.fused[block.start : block.stop].tolist()
            return best_ranks(rows, decoding.fills)
        return [(sample,) * len(block) for sample in range(decoding.fills)]

    def _finish(self, scored: Scored, block: range, columns: tuple[int, ...]) -> Fill:
        at = torch.tensor(block), torch.tensor(columns)
        text, reason = self._text(scored.tokens[at].tolist())
        if reason is None and text.startswith("##"):
            reason = _SPLIT_WORD
        return Fill(
            text,
            score=float(scored.fused[at].mean()),
            score_append=float(scored.append[at].mean()),
            score_prepend=None if scored.prepend is None else float(scored.prepend[at].mean()),
            reason=reason,
        )
