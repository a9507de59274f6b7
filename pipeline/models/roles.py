"""What a model can be here, and the one check of a checkpoint for it.

Every option that takes a model has it checked for a role before any work: ``check_role`` looks at
configuration, files, names and shapes of the weights and at the tokenizer; ``load_role`` does so as it loads,
and tries the model on a few tokens. Another role is a class here, and its line below them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch
from tokenizers import AddedToken
from torch import nn
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from pipeline.core.errors import ModelError
from pipeline.models import masked_head
from pipeline.models.language_models import (
    LanguageModel,
    logits_at,
    positionwise_end,
    sentinels,
)
from pipeline.models.loading import (
    check_files,
    check_predictor,
    check_vocabulary,
    is_predictor,
    lacks_weights,
    load_config,
    load_partly,
    load_tokenizer,
)
from pipeline.models.padding import (
    alike,
    begins_as_alone,
    goes_on_as_alone,
    ordinary_tokens,
    tolerance,
)
from pipeline.models.tokenizers import cut_as_in_text, cuts_as_in_text

_ROUNDING = 1e-6
"""Of a hidden state, which a word on the right changes by far more than this where it is seen at all."""


class Role(ABC):
    """A role: which checkpoints can have it, and what they must have.

    Class attributes:
        name: what a model of it is, for messages: ``a masked LM``.
        factory: the library's auto class that loads one.
        spared: beginning of the names of weights that may be missing; "": none.
        both_sides: whether a token must see those on either side of it.
        any_words: whether it is given the words of any text, which may be written like special tokens.
        predictors: whether the encoder of a predictor can have it.
    """

    name: ClassVar[str]
    factory: ClassVar[Any]
    spared: ClassVar[str] = ""
    both_sides: ClassVar[bool] = False
    any_words: ClassVar[bool] = False
    predictors: ClassVar[bool] = False

    @abstractmethod
    def takes(self, config: PretrainedConfig) -> bool:
        """Whether a checkpoint is of an architecture that can have the role."""

    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """Check a tokenizer, and make it read what it will be given.

        Args:
            where: it was loaded from, for the message.
            tokenizer: it is changed where it must be.

        Raises:
            ModelError: it lacks what the role needs.
        """
        del where, tokenizer

    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        """Check of a loaded model what its configuration does not say.

        Raises:
            ModelError: it cannot be run in the role.
        """
        del where, model, tokenizer

    def lacks_head(self, model: PreTrainedModel, missing: Sequence[str]) -> bool:
        """Whether a checkpoint has all but a head that training can give it.

        Args:
            model: made of the checkpoint.
            missing: names of the weights that the checkpoint lacks.
        """
        del model, missing
        return False

    def no_head(self, model: PreTrainedModel, where: str) -> ModelError:
        """The refusal of a checkpoint that ``lacks_head`` where it is to be used as it is."""
        del model
        return lacks_weights(where, self.name, ["the head"])

    def begin_head(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, where: str
    ) -> None:
        """Set the head of a model that ``lacks_head`` to where its training begins.

        Raises:
            ModelError: no head can be learnt for this architecture.
        """
        del tokenizer
        raise self.no_head(model, where)


class MaskedLM(Role):
    """It has a mask token, and one pass says what stands at as many masks as there are."""

    name = "a masked LM"
    factory = AutoModelForMaskedLM
    both_sides = True

    def takes(self, config: PretrainedConfig) -> bool:
        """Whether it is a masked LM and no encoder-decoder, as BART is, too."""
        return (
            config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not config.is_encoder_decoder
        )

    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
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

    def lacks_head(self, model: PreTrainedModel, missing: Sequence[str]) -> bool:
        """Whether it is an encoder alone, such as one of sentence vectors."""
        return masked_head.lacks_head(model, missing)

    def no_head(self, model: PreTrainedModel, where: str) -> ModelError:
        """The refusal of an encoder alone; a BERT could be given a head."""
        return masked_head.no_head(model, where)

    def begin_head(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, where: str
    ) -> None:
        """Give a BERT a head that is to be learnt."""
        masked_head.begin_head(model, tokenizer, where)

    @torch.inference_mode()
    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
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
        inputs = {
            "input_ids": ids,
            "attention_mask": (torch.arange(ids.shape[1]) < lengths).long(),
        }
        wanted = ids == tokenizer.mask_token_id
        base = model.base_model
        with _working(where, model, self):
            found = logits_at(model, base, wanted, inputs, positionwise_end(base))
            alone = [model(input_ids=row[None]).logits[0] for row in rows]
            plain = torch.cat(
                [
                    each[row == tokenizer.mask_token_id]
                    for each, row in zip(alone, rows, strict=True)
                ]
            )
        if not alike(found, plain, model.dtype):
            raise ModelError(
                f"{where!r}, a {model.config.model_type}, predicts masks otherwise in a batch than "
                "alone",
                remedy="name a masked LM that ignores padding",
            )


class EncoderDecoder(Role):
    """A sentinel stands for what its decoder writes token by token."""

    name = "an encoder-decoder LM"
    factory = AutoModelForSeq2SeqLM

    def takes(self, config: PretrainedConfig) -> bool:
        """Whether it is an encoder-decoder of text."""
        known = config.model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
        return known and bool(config.is_encoder_decoder)

    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """Make the sentinels special tokens, as T5's are and mT5's are not."""
        del where
        sentinels(tokenizer)

    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        """Check that what is written for a padded text is what is written for it alone.

        Raises:
            ModelError: the model cannot be run so, as mixtures that ask for an encoder's routes (Switch), or
                its probabilities differ.
        """
        with _working(where, model, self):
            as_alone = begins_as_alone(model, tokenizer)
        if not as_alone:
            raise ModelError(
                f"{where!r}, a {model.config.model_type}, reads a text otherwise in a batch than alone",
                remedy="name an encoder-decoder that ignores padding, such as a T5",
            )


class CausalLM(Role):
    """It continues a text, and sees nothing to the right of what it writes."""

    name = "a causal LM"
    factory = AutoModelForCausalLM

    def takes(self, config: PretrainedConfig) -> bool:
        """Whether it is a decoder alone; a BERT made into one is still taken for a masked LM, and refused."""
        kind = config.model_type
        known = kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and not config.is_encoder_decoder
        return known and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES

    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        """Check that a padded text is gone on with, from a cache, as it is alone.

        So prompts are read; otherwise fills would depend on the batch.

        Raises:
            ModelError: the model cannot be run so, as those without such a cache (RWKV), or its probabilities
                differ.
        """
        with _working(where, model, self):
            as_alone = goes_on_as_alone(model, tokenizer)
        if not as_alone:
            raise ModelError(
                f"{where!r}, a {model.config.model_type}, goes on from a cache otherwise than alone",
                remedy="name a causal LM that ignores padding",
            )


class Encoder(Role):
    """A bare Transformer whose words see those on both sides: what predictors and parsers read."""

    name = "an encoder"
    factory = AutoModel
    spared = "pooler."
    both_sides = True
    any_words = True

    def takes(self, config: PretrainedConfig) -> bool:
        """Whether it has no decoder beside the encoder."""
        return not config.is_encoder_decoder

    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """Make it cut words that are given one by one as it cuts them in running text."""
        del where
        cut_as_in_text(tokenizer)

    @torch.inference_mode()
    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        """Check that the last token of a text makes a difference to the state of its first, and padding none.

        Where padding is not ignored (FNet, ConvBERT), a predictor's probabilities would depend on what else
        is in the batch.

        Raises:
            ModelError: the token makes none, or padding makes one, or the model cannot be run so.
        """
        one, other = ordinary_tokens(tokenizer, 2)
        texts = [torch.tensor([[one, one, last]]) for last in (one, other)]
        # Some architectures draw numbers, which those of a new head are not to depend on.
        with _working(where, model, self), torch.random.fork_rng(devices=[]):
            seen = [
                model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
                for ids in texts
            ]
            if seen[0].shape != (1, 3, model.config.hidden_size):
                raise ValueError(f"states of shape {tuple(seen[0].shape)}")
            apart = float((seen[0][0, 0] - seen[1][0, 0]).abs().max())
            alone = seen[0][0].float()
            padded = torch.full((1, 6), tokenizer.pad_token_id or 0)
            padded[:, :3] = texts[0]
            mask = torch.tensor([[1, 1, 1, 0, 0, 0]])
            found = model(input_ids=padded, attention_mask=mask).last_hidden_state[0, :3].float()
            off = float((found - alone).abs().max() / alone.abs().max().clamp_min(_ROUNDING))
        if apart <= _ROUNDING:
            raise _one_sided(where, model.config, self)
        if off > tolerance(model.dtype):
            raise ModelError(
                f"{where!r}, a {model.config.model_type}, reads a text otherwise in a batch than alone",
                remedy="name an encoder that ignores padding, such as a BERT or RoBERTa",
            )


class FirstEncoder(Encoder):
    """What a predictor begins with: an encoder, which may be another predictor's."""

    predictors = True


class KeptEncoder(Encoder):
    """An encoder beside what learned with it: it reads as it did then, whatever is asked of others now."""

    both_sides = False
    any_words = False

    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """It is as it was saved."""

    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        """It did."""


MASKED_LM = MaskedLM()
SEQ2SEQ = EncoderDecoder()
CAUSAL_LM = CausalLM()
ENCODER = Encoder()
FIRST_ENCODER = FirstEncoder()
KEPT_ENCODER = KeptEncoder()


def misfit(where: str, config: PretrainedConfig, role: Role, remedy: str = "") -> ModelError:
    """The refusal of a checkpoint of an architecture that cannot have a role."""
    return ModelError(
        f"{where!r} is a {config.model_type}, not {role.name}",
        remedy=remedy or f"name {role.name}",
    )


def check_role(
    role: Role, where: str, *, headless: bool = False
) -> tuple[PreTrainedTokenizerBase, bool]:
    """Refuse a checkpoint that cannot have a role, before its weights are read.

    Args:
        role: what it is to be.
        where: what to hand to ``from_pretrained``.
        headless: whether one is taken, too, that lacks a head which training can give it.

    Returns:
        Its tokenizer, and whether it lacks that head.

    Raises:
        ModelError: configuration, files, weights or tokenizer are not what the role needs.
    """
    return _checked(role, where, torch.float32, weights=False, headless=headless)[1:]


def load_role(
    role: Role, where: str, dtype: torch.dtype = torch.float32, *, headless: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """A model in a role, in evaluation mode, and its tokenizer.

    Args:
        role: what it is to be.
        where: what to hand to ``from_pretrained``.
        dtype: number format of the weights.
        headless: whether one is taken, too, that lacks a head which training can give it.

    Returns:
        The model, its tokenizer, and whether it was given a new head.

    Raises:
        ModelError: as ``check_role``, or weights that are no numbers, or a model that does not work so.
    """
    model, tokenizer, lacking = _checked(role, where, dtype, weights=True, headless=headless)
    if lacking:
        role.begin_head(model, tokenizer, where)
    role.check_working(where, model, tokenizer)
    return model, tokenizer, lacking


def load_encoder(
    where: str, role: Encoder = ENCODER, *, dropout: float | None = None
) -> LanguageModel:
    """A bare Transformer encoder in fp32, for a predictor or parser, and its tokenizer.

    Args:
        where: what to hand to ``from_pretrained``.
        role: what it is to be.
        dropout: in the encoder, wherever it has any; None keeps what it was pretrained with.

    Raises:
        ModelError: as ``load_role``.
    """
    model, tokenizer, _ = load_role(role, where)
    if dropout is not None:
        set_dropout(model, dropout)
    return model, tokenizer


def set_dropout(model: nn.Module, rate: float) -> None:
    """Give a model another dropout: in its layers, and where a module has the rate (XLM, Longformer)."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name, value in list(vars(module).items()):
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, rate)


def words_fact(where: str, **given: Any) -> dict[str, str]:
    """For a fingerprint: how an encoder's words are cut, where an earlier version cut them otherwise.

    Args:
        where: the encoder.
        given: what that version gave the tokenizer.
    """
    return {} if cuts_as_in_text(load_tokenizer(where, **given)) else {"words": "as in text"}


def _checked(
    role: Role, where: str, dtype: torch.dtype, *, weights: bool, headless: bool
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """A model, its tokenizer, and whether it lacks the head that it can be given."""
    config = load_config(where)
    if not role.takes(config):
        raise misfit(where, config, role)
    if role.both_sides and getattr(config, "is_decoder", False):
        raise _one_sided(where, config, role)
    check_files(where)
    if role.predictors and is_predictor(where):
        check_predictor(Path(where))
    tokenizer = load_tokenizer(where)
    role.prepare_tokenizer(where, tokenizer)
    model, missing = load_partly(
        role.factory, where, role.name, dtype, weights=weights, predictors=role.predictors
    )
    lacking = role.lacks_head(model, missing)
    if lacking and not headless:
        raise role.no_head(model, where)
    needed = [name for name in missing if not (role.spared and name.startswith(role.spared))]
    if needed and not lacking:
        raise lacks_weights(where, role.name, needed)
    check_vocabulary(where, model, tokenizer, special=role.any_words)
    return model, tokenizer, lacking


def _one_sided(where: str, config: PretrainedConfig, role: Role) -> ModelError:
    return ModelError(
        f"{where!r}, a {config.model_type}, is a decoder, whose words see those on their left alone, not "
        f"{role.name}",
        remedy="name a model that reads both ways, such as a BERT or RoBERTa",
    )


@contextmanager
def _working(where: str, model: PreTrainedModel, role: Role) -> Iterator[None]:
    """Say in one line that a model cannot be run in its role.

    Raises:
        ModelError: it cannot.
    """
    try:
        yield
    except (
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split())[:160]
        raise ModelError(
            f"{where!r}, a {model.config.model_type}, does not work as {role.name}: {reason}",
            remedy=f"name another, {role.name}",
        ) from error
