"""Encoder-decoders with sentinels, the family ``t5``: T5, Flan-T5, mT5, UMT5, UL2 and others."""

from transformers import (
    AutoModelForSeq2SeqLM,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

from pipeline.infill.base import Infiller, InfillRequest
from pipeline.infill.families.protocol import Family
from pipeline.infill.seq2seq import T5Infiller, TwinInputs
from pipeline.infill.seq2seq_ranker import T5Ranker
from pipeline.models.language_models import sentinels


class T5(Family):
    """Encoder-decoders: a sentinel stands for the fill, which the decoder writes token by token."""

    role = "an encoder-decoder LM"
    factory = AutoModelForSeq2SeqLM
    searches = True

    def takes(self, config: PretrainedConfig) -> bool:
        """Whether it is an encoder-decoder of text."""
        known = config.model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
        return known and bool(config.is_encoder_decoder)

    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """Make the sentinels special tokens, as T5's are and mT5's are not."""
        del where
        sentinels(tokenizer)

    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> T5Infiller:
        """Both twins in lockstep."""
        return T5Infiller(model, tokenizer, request)

    def ranker(self, infiller: Infiller[TwinInputs]) -> T5Ranker:
        """All options in one pass of the decoder."""
        return T5Ranker(infiller)
