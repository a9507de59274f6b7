"""Causal LMs, the family ``causal``: Llama, Qwen, Gemma, SmolLM, GPT-2 and whatever else continues a text."""

from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.infill.base import Infiller, InfillRequest
from pipeline.infill.causal import CausalInfiller, PromptedTwins
from pipeline.infill.causal_ranker import CausalRanker
from pipeline.infill.families.protocol import Family
from pipeline.infill.prompts import prompts_digest
from pipeline.models.causal import middle_tokens
from pipeline.models.roles import CAUSAL_LM
from pipeline.models.writers.rendering import chats


class Causal(Family):
    """Causal LMs: two prompts, one a twin, whose answers are written in lockstep."""

    role = CAUSAL_LM
    searches = True

    def check_request(self, tokenizer: PreTrainedTokenizerBase, request: InfillRequest) -> None:
        """Refuse a form of prompt that the model has no tokens for.

        Raises:
            ModelError: it has no chat template, or no tokens of fill-in-the-middle.
        """
        name = tokenizer.name_or_path
        if request.prompt == "chat" and not chats(tokenizer):
            raise ModelError(
                f"{name!r} has no chat template", remedy="add --prompt plain, as for base models"
            )
        if request.prompt == "fim" and middle_tokens(tokenizer) is None:
            raise ModelError(
                f"{name!r} has no tokens of fill-in-the-middle", remedy="choose another --prompt"
            )

    def facts(self) -> dict[str, Any]:
        """What the prompts are made of, and the rules of what ends a fill and what there is room for."""
        return {"prompts": prompts_digest(), "ends": 2, "room": 2}  # raised when a rule changes

    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> CausalInfiller:
        """Both answers in lockstep."""
        return CausalInfiller(model, tokenizer, request)

    def ranker(self, infiller: Infiller[PromptedTwins]) -> CausalRanker:
        """The rest of the sentence after each option.

        Raises:
            ModelError: as ``CausalRanker``.
        """
        return CausalRanker(infiller)
