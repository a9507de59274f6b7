"""What language models have in common that fill masks: logits at chosen positions, sentinels.

How those of a family are checked and loaded is in ``infill/families``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken
from torch import Tensor, nn
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from pipeline.core.errors import ModelError
from pipeline.models.tokenizers import sentinel_ids

_BERT_LAYERS = frozenset(
    {"bert", "camembert", "data2vec-text", "electra", "ernie", "roberta", "xlm-roberta"}
)
"""Architectures whose layers are BERT's."""


def positionwise_end(base: nn.Module) -> nn.Module | None:
    """The module of an encoder after which positions do not depend on each other; None if unknown.

    In BERT it is what follows the last layer's attention. Chosen positions taken out there instead
    of at the end save three quarters of a layer (of twelve, in BERT-base) at all others.
    """
    if getattr(getattr(base, "config", None), "model_type", None) not in _BERT_LAYERS:
        return None
    layers: Any = base.get_submodule("encoder.layer")
    last: nn.Module = layers[-1].attention.output
    return last


def logits_at(
    model: nn.Module,
    base: nn.Module,
    positions: Tensor | tuple[Tensor, Tensor],
    inputs: Mapping[str, Tensor],
    end: nn.Module | None = None,
) -> Tensor:
    """Logits of a language model at some positions, ``[positions, V]``, in their order.

    The head works position by position, and over a vocabulary it costs more than a small encoder
    does; so the hidden states it need not see are taken away before it runs.

    Args:
        model: the model, or what accelerate wrapped it in.
        base: its encoder, or the decoder if it has one, whose output has ``last_hidden_state``.
        positions: boolean ``[sequences, tokens]``, which is in row-major order, or the indices of
            sequences and tokens, each ``[positions]``.
        inputs: what the model takes, without labels.
        end: the ``positionwise_end`` of the base, whose arguments are hidden states; None: the
            other positions are dropped after the base.
    """

    def picked(hidden: Tensor) -> Tensor:
        return hidden[positions].unsqueeze(0)

    def after(_module: Any, _args: Any, output: Any) -> Any:
        output.last_hidden_state = picked(output.last_hidden_state)
        return output

    def before(_module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(map(picked, args))

    hook = end.register_forward_pre_hook(before) if end else base.register_forward_hook(after)
    try:
        logits: Tensor = model(**inputs).logits.squeeze(0)
    finally:
        hook.remove()
    return logits


@dataclass(frozen=True, slots=True)
class Sentinels:
    """``text`` is what stands for the masked span in a text, ``ids`` the sentinels in order.

    ``ids[0]`` is the token of ``text``; it also begins the fill, and ``ids[1]`` ends it.
    """

    text: str
    ids: tuple[int, ...]


def sentinels(tokenizer: PreTrainedTokenizerBase) -> Sentinels:
    """The sentinels of an encoder-decoder's tokenizer, which from now on are special tokens.

    T5 has tokens ``<extra_id_0>``; mT5 and UMT5 have pieces ``▁<extra_id_0>`` like those of any
    word, which are found only after a blank and would pass for text in a fill.

    Raises:
        ModelError: there are not two of them.
    """
    ids = sentinel_ids(tokenizer)
    if len(ids) < 2:
        raise ModelError(
            f"{tokenizer.name_or_path!r} has no sentinel tokens <extra_id_0>, <extra_id_1>",
            remedy="T5-like models have; use lm bert?",
        )
    names = [str(name) for name in tokenizer.convert_ids_to_tokens(ids)]
    plain = [name for name in names if name not in tokenizer.all_special_tokens]
    if plain:
        # The blank before a sentinel is the sentinel's, or it would be left over as a piece.
        special = [AddedToken(n, lstrip=True, normalized=False, special=True) for n in plain]
        tokenizer.add_special_tokens(
            {"extra_special_tokens": special}, replace_extra_special_tokens=False
        )
    return Sentinels(names[0], tuple(ids))


LanguageModel = tuple[PreTrainedModel, PreTrainedTokenizerBase]
"""A model, and its tokenizer."""
