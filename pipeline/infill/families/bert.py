"""Masked LMs, the family ``bert``: BERT, RoBERTa, DeBERTa, ModernBERT and others."""

from collections.abc import Sequence

import torch
from tokenizers import AddedToken
from torch import nn
from transformers import (
    AutoModelForMaskedLM,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from pipeline.core.errors import ModelError
from pipeline.infill.base import Infiller, InfillRequest
from pipeline.infill.families.protocol import Family
from pipeline.infill.masked_lm import BertInfiller, MaskedPair
from pipeline.infill.masked_ranker import BertRanker
from pipeline.models import masked_head
from pipeline.models.language_models import logits_at, positionwise_end

_TOLERANCE = 0.1
"""Of a probability: far above what rounding does even in bf16."""


class Bert(Family):
    """Masked LMs: they have a mask token, and one pass fills as many masks as the reference has tokens."""

    role = "a masked LM"
    factory = AutoModelForMaskedLM
    searches = False

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

    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> BertInfiller:
        """One pass for each pair of twins."""
        return BertInfiller(model, tokenizer, request)

    def ranker(self, infiller: Infiller[MaskedPair]) -> BertRanker:
        """All options at the masks of one pass."""
        return BertRanker(infiller)

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
        try:
            found = logits_at(model, base, wanted, inputs, positionwise_end(base))
            alone = [model(input_ids=row[None]).logits[0] for row in rows]
            plain = torch.cat(
                [
                    each[row == tokenizer.mask_token_id]
                    for each, row in zip(alone, rows, strict=True)
                ]
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
                f"{where!r}, a {model.config.model_type}, predicts masks otherwise in a batch than "
                "alone",
                remedy="name a masked LM that ignores padding",
            )
