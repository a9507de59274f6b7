"""Masked LMs, the family ``bert``: BERT, RoBERTa, DeBERTa, ModernBERT and others."""

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.infill.base import Infiller, InfillRequest
from pipeline.infill.families.protocol import Family
from pipeline.infill.masked_lm import BertInfiller, MaskedPair
from pipeline.infill.masked_ranker import BertRanker
from pipeline.models.roles import MASKED_LM


class Bert(Family):
    """Masked LMs: one pass fills as many masks as the reference has tokens."""

    role = MASKED_LM
    searches = False

    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> BertInfiller:
        """One pass for each pair of twins."""
        return BertInfiller(model, tokenizer, request)

    def ranker(self, infiller: Infiller[MaskedPair]) -> BertRanker:
        """All options at the masks of one pass."""
        return BertRanker(infiller)
