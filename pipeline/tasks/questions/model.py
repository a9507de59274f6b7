"""The model of questions: context and choice through the encoder, a score each, softmax over the choices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from typing_extensions import TypedDict

from pipeline.core.corpora import QUESTIONS
from pipeline.core.documents import RelativeName
from pipeline.core.questions import CAUSE
from pipeline.models.optim import evaluating
from pipeline.models.pairs import Sides
from pipeline.models.roles import FIRST_ENCODER, load_encoder
from pipeline.models.words import (
    BATCH_TOKENS,
    EncodedSentence,
    within_budget,
)
from pipeline.tasks.model_folder import load_model, read_card, save_model
from pipeline.tasks.pair_model import LONGEST, PairModel
from pipeline.tasks.protocol import Answer, Measured, Opinion
from pipeline.tasks.questions.examples import QuestionExample

_FORMAT = "conjoin-questions"

NO_WORDS = "context or choice without words"


class _QuestionsCard(TypedDict):
    """The form of ``predictor.json``."""

    choices_only: bool
    longest: int
    files: NotRequired[dict[RelativeName, str]]


def _is_usable(card: Mapping[str, Any]) -> bool:
    return bool(card["longest"] >= 8)


class QuestionModel(PairModel[QuestionExample]):
    """An encoder, its tokenizer, and a linear layer: a probability for each choice of a question.

    The encoder reads [CLS] cause [SEP] effect [SEP]: of a question that asks for the effect the context comes
    first, of one that asks for the cause the choice does. A probability is the softmax of the linear layer's
    scores over the choices, however many a question has (§3.4.2).

    Args:
        encoder: a Transformer whose output has ``last_hidden_state``; its pooler is dropped.
        tokenizer: its fast tokenizer.
        choices_only: the context is not read, so that only what choices themselves give away is learned.
        longest: subwords of a context and a choice at most; of longer ones the longer side is cut.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        *,
        choices_only: bool = False,
        longest: int = LONGEST,
    ) -> None:
        super().__init__(encoder, tokenizer, 1, longest)
        self.choices_only = choices_only

    @classmethod
    def create(
        cls,
        where: str,
        *,
        seed: int,
        choices_only: bool = False,
        encoder_dropout: float | None = None,
    ) -> Self:
        """A model with the pretrained encoder ``where`` and a fresh linear layer.

        Args:
            where: what to hand to ``from_pretrained``.
            seed: of the layer's weights.
            choices_only: the context is not read.
            encoder_dropout: dropout in the encoder; None keeps what it was pretrained with.

        Raises:
            ModelError: the encoder cannot be loaded.
        """
        torch.manual_seed(seed)
        encoder, tokenizer = load_encoder(where, FIRST_ENCODER, dropout=encoder_dropout)
        return cls(encoder, tokenizer, choices_only=choices_only)

    def save(self, folder: Path) -> None:
        """Write the model's folder; it appears whole or not at all."""
        facts = {"choices_only": self.choices_only, "longest": self.pairs.longest}
        save_model(self, folder, _FORMAT, facts)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The model that ``save`` wrote.

        Raises:
            ModelError: no model is there, one of another task or version, or a damaged one.
            InputError: its card is not JSON, or not of this form.
        """
        card: _QuestionsCard = read_card(folder, _FORMAT, _QuestionsCard, QUESTIONS, _is_usable)
        return load_model(
            folder,
            lambda encoder, tokenizer: cls(
                encoder, tokenizer, choices_only=card["choices_only"], longest=card["longest"]
            ),
        )

    def sides(self, example: QuestionExample) -> list[Sides]:
        """What the encoder reads of each choice of a question: cause and effect, the context maybe empty."""
        context = () if self.choices_only else example.context
        if example.asks == CAUSE:
            return [(choice, context) for choice in example.choices]
        return [(context, choice) for choice in example.choices]

    def forward(
        self, examples: Sequence[QuestionExample], weights: Sequence[float] | None = None
    ) -> Tensor:
        """Negative log-probability of the right choices, summed over a batch.

        Questions of any numbers of choices may stand in it; none may have an obstacle.

        Args:
            examples: the batch.
            weights: what each counts in the sum; unset: 1.

        Returns:
            A scalar, with its gradient.
        """
        encoded = [self.pairs.encode(self.sides(example)) for example in examples]
        scores = self._scores(encoded)
        right = torch.stack([own[e.answer] for own, e in zip(scores, examples, strict=True)])
        if weights is not None:
            right = right * torch.tensor(weights, dtype=right.dtype).to(right.device)
        return -right.sum()

    def _scores(self, batch: Sequence[Sequence[EncodedSentence]]) -> list[Tensor]:
        """Log-probabilities of the choices of each question, ``[choices]``."""
        every = [choice for question in batch for choice in question]
        parts = torch.split(self.logits(every)[:, 0], [len(question) for question in batch])
        return [own.log_softmax(-1) for own in parts]

    def obstacles(self, examples: Sequence[QuestionExample]) -> list[str | None]:
        """Why each of some examples cannot be learned: ``NO_WORDS``; None where it can."""
        return [
            None if all((each.context, *each.choices)) else NO_WORDS for each in examples
        ]  # fmt: skip

    def distributions(
        self, examples: Sequence[QuestionExample], batch_tokens: int = BATCH_TOKENS
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield ``(example, log-probabilities [choices])``, short questions first, where all has words."""
        asked = [i for i, reason in enumerate(self.obstacles(examples)) if reason is None]
        encoded = [self.pairs.encode(self.sides(examples[index])) for index in asked]
        sizes = [len(each) * max(len(choice.ids) for choice in each) for each in encoded]
        with evaluating(self), torch.inference_mode():
            for group in within_budget(sizes, batch_tokens):
                scores = self._scores([encoded[place] for place in group])
                for place, own in zip(group, scores, strict=True):
                    yield asked[place], own.cpu()

    def opinions(self, examples: Sequence[QuestionExample]) -> list[Opinion | None]:
        """What the model says of the answer of each of some examples."""
        found: list[Opinion | None] = [None] * len(examples)
        for index, scores in self.distributions(examples):
            place, best = examples[index].answer, int(scores.argmax())
            share = float((scores[place] - scores[best]).exp())
            found[index] = Opinion(float(scores[place].exp()), share, place == best)
        return found

    def answers(
        self, examples: Sequence[QuestionExample], batch_tokens: int = BATCH_TOKENS
    ) -> list[Answer[QuestionExample] | None]:
        """The most probable choice of each of some examples."""
        found: list[Answer[QuestionExample] | None] = [None] * len(examples)
        for index, scores in self.distributions(examples, batch_tokens):
            best = int(scores.argmax())
            found[index] = Answer(replace(examples[index], answer=best), float(scores[best].exp()))
        return found

    def measure(self, examples: Sequence[QuestionExample]) -> Measured:
        """Right answers of how many questions, and how probable the right choices are."""
        right, scored, loss = 0, 0, 0.0
        for index, scores in self.distributions(examples):
            answer = examples[index].answer
            right += int(scores.argmax()) == answer
            scored += 1
            loss -= float(scores[answer])
        return Measured(((right, len(examples), len(examples)),), scored, loss)
