"""The families of language models, and the one way in which a model of any of them is loaded."""

import torch
from transformers import PretrainedConfig, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.infill.families.bert import Bert
from pipeline.infill.families.causal import Causal
from pipeline.infill.families.protocol import Family
from pipeline.infill.families.t5 import T5
from pipeline.models.language_models import LanguageModel
from pipeline.models.loading import load_config
from pipeline.models.roles import check_role, load_role, misfit

FAMILIES: dict[str, Family] = {
    "bert": Bert(),
    "t5": T5(),
    "causal": Causal(),
}
"""Each family by the name that ``core/families.py`` has it under, in the same order.

A checkpoint is of the first one whose role it can have: a family stands before those that take its models,
too, as T5's takes any encoder-decoder.
"""


def family_of_checkpoint(where: str) -> str:
    """The name of the first family that a checkpoint is of.

    Raises:
        ModelError: there is no such checkpoint, or no family can use it.
    """
    config = load_config(where)
    if name := _first(config):
        return name
    names = " or ".join(each.role.name for each in FAMILIES.values())
    raise ModelError(f"{where!r} is a {config.model_type}, not {names}", remedy=f"name {names}")


def _first(config: PretrainedConfig) -> str | None:
    return next((name for name, each in FAMILIES.items() if each.role.takes(config)), None)


def _require_of(lm: str, where: str) -> None:
    """Refuse a checkpoint of another family, which the message names.

    Raises:
        ModelError: it is one.
    """
    role, config = FAMILIES[lm].role, load_config(where)
    if not role.takes(config):
        other = _first(config)
        raise misfit(where, config, role, f"use lm {other}?" if other else "")


def check_language_model(lm: str, where: str) -> PreTrainedTokenizerBase:
    """The checkpoint's tokenizer; refuses a checkpoint that cannot fill before its weights are read.

    Args:
        lm: the family.
        where: what to hand to ``from_pretrained``.

    Raises:
        ModelError: configuration, architecture, files, weights or tokenizer are not what the family needs.
    """
    _require_of(lm, where)
    return check_role(FAMILIES[lm].role, where)[0]


def check_ready(lm: str, where: str) -> bool:
    """As ``check_language_model``, of one that may be a masked LM's encoder alone, as a predictor needs.

    Returns:
        Whether it is: without a head, it fills nothing.
    """
    _require_of(lm, where)
    return check_role(FAMILIES[lm].role, where, headless=True)[1]


def load_language_model(lm: str, where: str, dtype: torch.dtype = torch.float32) -> LanguageModel:
    """A language model in evaluation mode, and its tokenizer.

    Args:
        lm: the family.
        where: what to hand to ``from_pretrained``.
        dtype: number format of the weights.

    Raises:
        ModelError: it cannot be loaded, or is not what the family needs: a masked LM has a head, and
            its tokenizer a mask token, an encoder-decoder's the sentinels ``<extra_id_0>`` and
            ``<extra_id_1>``; a causal LM goes on from a cache as it reads.
    """
    _require_of(lm, where)
    model, tokenizer, _ = load_role(FAMILIES[lm].role, where, dtype)
    return model, tokenizer


def load_base(lm: str, where: str) -> tuple[LanguageModel, bool]:
    """A language model to continue, in fp32; a BERT without a head is given one that is to be learnt.

    Returns:
        The model and its tokenizer, and whether the head is new: ``set_frequencies`` begins its bias.

    Raises:
        ModelError: as ``load_language_model``, or an architecture other than BERT's has no head.
    """
    _require_of(lm, where)
    model, tokenizer, new = load_role(FAMILIES[lm].role, where, headless=True)
    return (model, tokenizer), new
