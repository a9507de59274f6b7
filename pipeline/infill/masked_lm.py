"""Synchronized infilling with a masked LM (§3.2.1): all masks in one forward pass.

``MaskedTwins`` holds the twins of several references as tensors and scores their masks;
``BertInfiller`` chooses what to write in them. One pass chooses every token without seeing the others,
so neighbours may say the same.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.types import Reference
from pipeline.infill.base import NAN_LOGITS, TOO_LONG, EncodedReference, Fill, Infiller
from pipeline.infill.batching import plan_batches
from pipeline.infill.decoding import Trace, best_ranks, key_of
from pipeline.models.language_models import logits_at, positionwise_end
from pipeline.models.sampling import draw, uniform
from pipeline.models.tokenizers import padded, token_batch

_TILE = 1024
"""Tokens that a CPU works on at once: of 512 to 2048 none was better, and BERT-base at 16,384 takes
twice as long, presumably because activations leave the caches and logits are mapped anew each time."""


@dataclass(frozen=True, slots=True)
class MaskedPair:
    """Token ids and types of a pair of twins, n masks in each; ``key`` identifies the reference.

    ``types`` are 0 in the first twin and 1 in the second, where the model tells them apart;
    ``count`` is n.
    """

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
        """Tokens of both twins, which are in one input."""
        return self.tokens

    @property
    def rows(self) -> int:
        """One: both twins are in it."""
        return 1

    @property
    def tokens(self) -> int:
        """Tokens of the input."""
        return len(self.ids)


_Encoded = TypeVar("_Encoded", bound=EncodedReference)


def by_tiles(
    decode: Callable[[Sequence[_Encoded]], list[list[Fill]]],
    batch: Sequence[_Encoded],
    device: torch.device,
) -> list[list[Fill]]:
    """What ``decode`` gives of a batch, on a CPU tile by tile."""
    if device.type != "cpu":
        return decode(batch)
    found: list[list[Fill]] = [[]] * len(batch)
    for tile in plan_batches(batch, _TILE):
        for i, fills in zip(tile, decode([batch[i] for i in tile]), strict=True):
            found[i] = fills
    return found


class MaskedTwins:
    """``[CLS] S′(1) [SEP] S′(2) [SEP]`` of several references.

    Their *places*, numbered consecutively, are the n of the first reference, those of the second and so
    on. A place is a mask in both twins: what is written there stands in both.

    Args:
        model: the masked LM.
        tokenizer: its tokenizer.
        pairs: the twins of each reference.
        parts: twins in each input: one without synchronization.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pairs: Sequence[MaskedPair],
        parts: int,
    ) -> None:
        self._model, self._mask = model, tokenizer.mask_token_id
        self._end = positionwise_end(model.base_model)
        rows = [pair.ids for pair in pairs]
        self._ids, mask = token_batch(rows, tokenizer.pad_token_id or 0, model.device)
        self._more: dict[str, Tensor] = {}
        if min(map(len, rows)) < max(map(len, rows)):  # attention is cheaper without a mask
            self._more["attention_mask"] = mask
        if getattr(model.config, "type_vocab_size", 0) > 1:
            types = torch.from_numpy(padded([pair.types for pair in pairs], 0))
            self._more["token_type_ids"] = types.to(model.device)
        numbers: list[int] = []
        columns: list[list[int]] = [[] for _ in range(parts)]
        for number, pair in enumerate(pairs):
            at = [i for i, token in enumerate(pair.ids) if token == self._mask]
            numbers += [number] * pair.count
            for part, column in enumerate(columns):
                column.extend(at[part * pair.count : (part + 1) * pair.count])
        self._rows = torch.tensor(numbers, device=model.device)
        self._columns = torch.tensor(columns, device=model.device)

    def logits(self) -> tuple[Tensor, ...]:
        """Logits at all places under S′(1) and any S′(2), each ``[places, V]``."""
        at = self._rows.repeat(len(self._columns)), self._columns.flatten()
        inputs = {"input_ids": self._ids, **self._more}
        found = logits_at(self._model, self._model.base_model, at, inputs, self._end)
        return found.chunk(len(self._columns))


class BertInfiller(Infiller[MaskedPair]):
    """Fills ``[CLS] S′(1) [SEP] S′(2) [SEP]`` with as many tokens as the reference span has.

    One forward pass scores all masks (Eq. 1), so the positions are independent given the twins:
    the N best fills are exact, but samples lose the dependence between neighbouring words.
    """

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[MaskedPair | str]:
        texts = self._twins(references, str(self.tokenizer.mask_token), counts)
        return [
            TOO_LONG
            if len(encoding.ids) > self.limit
            else MaskedPair(encoding.ids, encoding.type_ids, count, key_of(reference))
            for reference, count, encoding in zip(
                references, counts, self._tokenized(*texts), strict=True
            )
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[MaskedPair]) -> list[list[Fill]]:
        """Fills of each pair; a CPU takes them tile by tile."""
        return by_tiles(self._decode_tile, batch, self.model.device)

    def _decode_tile(self, encoded: Sequence[MaskedPair]) -> list[list[Fill]]:
        twins = MaskedTwins(self.model, self.tokenizer, encoded, 2 if self.request.sync else 1)
        scores = self.request.synchronizer.join(*twins.logits())
        scored = scores.of(self._tokens(scores.fused, encoded))
        counts = [pair.count for pair in encoded]
        # Brought from the device once instead of number by number.
        tokens, kinds = scored.tokens.tolist(), [kind.tolist() for kind in scored.kinds]
        blocks = (slice(end - n, end) for n, end in zip(counts, accumulate(counts), strict=True))
        return [self._fills(tokens[block], [kind[block] for kind in kinds]) for block in blocks]

    def _tokens(self, fused: Tensor, encoded: Sequence[MaskedPair]) -> Tensor:
        """Tokens to choose from at each mask, ``[n of all, k]``."""
        decoding = self.request.decoding
        if decoding.kind == "greedy":
            return fused.argmax(-1, keepdim=True)
        if decoding.kind == "n-best":
            return fused.topk(min(decoding.fills, fused.shape[-1])).indices
        uniforms = [
            [uniform(decoding.seed, pair.key, sample, at) for sample in range(decoding.fills)]
            for pair in encoded
            for at in range(pair.count)
        ]
        numbers = torch.tensor(uniforms, dtype=torch.float64, device=fused.device)
        return draw(fused, numbers, decoding.temperature, decoding.top_p)

    def _fills(self, tokens: list[list[int]], kinds: list[list[list[float]]]) -> list[Fill]:
        """The fills of one reference.

        Args:
            tokens: to choose from at each of its n masks, ``[n, k]``.
            kinds: their log-probabilities, fused, under S′(1) and S′(2): each ``[n, k]``.
        """
        decoding = self.request.decoding
        if not all(math.isfinite(p) for kind in kinds for row in kind for p in row):
            return [Fill("", reason=NAN_LOGITS)]
        if decoding.kind == "n-best":
            choices = best_ranks(kinds[0], decoding.fills)
        else:
            choices = [(sample,) * len(tokens) for sample in range(decoding.fills)]

        def chosen(rows: list[list[Any]], ranks: tuple[int, ...]) -> list[Any]:
            return [row[rank] for row, rank in zip(rows, ranks, strict=True)]

        return [
            self._finish(
                Trace.of(
                    chosen(tokens, ranks),
                    [math.fsum(chosen(kind, ranks)) / len(tokens) for kind in kinds],
                    cut=False,
                )
            )
            for ranks in choices
        ]
