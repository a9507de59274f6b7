"""Language models that fill masks: what they must have, how they are loaded, logits at positions.

``logits_at`` runs the output layer at chosen positions only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import AddedToken
from torch import Tensor, nn
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from pipeline.core.console import say
from pipeline.core.errors import ModelError
from pipeline.core.settings import Family
from pipeline.models.loading import (
    check_files,
    check_vocabulary,
    lacks_weights,
    load_config,
    load_partly,
    load_tokenizer,
)
from pipeline.models.masked_head import begin_head, lacks_head, no_head
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


_SEQ2SEQ = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
_TOLERANCE = 0.1
"""Of a probability: far above what rounding does even in bf16."""
_ROLES = {"bert": "a masked LM", "t5": "an encoder-decoder LM"}


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


def check_language_model(lm: Family, where: str) -> PreTrainedTokenizerBase:
    """The checkpoint's tokenizer; refuses a checkpoint that cannot fill before its weights are read.

    Args:
        lm: the family: masked LM, or encoder-decoder with sentinels.
        where: what to hand to ``from_pretrained``.

    Raises:
        ModelError: configuration, architecture, files or tokenizer are not what the family needs.
    """
    config = load_config(where)
    kind, both = config.model_type, bool(config.is_encoder_decoder)
    known = MODEL_FOR_MASKED_LM_MAPPING_NAMES if lm == "bert" else _SEQ2SEQ
    if kind not in known or both is (lm == "bert"):
        other = "use lm t5?" if both else "use lm bert?"
        fits = kind in (MODEL_FOR_MASKED_LM_MAPPING_NAMES if lm == "t5" else _SEQ2SEQ)
        raise ModelError(
            f"{where!r} is a {kind}, not {_ROLES[lm]}",
            remedy=other if fits else f"name {_ROLES[lm]}",
        )
    check_files(where)
    tokenizer = load_tokenizer(where)
    if lm == "t5":
        sentinels(tokenizer)
    else:
        _lay_masks_side_by_side(where, tokenizer)
    return tokenizer


def _lay_masks_side_by_side(where: str, tokenizer: PreTrainedTokenizerBase) -> None:
    """Make a mask include the blank before it, as the token of a word does in byte-level BPE."""
    mask = tokenizer.mask_token
    if mask is None:
        raise ModelError(
            f"{where!r} has no mask token", remedy="name a masked LM with its own tokenizer"
        )

    def apart() -> bool:
        found = tokenizer(f"{mask} {mask}", add_special_tokens=False)["input_ids"]
        return list(found) != [tokenizer.mask_token_id] * 2

    if apart():  # byte-level BPE would leave the blank over as a token
        swallowing = AddedToken(str(mask), lstrip=True, normalized=False, special=True)
        tokenizer.add_special_tokens({"mask_token": swallowing})
    if apart():
        raise ModelError(
            f"the tokenizer of {where!r} does not find its mask token {mask!r} in a text",
            remedy="name a masked LM with its own tokenizer",
        )


LanguageModel = tuple[PreTrainedModel, PreTrainedTokenizerBase]
"""A model, and its tokenizer."""


def load_language_model(
    lm: Family, where: str, dtype: torch.dtype = torch.float32
) -> LanguageModel:
    """A language model in evaluation mode, and its tokenizer.

    Raises:
        ModelError: it cannot be loaded, or is not what the family needs: a masked LM has a head, and
            its tokenizer a mask token, an encoder-decoder's the sentinels ``<extra_id_0>`` and
            ``<extra_id_1>``.
    """
    model, tokenizer, headless = _loaded(lm, where, dtype)
    if headless:
        raise no_head(model, where)
    _check_working(lm, where, model, tokenizer)
    return model, tokenizer


def load_base(lm: Family, where: str) -> tuple[LanguageModel, bool]:
    """A language model to continue, in fp32; a BERT without a head is given one that is to be learnt.

    Returns:
        The model and its tokenizer, and whether the head is new: ``set_frequencies`` begins its bias.

    Raises:
        ModelError: as ``load_language_model``, or an architecture other than BERT's has no head.
    """
    model, tokenizer, headless = _loaded(lm, where, torch.float32)
    if headless:
        begin_head(model, tokenizer, where)
    _check_working(lm, where, model, tokenizer)
    return (model, tokenizer), headless


def _loaded(
    lm: Family, where: str, dtype: torch.dtype
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """A model with its body whole, its tokenizer, and whether it lacks all of a masked LM's head."""
    tokenizer = check_language_model(lm, where)
    factory = AutoModelForMaskedLM if lm == "bert" else AutoModelForSeq2SeqLM
    model, missing = load_partly(factory, where, _ROLES[lm], dtype)
    headless = lm == "bert" and lacks_head(model, missing)
    if missing and not headless:
        raise lacks_weights(where, _ROLES[lm], missing)
    check_vocabulary(where, model, tokenizer)
    return model, tokenizer, headless


def _check_working(
    lm: Family, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    if lm == "bert":
        _check_positions(where, model, tokenizer)


@torch.inference_mode()
def _check_positions(
    where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    """Check on two texts that logits at the masks of a padded batch equal those of each text alone.

    Nearly all masked LMs pass; where padding is not ignored (FNet), or the output layer looks at
    several positions, fills would depend on what else is in the batch.

    Raises:
        ModelError: the model cannot be run so, or its probabilities differ.
    """
    mask = tokenizer.mask_token
    texts = f"a {mask}", f"a {mask} a a {mask} a"
    rows = [torch.tensor(tokenizer(text)["input_ids"]) for text in texts]
    ids = nn.utils.rnn.pad_sequence(rows, True, tokenizer.pad_token_id or 0)
    lengths = torch.tensor([[len(row)] for row in rows])
    inputs = {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths).long()}
    wanted = ids == tokenizer.mask_token_id
    base = model.base_model
    try:
        found = logits_at(model, base, wanted, inputs, positionwise_end(base))
        alone = [model(input_ids=row[None]).logits[0] for row in rows]
        plain = torch.cat(
            [each[row == tokenizer.mask_token_id] for each, row in zip(alone, rows, strict=True)]
        )
        # What is compared are probabilities: logits have no scale of their own.
        off = float((found.float().softmax(-1) - plain.float().softmax(-1)).abs().max())
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:160]
        raise ModelError(
            f"{where!r}, a {model.config.model_type}, does not work as a masked LM: {reason}",
            remedy="name another masked LM",
        ) from error
    if off > _TOLERANCE:
        raise ModelError(
            f"{where!r}, a {model.config.model_type}, predicts masks otherwise in a batch than alone",
            remedy="name a masked LM that ignores padding",
        )


def warn_of_slow_bf16(dtype: torch.dtype, device: torch.device) -> None:
    """Say so where bf16 will be slow: it works everywhere, but only some processors have it."""
    if dtype != torch.bfloat16:
        return
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        able = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    if not able:
        say(f"bfloat16 will be slow: this {device.type} has no instructions for it; use float32?")
