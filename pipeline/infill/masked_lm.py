"""Synchronized infilling with a masked LM (§3.2.1): all masks in one forward pass.

Masked twins of several references as tensors, and what stands in their masks.

Mask-predict: iterative refinement of what a masked LM wrote (Ghazvininejad et al., 2019).

One pass chooses every token without seeing the others, so neighbours may say the same. Each pass
more hides the least probable tokens, and they are chosen again in sight of those that stay.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.types import Reference
from pipeline.infill.base import NAN_LOGITS, TOO_LONG, Fill, TwinFiller
from pipeline.infill.batching import plan_batches
from pipeline.infill.decoding import best_ranks, draw, key_of, uniform
from pipeline.infill.synchronize import Scored, Synchronizer
from pipeline.infill.twins import make_twins
from pipeline.models.language_models import logits_at, positionwise_end


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


def weakest(
    log_probabilities: Sequence[float], counts: Sequence[int], done: int, passes: int
) -> list[int]:
    """Places to choose again after ``done`` of ``passes``: n·(passes − done)/passes of n each.

    Args:
        log_probabilities: of the token at every place, under the synchronized scores.
        counts: places of each reference, n.
        done: passes made.
        passes: passes in all.

    Returns:
        The least probable places of each reference, in order; of equal ones the foremost.
    """
    places: list[int] = []
    begin = 0
    for count in counts:
        block = range(begin, begin + count)
        begin += count
        # What is not a number has no order, and nothing is worse.
        ranked = sorted(block, key=lambda i: _or_least(log_probabilities[i]))
        places += sorted(ranked[: count * (passes - done) // passes])
    return places


def _or_least(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def refined(
    twins: MaskedTwins,
    scored: Scored,
    counts: Sequence[int],
    passes: int,
    synchronizer: Synchronizer,
) -> Scored:
    """The fills after ``passes`` passes, the first of which gave ``scored``, ``[all places, 1]``.

    A token has the log-probabilities of the pass that chose it. A place hidden in one twin is
    hidden in the other, so the twins keep identical fills.
    """
    for done in range(1, passes):
        again = weakest(scored.fused.flatten().tolist(), counts, done, passes)
        if not again:
            break
        places = torch.tensor(again, device=scored.tokens.device)
        twins.write(scored.tokens.flatten())
        twins.hide(places)
        scores = synchronizer.join(*twins.logits(places))
        chosen = scores.of(scores.fused.argmax(-1, keepdim=True))
        prepend = scored.prepend
        scored = Scored(
            tokens=scored.tokens.index_copy(0, places, chosen.tokens),
            fused=scored.fused.index_copy(0, places, chosen.fused),
            append=scored.append.index_copy(0, places, chosen.append),
            prepend=None
            if prepend is None or chosen.prepend is None
            else prepend.index_copy(0, places, chosen.prepend),
        )
    return scored


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
