"""The head of a masked LM for an encoder that was pretrained without one, such as one of sentence vectors.

The head begins where it says little but how frequent tokens are, and lets the encoder's states through: the
output layer is the table of embeddings, its bias the log-frequencies of the text, the transform is the
identity, GELU and a layer norm, whose weight is the scale of the scores. A head alone on a frozen encoder
does not learn; both are trained together, the encoder more slowly (``pretrain``).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import BertForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError

_UNSEEN = 0.1  # count of a token that the text does not have


def lacks_head(model: PreTrainedModel, missing: Sequence[str]) -> bool:
    """Whether a checkpoint has all of a masked LM but its head.

    Args:
        model: made of the checkpoint.
        missing: names of the weights that the checkpoint lacks.
    """
    if not missing:
        return False
    body = f"{model.base_model_prefix}."
    lacking = set(missing)
    tied = {name for name, weight in _named(model) if weight is _embeddings(model)}
    head = {name for name, _ in _named(model) if not name.startswith(body)} - tied
    return bool(head) and lacking - tied == head


def _named(model: PreTrainedModel) -> list[tuple[str, Tensor]]:
    return list(model.named_parameters(remove_duplicate=False))


def _embeddings(model: PreTrainedModel) -> Tensor:
    table: Any = model.get_input_embeddings()
    weight: Tensor = table.weight
    return weight


def no_head(model: PreTrainedModel, where: str) -> ModelError:
    """The refusal of a checkpoint without a head where it is to be used as it is."""
    if isinstance(model, BertForMaskedLM):
        remedy = f"give it one: `conjoin pretrain CORPUS --lm bert --base {where}`"
    else:
        remedy = (
            "name a checkpoint that was trained as a masked LM; only a BERT can be given a head"
        )
    kind = model.config.model_type
    return ModelError(
        f"{where!r}, a {kind}, is an encoder without the head of a masked LM", remedy=remedy
    )


def begin_head(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, where: str) -> None:
    """Set the head of a model that has just an encoder's weights to where its training begins.

    The mask token gets the mean embedding, which moves no state far: nothing has trained its own.

    Args:
        model: a BERT whose head is random.
        tokenizer: with a mask token.
        where: it was loaded from, for the error.

    Raises:
        ModelError: it is no BERT.
    """
    if not isinstance(model, BertForMaskedLM):
        raise no_head(model, where)
    model.config.tie_word_embeddings = True
    model.tie_weights()
    head: Any = model.cls.predictions
    table = _embeddings(model)
    special = torch.zeros(len(table), dtype=torch.bool)
    special[[i for i in tokenizer.all_special_ids if i < len(table)]] = True
    with torch.no_grad():
        head.transform.dense.weight.copy_(torch.eye(table.shape[1]))
        head.transform.dense.bias.zero_()
        head.transform.LayerNorm.weight.fill_(1.0)
        head.transform.LayerNorm.bias.zero_()
        head.bias.zero_()
        table[tokenizer.mask_token_id] = table[~special].mean(0)


def set_frequencies(model: PreTrainedModel, counts: Tensor) -> float:
    """Begin the bias of a new head at the log-frequencies of tokens.

    Args:
        model: that ``begin_head`` was given.
        counts: of each token in the text ``[V]``; not all are 0.

    Returns:
        What a model loses that knows these frequencies alone, in nats a token of the text.
    """
    head: Any = model.get_submodule("cls.predictions")
    shares = (counts.double() + _UNSEEN) / (counts.sum() + _UNSEEN * len(counts))
    with torch.no_grad():
        head.bias.copy_(shares.log())
    return float(-(counts.double() / counts.sum() * shares.log()).sum())
