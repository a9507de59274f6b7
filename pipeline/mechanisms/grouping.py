"""Which sentences of a batch go through the encoder together.

A pass costs as much as its longest sentence times its sentences. On a CPU, which is bound by
arithmetic, padding is dear: 40 % of what 16 of GENIA's sentences take in one pass. But each pass reads
all weights (and, learning, writes all gradients), so neither is one sentence at a time cheap.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from pipeline.mechanisms.encoding import Encoded, WordEncoding

__all__ = ["represent", "similar"]

_ENCODING, _LEARNING = 40, 80
"""What a pass of bert-base costs on one CPU core beside its tokens, in tokens: forward, and both ways."""


def represent(
    encoder: nn.Module, encoding: WordEncoding, batch: Sequence[Encoded], device: torch.device
) -> Tensor:
    """Encode sentences, on a CPU in groups of similar length.

    Returns:
        The words' representations h, ``[sentences, words, width]``; what stands behind a sentence's
        last word means nothing.
    """
    groups = [list(range(len(batch)))]
    if device.type == "cpu":
        overhead = _LEARNING if torch.is_grad_enabled() else _ENCODING
        groups = similar([len(encoded.ids) for encoded in batch], overhead)
    found: dict[int, Tensor] = {}
    for group in groups:
        ids, mask, last = encoding.collate([batch[index] for index in group], device)
        states: Tensor = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        h = states[torch.arange(len(group), device=device)[:, None], last]
        if len(groups) == 1:
            return h
        found |= zip(group, h.unbind(), strict=True)
    return pad_sequence([found[index] for index in range(len(batch))], batch_first=True)


def similar(lengths: Sequence[int], overhead: int) -> list[list[int]]:
    """Cut a batch into groups of similar length so that tokens and overhead are fewest in all.

    Args:
        lengths: of the sentences.
        overhead: what a group costs beside its tokens, padding included.

    Returns:
        The indices of each group, shorter sentences first; a single group keeps its order.
    """
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    # least[j]: the cost of the first j sentences in that order, and where their last group begins.
    least = [(0, 0)]
    for end, last in enumerate(order, start=1):
        costs = (
            (least[begin][0] + overhead + (end - begin) * lengths[last], begin)
            for begin in range(end)
        )
        least.append(min(costs))
    groups: list[list[int]] = []
    end = len(order)
    while end:
        begin = least[end][1]
        groups.append(order[begin:end])
        end = begin
    return groups[::-1] if len(groups) > 1 else [sorted(group) for group in groups]
