"""Encoder-decoders with sentinels, the family ``t5``: T5, Flan-T5, mT5, UMT5, UL2 and others."""

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.infill.base import Infiller, InfillRequest
from pipeline.infill.families.protocol import Family
from pipeline.infill.lockstep import TwinInputs
from pipeline.infill.seq2seq import T5Infiller
from pipeline.infill.seq2seq_ranker import T5Ranker
from pipeline.models.roles import SEQ2SEQ


class T5(Family):
    """Encoder-decoders: a sentinel stands for the fill, which the decoder writes token by token."""

    role = SEQ2SEQ
    searches = True

    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> T5Infiller:
        """Both twins in lockstep."""
        return T5Infiller(model, tokenizer, request)

    def ranker(self, infiller: Infiller[TwinInputs]) -> T5Ranker:
        """All options in one pass of the decoder."""
        return T5Ranker(infiller)
