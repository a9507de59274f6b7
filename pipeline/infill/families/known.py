"""The families of language models, and the one way in which a model of any of them is loaded."""

import torch
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.infill.families.bert import Bert
from pipeline.infill.families.protocol import Family
from pipeline.infill.families.t5 import T5
from pipeline.models.language_models import LanguageModel
from pipeline.models.loading import (
    check_files,
    check_vocabulary,
    lacks_weights,
    load_config,
    load_partly,
    load_tokenizer,
)

FAMILIES: dict[str, Family] = {
    "bert": Bert(),
    "t5": T5(),
}
"""Each family by the name that ``core/families.py`` has it under, in the same order.

A checkpoint is of the first one that takes it: a family stands before those that take its models, too,
as T5's takes any encoder-decoder.
"""


def family_of_checkpoint(where: str) -> str:
    """The name of the first family that a checkpoint is of.

    Raises:
        ModelError: there is no such checkpoint, or no family can use it.
    """
    config = load_config(where)
    if name := _first(config):
        return name
    raise _misfit(where, config, " or ".join(each.role for each in FAMILIES.values()))


def _first(config: PretrainedConfig) -> str | None:
    return next((name for name, each in FAMILIES.items() if each.takes(config)), None)


def _misfit(where: str, config: PretrainedConfig, role: str) -> ModelError:
    other = _first(config)
    return ModelError(
        f"{where!r} is a {config.model_type}, not {role}",
        remedy=f"use lm {other}?" if other else f"name {role}",
    )


def check_language_model(lm: str, where: str) -> PreTrainedTokenizerBase:
    """The checkpoint's tokenizer; refuses a checkpoint that cannot fill before its weights are read.

    Args:
        lm: the family.
        where: what to hand to ``from_pretrained``.

    Raises:
        ModelError: configuration, architecture, files or tokenizer are not what the family needs.
    """
    family, config = FAMILIES[lm], load_config(where)
    if not family.takes(config):
        raise _misfit(where, config, family.role)
    check_files(where)
    tokenizer = load_tokenizer(where)
    family.prepare_tokenizer(where, tokenizer)
    return tokenizer


def load_language_model(lm: str, where: str, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """A language model in evaluation mode, and its tokenizer.

    Args:
        lm: the family.
        where: what to hand to ``from_pretrained``.
        dtype: number format of the weights.

    Raises:
        ModelError: it cannot be loaded, or is not what the family needs: a masked LM has a head, and
            its tokenizer a mask token, an encoder-decoder's the sentinels ``<extra_id_0>`` and
            ``<extra_id_1>``.
    """
    model, tokenizer, headless = _loaded(lm, where, dtype)
    if headless:
        raise FAMILIES[lm].no_head(model, where)
    FAMILIES[lm].check_working(where, model, tokenizer)
    return model, tokenizer


def load_base(lm: str, where: str) -> tuple[LanguageModel, bool]:
    """A language model to continue, in fp32; a BERT without a head is given one that is to be learnt.

    Returns:
        The model and its tokenizer, and whether the head is new: ``set_frequencies`` begins its bias.

    Raises:
        ModelError: as ``load_language_model``, or an architecture other than BERT's has no head.
    """
    model, tokenizer, headless = _loaded(lm, where, torch.float32)
    if headless:
        FAMILIES[lm].begin_head(model, tokenizer, where)
    FAMILIES[lm].check_working(where, model, tokenizer)
    return (model, tokenizer), headless


def _loaded(
    lm: str, where: str, dtype: torch.dtype
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """A model with its body whole, its tokenizer, and whether it lacks all of its head."""
    family, tokenizer = FAMILIES[lm], check_language_model(lm, where)
    model, missing = load_partly(family.factory, where, family.role, dtype)
    headless = bool(missing) and family.lacks_head(model, missing)
    if missing and not headless:
        raise lacks_weights(where, family.role, missing)
    check_vocabulary(where, model, tokenizer)
    return model, tokenizer, headless
