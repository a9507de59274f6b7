"""The model of senses: both arguments through the encoder, a linear layer on the first subword's state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from typing_extensions import TypedDict

from pipeline.core.corpora import RELATIONS
from pipeline.core.documents import RelativeName
from pipeline.models.optim import evaluating
from pipeline.models.roles import FIRST_ENCODER, load_encoder
from pipeline.models.words import (
    BATCH_TOKENS,
    within_budget,
)
from pipeline.tasks.model_folder import load_model, read_card, save_model
from pipeline.tasks.pair_model import LONGEST, PairModel
from pipeline.tasks.protocol import Answer, Measured, Opinion
from pipeline.tasks.relations.examples import PairExample
from pipeline.tasks.relations.figures import counted

_FORMAT = "conjoin-relations"

NO_WORDS = "argument without words"
UNKNOWN_SENSE = "sense that the model does not tell"


class _SensesCard(TypedDict):
    """The form of ``predictor.json``."""

    senses: list[str]
    longest: int
    files: NotRequired[dict[RelativeName, str]]


def _is_usable(card: Mapping[str, Any]) -> bool:
    return len(set(card["senses"])) == len(card["senses"]) > 1 and card["longest"] >= 8


class RelationModel(PairModel[PairExample]):
    """An encoder, its tokenizer, and a linear layer: a probability for each sense.

    Args:
        encoder: a Transformer whose output has ``last_hidden_state``; its pooler is dropped.
        tokenizer: its fast tokenizer.
        senses: that it tells apart.
        longest: subwords of a pair at most; of a longer one the longer side is cut.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        senses: Sequence[str],
        longest: int = LONGEST,
    ) -> None:
        super().__init__(encoder, tokenizer, len(senses), longest)
        self.senses = tuple(senses)
        self._place = {sense: index for index, sense in enumerate(self.senses)}
        # What learning adds to the logits of the senses (Menon et al., 2021); predictions go without.
        self.adjustment: Tensor | None = None

    @classmethod
    def create(
        cls,
        where: str,
        senses: Sequence[str],
        *,
        seed: int,
        encoder_dropout: float | None = None,
    ) -> Self:
        """A model with the pretrained encoder ``where`` and a fresh linear layer.

        Args:
            where: what to hand to ``from_pretrained``.
            senses: that it shall tell apart.
            seed: of the layer's weights.
            encoder_dropout: dropout in the encoder; None keeps what it was pretrained with.

        Raises:
            ModelError: the encoder cannot be loaded.
        """
        torch.manual_seed(seed)
        encoder, tokenizer = load_encoder(where, FIRST_ENCODER, dropout=encoder_dropout)
        return cls(encoder, tokenizer, senses)

    def save(self, folder: Path) -> None:
        """Write the model's folder; it appears whole or not at all."""
        facts = {"senses": list(self.senses), "longest": self.pairs.longest}
        save_model(self, folder, _FORMAT, facts)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a folder that ``save`` wrote.

        Raises:
            ModelError: no model is there, one of another task or version, or a damaged one.
            InputError: its card is not JSON, or not of this form.
        """
        card: _SensesCard = read_card(folder, _FORMAT, _SensesCard, RELATIONS, _is_usable)
        facts = card["senses"], card["longest"]
        return load_model(folder, lambda encoder, tokenizer: cls(encoder, tokenizer, *facts))

    def adjust(self, counts: Mapping[str, int], tau: float) -> None:
        """Let learning add τ · log of each sense's share of some counts to its logit.

        A sense without a count has a share as if it had one.

        Args:
            counts: labelled instances by sense.
            tau: τ.
        """
        there = torch.tensor([float(max(counts.get(sense, 0), 1)) for sense in self.senses])
        self.adjustment = tau * (there / there.sum()).log()

    def forward(
        self, examples: Sequence[PairExample], weights: Sequence[float] | None = None
    ) -> Tensor:
        """Negative log-probability of the right senses, summed over all instances of a batch.

        A pair is encoded once, whatever senses it has. No example may have an obstacle.

        Args:
            examples: the batch.
            weights: what an instance of each example counts in the sum; unset: 1.

        Returns:
            A scalar, with its gradient.
        """
        logits = self.logits(self.pairs.encode([example.sides for example in examples]))
        if self.adjustment is not None:
            logits = logits + self.adjustment.to(logits)
        scores = logits.log_softmax(-1)
        rows = [row for row, each in enumerate(examples) for _ in each.senses]
        senses = [self._place[sense] for each in examples for sense in each.senses]
        right = scores[torch.tensor(rows, device=scores.device), torch.tensor(senses)]
        if weights is not None:
            each = torch.tensor([weights[row] for row in rows], dtype=right.dtype)
            right = right * each.to(right.device)
        return -right.sum()

    def obstacles(self, examples: Sequence[PairExample]) -> list[str | None]:
        """Why each of some examples cannot be learned: ``NO_WORDS``, ``UNKNOWN_SENSE``; None where it can."""
        return [
            NO_WORDS if not all(each.sides)
            else UNKNOWN_SENSE if not set(each.senses) <= self._place.keys()
            else None
            for each in examples
        ]  # fmt: skip

    def distributions(
        self, examples: Sequence[PairExample], batch_tokens: int = BATCH_TOKENS
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield ``(example, log-probabilities [senses])``, short pairs first, where both sides have words."""
        asked = [index for index, each in enumerate(examples) if all(each.sides)]
        encoded = self.pairs.encode([examples[index].sides for index in asked])
        with evaluating(self), torch.inference_mode():
            for group in within_budget([len(each.ids) for each in encoded], batch_tokens):
                scores = self.logits([encoded[place] for place in group]).log_softmax(-1).cpu()
                yield from zip((asked[place] for place in group), scores, strict=True)

    def opinions(self, examples: Sequence[PairExample]) -> list[Opinion | None]:
        """What the model says of the sense of each of some examples of one."""
        found: list[Opinion | None] = [None] * len(examples)
        for index, scores in self.distributions(examples):
            place = self._place.get(examples[index].senses[0])
            if place is not None:
                best = int(scores.argmax())
                share = float((scores[place] - scores[best]).exp())
                found[index] = Opinion(float(scores[place].exp()), share, place == best)
        return found

    def answers(
        self, examples: Sequence[PairExample], batch_tokens: int = BATCH_TOKENS
    ) -> list[Answer[PairExample] | None]:
        """The most probable sense of each of some examples."""
        found: list[Answer[PairExample] | None] = [None] * len(examples)
        for index, scores in self.distributions(examples, batch_tokens):
            best = int(scores.argmax())
            own = replace(examples[index], senses=(self.senses[best],))
            found[index] = Answer(own, float(scores[best].exp()))
        return found

    def measure(self, examples: Sequence[PairExample]) -> Measured:
        """Right, said and there by sense, of which macro-F1 is made, and how probable the right senses are.

        A sense that no example has counts as 0 in that mean.
        """
        predicted, scored, loss = [""] * len(examples), 0, 0.0
        for index, scores in self.distributions(examples):
            predicted[index] = self.senses[int(scores.argmax())]
            places = [self._place[s] for s in examples[index].senses if s in self._place]
            scored += len(places)
            loss -= sum(float(scores[place]) for place in places)
        counts = counted([each.senses for each in examples], predicted, self.senses).sum(0)
        return Measured(tuple((int(r), int(s), int(t)) for r, s, t in counts), scored, loss)
