"""Language models that fill masks: what they must offer, and how they are loaded."""

from dataclasses import dataclass

import torch
from tokenizers import AddedToken
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from pipeline.ground.errors import ModelError
from pipeline.mechanisms.checkpoints import load_tokenizer, load_weights
from pipeline.mechanisms.tokenizers import sentinel_ids

__all__ = ["Sentinels", "load_masked_lm", "load_seq2seq_lm", "sentinels"]


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


def load_masked_lm(
    where: str, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A masked LM in evaluation mode, and its tokenizer.

    Raises:
        ModelError: it cannot be loaded, or its tokenizer has no mask token.
    """
    tokenizer = load_tokenizer(where)
    if tokenizer.mask_token_id is None:
        raise ModelError(f"{where!r} has no mask token", remedy="BERT-like models have; use lm t5?")
    return load_weights(AutoModelForMaskedLM, where, "a masked LM", dtype).eval(), tokenizer


def load_seq2seq_lm(
    where: str, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder-decoder LM in evaluation mode, and its tokenizer.

    Raises:
        ModelError: it cannot be loaded, or its tokenizer lacks the sentinels ``<extra_id_0>`` and
            ``<extra_id_1>``.
    """
    tokenizer = load_tokenizer(where)
    sentinels(tokenizer)
    return load_weights(
        AutoModelForSeq2SeqLM, where, "an encoder-decoder LM", dtype
    ).eval(), tokenizer
