"""Sentences in one pass through an encoder without padding, one behind the other.

All that an encoder computes word by word (nine tenths of it) takes the sentences as one long row; attention
alone is cut at their borders, so that no sentence sees another. On a CPU, which is bound by arithmetic, a
padded word costs as much as a real one, and every further pass writes the gradient of the whole embedding
table once more: an update of 16 of GENIA's sentences with a BERT of 22 million parameters takes 0.7 of the
time of padded groups (``benchmarks/encoder_passes.py``). On a GPU, where a call costs more than its
arithmetic, attention is one call with a mask.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from transformers import AttentionInterface, AttentionMaskInterface, PretrainedConfig
from transformers.masking_utils import sdpa_mask

_NAME = "conjoin-packed"
_FIRST_POSITION = {"bert": False, "roberta": True, "xlm-roberta": True, "camembert": True}
"""Families with absolute positions whose attention is transformers' own, and whether their first position
is the one after the padding token's."""

_AT_ONCE = 2048
"""Subwords of a pass on a CPU where nothing is learned: so many have their activations in its cache."""

_NARROW = 192
"""Width below which padding costs less than attention sentence by sentence."""


def can_pack(encoder: nn.Module) -> bool:
    """Whether ``packed_states`` takes this encoder, and is the faster way on a CPU."""
    config = cast(PretrainedConfig, encoder.config)
    return config.model_type in _FIRST_POSITION and config.hidden_size >= _NARROW


def packed_states(
    encoder: nn.Module,
    sentences: Sequence[Sequence[int]],
    layers: int = 1,
    types: Sequence[Sequence[int]] | None = None,
) -> list[Tensor]:
    """The hidden states of sentences of subwords.

    Args:
        encoder: for which ``can_pack``; its kind of attention is set.
        sentences: ids of each, special tokens included; none longer than the encoder reads.
        layers: how many of the last layers' states are wanted.
        types: of the segments that subwords stand in; None: all have the first.

    Returns:
        Those layers in their order, each ``[subwords of all sentences, width]``, one sentence behind the
        other.
    """
    config = cast(PretrainedConfig, encoder.config)
    if config._attn_implementation != _NAME:
        cast(Any, encoder).set_attn_implementation(_NAME)
    if torch.is_grad_enabled() or _in_one_call(next(encoder.parameters()).device):
        return _in_one_pass(encoder, config, sentences, layers, types)
    passes = [
        _in_one_pass(encoder, config, sentences[own], layers, types and types[own])
        for own in _shares(list(map(len, sentences)))
    ]
    return [torch.cat(parts) for parts in zip(*passes, strict=True)]


def _shares(lengths: Sequence[int]) -> Iterator[slice]:
    """Sentences that are read together: as many as ``_AT_ONCE`` allows, or a longer one alone."""
    start = subwords = 0
    for place, length in enumerate(lengths):
        if place > start and subwords + length > _AT_ONCE:
            yield slice(start, place)
            start, subwords = place, 0
        subwords += length
    yield slice(start, len(lengths))


def _in_one_pass(
    encoder: nn.Module,
    config: PretrainedConfig,
    sentences: Sequence[Sequence[int]],
    layers: int,
    types: Sequence[Sequence[int]] | None,
) -> list[Tensor]:
    first = config.pad_token_id + 1 if _FIRST_POSITION[config.model_type] else 0
    lengths = [len(ids) for ids in sentences]
    device = next(encoder.parameters()).device
    ids = torch.tensor([each for sentence in sentences for each in sentence], device=device)
    places = torch.cat([torch.arange(first, first + length) for length in lengths]).to(device)
    # Made once, for all layers have the same.
    together = _in_one_call(device)
    apart: dict[str, Any] = (
        {"seen": _same_sentence(lengths, device)} if together else {"lengths": lengths}
    )
    if types is not None:
        segments = [each for sentence in types for each in sentence]
        apart["token_type_ids"] = torch.tensor(segments, device=device)[None]
    output = encoder(
        input_ids=ids[None], position_ids=places[None], attention_mask=None, **apart,
        output_hidden_states=layers > 1,
    )  # fmt: skip
    states = output.hidden_states[-layers:] if layers > 1 else [output.last_hidden_state]
    return [each[0] for each in states]


def _attention(  # noqa: PLR0917 - transformers passes by position
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    *,
    lengths: Sequence[int] | None = None,
    seen: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of each sentence by itself; with a batch of the usual form, as ever.

    Args:
        module: whose attention it is.
        query: ``[sentences, heads, subwords, size of a head]``; of packed ones the first is 1, and the third
            has the subwords of all.
        key: the same.
        value: the same.
        attention_mask: of the usual form, 0 or True for what is seen; None for packed ones.
        dropout: of its weights.
        scaling: of its scores.
        lengths: of packed sentences, a call for each; None: one call.
        seen: in one call for packed sentences, which subwords see which.

    Returns:
        ``[sentences, subwords, heads, size of a head]``, and no weights.
    """
    del module
    if lengths is None:
        found = F.scaled_dot_product_attention(
            query, key, value, attn_mask=attention_mask if seen is None else seen,
            dropout_p=dropout, scale=scaling,
        )  # fmt: skip
    else:
        parts = (torch.split(each, list(lengths), 2) for each in (query, key, value))
        found = torch.cat(
            [
                F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=scaling)
                for q, k, v in zip(*parts, strict=True)
            ],
            2,
        )
    return found.transpose(1, 2).contiguous(), None


def _in_one_call(device: torch.device) -> bool:
    """Whether attention of all sentences together, masked, is faster there than a call for each."""
    return device.type == "cuda"


def _same_sentence(lengths: Sequence[int], device: torch.device) -> Tensor:
    """``[subwords, subwords]``: whether two stand in one of packed sentences."""
    sentence = torch.arange(len(lengths), device=device).repeat_interleave(
        torch.tensor(lengths, device=device), output_size=sum(lengths)
    )
    return sentence[:, None] == sentence


AttentionInterface.register(_NAME, _attention)
AttentionMaskInterface.register(_NAME, sdpa_mask)
