"""Synchronized infilling with a masked LM (§3.2.1): all masks in one forward pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from pipeline.mechanisms.infill.base import NAN_LOGITS, TOO_LONG, Fill, TwinFiller
from pipeline.mechanisms.infill.batches import plan_batches
from pipeline.mechanisms.infill.decoding import best_ranks, draw, key_of, uniform
from pipeline.mechanisms.infill.masks import MaskedTwins
from pipeline.mechanisms.infill.refine import refined
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.sync import Scored
from pipeline.mechanisms.twins import make_twins

__all__ = ["BertInfiller"]

_TILE = 1024
"""Tokens that a CPU works on at once: of 512 to 2048 none was better, and BERT-base at 16,384 takes
twice as long, presumably because activations leave the caches and logits are mapped anew each time."""


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
    def read(self) -> int:
        """Both twins are in one input."""
        return self.tokens

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
        if self.model.device.type != "cpu":
            return self._decode_tile(encoded)
        found: list[list[Fill]] = [[]] * len(encoded)
        for tile in plan_batches(encoded, _TILE):
            for i, fills in zip(tile, self._decode_tile([encoded[i] for i in tile]), strict=True):
                found[i] = fills
        return found

    def _decode_tile(self, encoded: Sequence[_Source]) -> list[list[Fill]]:
        decoding, synchronizer = self.task.decoding, self.task.synchronizer
        twins = MaskedTwins(self.model, self.tokenizer, encoded, 2 if self.task.sync else 1)
        scores = synchronizer.join(*twins.logits())
        scored = scores.of(self._tokens(scores.fused, encoded))
        counts = [source.count for source in encoded]
        if decoding.refine > 1:
            scored = refined(twins, scored, counts, decoding.refine, synchronizer)
        rows = _Rows.of(scored)
        ends = accumulate(counts)
        return [self._fills(rows, range(end - n, end)) for n, end in zip(counts, ends, strict=True)]

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

    def _fills(self, rows: "_Rows", block: range) -> list[Fill]:
        """The fills of the reference whose places are ``block``."""
        decoding = self.task.decoding
        if not rows.finite(block):
            return [Fill("", reason=NAN_LOGITS)]
        if decoding.kind == "n-best":
            choices = best_ranks([rows.fused[at] for at in block], decoding.fills)
        else:
            choices = [(sample,) * len(block) for sample in range(decoding.fills)]
        return [self._finish(rows, list(zip(block, each, strict=True))) for each in choices]

    def _finish(self, rows: "_Rows", chosen: list[tuple[int, int]]) -> Fill:
        def mean(values: list[list[float]]) -> float:
            return math.fsum(values[at][column] for at, column in chosen) / len(chosen)

        text, reason = self._text([rows.tokens[at][column] for at, column in chosen])
        return Fill(
            text,
            score=mean(rows.fused),
            score_append=mean(rows.append),
            score_prepend=None if rows.prepend is None else mean(rows.prepend),
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """``Scored`` as lists: per place its tokens and their log-probabilities."""

    tokens: list[list[int]]
    fused: list[list[float]]
    append: list[list[float]]
    prepend: list[list[float]] | None

    @classmethod
    def of(cls, scored: Scored) -> "_Rows":
        """Brought from the device once instead of number by number."""
        prepend = None if scored.prepend is None else scored.prepend.tolist()
        return cls(scored.tokens.tolist(), scored.fused.tolist(), scored.append.tolist(), prepend)

    def finite(self, block: range) -> bool:
        """Whether no log-probability in the block is NaN or infinite."""
        values = [self.fused, self.append, *([] if self.prepend is None else [self.prepend])]
        return all(math.isfinite(p) for each in values for at in block for p in each[at])
