"""How the models of each family are trained: tokenizer, new model, and what is hidden of a text.

Another family that can be trained is a recipe here, a line in ``RECIPES``, and ``pretraining`` in its entry
in ``core/families.py``; without that, ``pretrain`` says that it can only name a ready model.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.models.language_models import LanguageModel
from pipeline.models.tokenizers import train_unigram, train_wordpiece
from pipeline.pretrain.batches import CorruptedSentence, MaskedPairs, Objective
from pipeline.pretrain.corruption import Spans
from pipeline.pretrain.new_model import new_bert, new_t5
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.twin_objective import TwinMasks, TwinSpans


class Recipe(ABC):
    """How models of a family are trained."""

    @abstractmethod
    def train_tokenizer(
        self, texts: Sequence[str], vocab_size: int, max_length: int
    ) -> PreTrainedTokenizerBase:
        """A tokenizer whose vocabulary is learnt from ``texts``.

        Args:
            texts: natural text, one sentence each.
            vocab_size: tokens in all.
            max_length: the most tokens the model takes.
        """

    @abstractmethod
    def new_model(
        self, settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase
    ) -> PreTrainedModel:
        """A model with random weights from torch's global generator."""

    @abstractmethod
    def of_text(
        self,
        settings: PretrainSettings,
        tokenizer: PreTrainedTokenizerBase,
        base: LanguageModel | None,
        limit: int,
    ) -> tuple[Objective, int]:
        """What is hidden of raw text, and the most tokens a sentence may have for it.

        Args:
            settings: densities and lengths of what is hidden.
            tokenizer: the model's.
            base: the model that is continued, if any.
            limit: the most tokens of a sequence.
        """

    @abstractmethod
    def of_twins(self, tokenizer: PreTrainedTokenizerBase, base: LanguageModel) -> Objective:
        """What is hidden of twins, which ``twin_objective`` has encoded."""


def _spans(settings: PretrainSettings, density: float, mean: float) -> Spans:
    """Hidden runs of words, of the lengths that the settings ask for."""
    return Spans(
        lengths=settings.span_lengths, density=density, mean=mean, longest=settings.longest_span
    )


class MaskedWords(Recipe):
    """BERT's: words are masked in pairs of sentences."""

    def train_tokenizer(
        self, texts: Sequence[str], vocab_size: int, max_length: int
    ) -> PreTrainedTokenizerBase:
        """WordPiece."""
        return train_wordpiece(texts, vocab_size, max_length)

    def new_model(
        self, settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase
    ) -> PreTrainedModel:
        """A small BERT."""
        return new_bert(settings, tokenizer)

    def of_text(
        self,
        settings: PretrainSettings,
        tokenizer: PreTrainedTokenizerBase,
        base: LanguageModel | None,
        limit: int,
    ) -> tuple[Objective, int]:
        """Masked words of two sentences, which share the sequence."""
        spans = _spans(settings, settings.mask_rate, settings.mask_span)
        pairs = MaskedPairs(tokenizer, spans=spans, types=has_types(base))
        return pairs, (limit - pairs.extra) // 2

    def of_twins(self, tokenizer: PreTrainedTokenizerBase, base: LanguageModel) -> Objective:
        """The masks of both twins."""
        return TwinMasks(tokenizer, types=has_types(base))


def has_types(base: LanguageModel | None) -> bool:
    """Whether a BERT has token types for two sentences; those made here do."""
    return base is None or getattr(base[0].config, "type_vocab_size", 0) > 1


class CorruptedSpans(Recipe):
    """T5's: spans of a sentence stand behind sentinels."""

    def train_tokenizer(
        self, texts: Sequence[str], vocab_size: int, max_length: int
    ) -> PreTrainedTokenizerBase:
        """Unigram, with sentinels."""
        return train_unigram(texts, vocab_size, max_length)

    def new_model(
        self, settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase
    ) -> PreTrainedModel:
        """A small T5."""
        return new_t5(settings, tokenizer)

    def of_text(
        self,
        settings: PretrainSettings,
        tokenizer: PreTrainedTokenizerBase,
        base: LanguageModel | None,
        limit: int,
    ) -> tuple[Objective, int]:
        """Corrupted spans of one sentence, which its end follows."""
        del base
        spans = _spans(settings, settings.density, settings.mean_span)
        return CorruptedSentence(tokenizer, spans=spans), limit - 1

    def of_twins(self, tokenizer: PreTrainedTokenizerBase, base: LanguageModel) -> Objective:
        """The same target after either twin."""
        del base
        return TwinSpans(tokenizer)


RECIPES: dict[str, Recipe] = {"bert": MaskedWords(), "t5": CorruptedSpans()}
"""By the name of the family."""
