"""What padding may change: nothing that a language model says, be it in a batch or from a cache."""

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from pipeline.models.causal import positions_of
from pipeline.models.loading import length_limit
from pipeline.models.tokenizers import token_batch

_TOLERANCE = 0.1
"""Of a probability, or share of the greatest state: far above what rounding does even in bf16."""

_TOLERANCE_FULL = 1e-3
"""The same in float32."""

_GAP = 64
"""Tokens of padding before a text, or between what it begins with and the rest."""


def tolerance(dtype: torch.dtype) -> float:
    """What rounding in this number format stays below, of a probability or of the greatest state."""
    return _TOLERANCE_FULL if dtype == torch.float32 else _TOLERANCE


def ordinary_tokens(tokenizer: PreTrainedTokenizerBase, count: int) -> list[int]:
    """The first tokens of a vocabulary that are not special."""
    special = set(tokenizer.all_special_ids)
    return [i for i in sorted(tokenizer.get_vocab().values()) if i not in special][:count]


def alike(found: Tensor, plain: Tensor, dtype: torch.dtype) -> bool:
    """Whether logits ``[..., V]`` of two ways to the same tokens give them the same probabilities.

    What is compared are probabilities: logits have no scale of their own. Those that are no numbers pass,
    for fills are refused for them.
    """
    off = (found.float().softmax(-1) - plain.float().softmax(-1)).abs().max()
    return not float(off) > tolerance(dtype)


@torch.inference_mode()
def goes_on_as_alone(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    behind: bool = False,
    steps: int = 1,
) -> bool:
    """Whether a causal LM, from a cache, goes on with a padded text as it does with the text alone.

    Args:
        model: the model.
        tokenizer: its own.
        behind: whether what texts begin alike with is read first, once for all, so that padding stands behind
            it. Models whose state is a sum over all that was read (Qwen 3.5) take that padding for text, and
            some (MPT) count places of the cache instead of positions.
        steps: tokens that it then reads at once. Some (Jamba) go on right with one alone.

    Raises:
        Exception: of any kind: the model cannot be run so.
    """
    some = ordinary_tokens(tokenizer, 6)
    shared, short, last = some[2:4], some[:2], some[-1:] * steps
    most = length_limit(model.config, tokenizer) - len(shared) - steps
    long = (some[1:5] * _GAP)[: min(len(short) + _GAP, most)]
    first = len(shared) if behind else 0
    rows = [short, long] if behind else [[*shared, *short], [*shared, *long]]
    device = model.device
    ids, own = token_batch(rows, 0, device, left=True)
    mask = torch.cat([own.new_ones(2, first), own], -1)
    cache = None
    if behind:
        cache = model(
            input_ids=torch.tensor([shared], device=device), use_cache=True
        ).past_key_values
        cache.reorder_cache(torch.zeros(2, dtype=torch.long, device=device))
    cache = model(
        input_ids=ids, attention_mask=mask, position_ids=positions_of(mask)[:, first:],
        past_key_values=cache, use_cache=True,
    ).past_key_values  # fmt: skip
    cache.reorder_cache(torch.zeros(1, dtype=torch.long, device=device))
    found = model(
        input_ids=torch.tensor([last], device=device),
        attention_mask=torch.cat([mask[:1], mask.new_ones(1, steps)], -1),
        position_ids=mask[:1].sum(-1, keepdim=True) + torch.arange(steps, device=device),
        past_key_values=cache, use_cache=True,
    ).logits[0, -1]  # fmt: skip
    plain = model(input_ids=torch.tensor([[*shared, *short, *last]], device=device)).logits[0, -1]
    return alike(found, plain, model.dtype)


@torch.inference_mode()
def begins_as_alone(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether an encoder-decoder, given what its encoder made of a padded text, begins as for the text alone.

    Raises:
        Exception: of any kind: the model cannot be run so.
    """
    some = ordinary_tokens(tokenizer, 6)
    short, long = some[:3], some * _GAP
    ids, mask = token_batch([short, long[: min(_GAP, length_limit(model.config, tokenizer))]], 0)
    begun = torch.tensor([[int(model.config.decoder_start_token_id)]])
    states = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
    found = model(
        encoder_outputs=BaseModelOutput(last_hidden_state=states), attention_mask=mask,
        decoder_input_ids=begun.expand(2, -1), use_cache=True,
    ).logits[0, -1]  # fmt: skip
    plain = model(input_ids=torch.tensor([short]), decoder_input_ids=begun).logits[0, -1]
    return alike(found, plain, model.dtype)
