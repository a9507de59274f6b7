"""The supervised model M: a BERT encoder, the endpoint scorer, that of ends; saving, loading, predicting."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired, Self, cast

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedTokenizerBase
from typing_extensions import TypedDict

from pipeline.core.corpora import COORDINATION
from pipeline.core.documents import Count, RelativeName
from pipeline.core.structures import as_conjuncts, places
from pipeline.core.types import USUAL_COORDINATORS, Span
from pipeline.core.words import coordinator_list
from pipeline.models.loading import length_limit
from pipeline.models.optim import evaluating
from pipeline.models.roles import FIRST_ENCODER, load_encoder
from pipeline.models.words import BATCH_TOKENS, TOO_LONG, WordEncoding, represent
from pipeline.tasks.coordination.conjuncts import (
    EndScorer,
    Known,
    KnownPlaces,
    is_end,
    known_structures,
    learned_ends,
    read,
)
from pipeline.tasks.coordination.examples import CoordinationExample, instances, obstacle
from pipeline.tasks.coordination.scorer import EndpointScorer, batches
from pipeline.tasks.model_folder import load_model, read_card, save_model
from pipeline.tasks.protocol import Answer, Measured, Model, Opinion

_FORMAT = "conjoin-predictor"


class _Card(TypedDict):
    """The form of ``predictor.json``.

    ``files`` has digests by name, and ``ends`` says of what the scorer of conjuncts' ends learned, if there
    is one; ``coordinators`` are those of its corpus, the most frequent first, where they are not the usual.
    Older ones lack all three.
    """

    mlp_hidden: int
    dropout: float | int
    coordinators: NotRequired[list[str]]
    ends: NotRequired[dict[str, Count]]
    files: NotRequired[dict[RelativeName, str]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A structure of a coordinator: its extent, half-open, the probability of that, and its conjuncts."""

    span: Span
    probability: float
    conjuncts: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ScoredCoordinator:
    """A coordinator that could be scored.

    Attributes:
        index: of the instance among those asked for.
        scores: log-probabilities of its endpoint pairs, ``[k, n - k - 1]``.
        h: the representations of its sentence's words, ``[n, width]``.
    """

    index: int
    scores: Tensor
    h: Tensor


def _is_usable(card: Mapping[str, Any]) -> bool:
    try:
        coordinator_list(card.get("coordinators", [*USUAL_COORDINATORS]))
    except ValueError:
        return False
    return bool(card["mlp_hidden"] >= 1 and 0 <= card["dropout"] < 1)


class CoordinationPredictor(Model[CoordinationExample]):
    """Encoder, tokenizer and endpoint scorer (§5.1, Eq. 3), and beside them the scorer of ends.

    ``ends`` (``conjuncts``) is None until ``complete`` has learned it; till then boundaries are read as two
    conjuncts.

    Args:
        encoder: a Transformer whose output has ``last_hidden_state``; its pooler is dropped.
        tokenizer: its fast tokenizer.
        mlp_hidden: hidden units of the scorer.
        dropout: dropout in the scorer.
        ends: what its scorer of ends learned from; None: there is none yet.
        coordinators: those of the corpus that it learns from, in lower case, the most frequent first.
    """

    def __init__(  # noqa: PLR0917 - as its card has them
        self,
        encoder: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        mlp_hidden: int,
        dropout: float,
        ends: Mapping[str, int] | None = None,
        coordinators: Sequence[str] = USUAL_COORDINATORS,
    ) -> None:
        super().__init__()
        self.coordinators = tuple(coordinators)
        self.encoder = encoder
        if getattr(encoder, "pooler", None) is not None:
            # Eq. 3 reads words, not the sentence; an untrained pooler would be unused weight.
            self.encoder.pooler = None  # type: ignore[assignment]
        self.config = config = cast(PretrainedConfig, encoder.config)
        self.mlp_hidden, self.dropout = mlp_hidden, dropout
        self.scorer = EndpointScorer(config.hidden_size, mlp_hidden, dropout)
        self.ends: EndScorer | None = None
        self._ends_learned = ends
        if ends is not None:
            self.ends = EndScorer(config.hidden_size, mlp_hidden, dropout)
        self.encoding = WordEncoding(tokenizer, length_limit(config, tokenizer))

    @classmethod
    def create(
        cls,
        where: str,
        *,
        mlp_hidden: int,
        dropout: float,
        seed: int,
        encoder_dropout: float | None = None,
        coordinators: Sequence[str] = USUAL_COORDINATORS,
    ) -> Self:
        """A predictor with the pretrained encoder ``where`` and a fresh scorer.

        Args:
            where: what to hand to ``from_pretrained``.
            mlp_hidden: hidden units of the scorer.
            dropout: dropout in the scorer.
            seed: seed of the scorer's weights.
            encoder_dropout: dropout in the encoder; None keeps what it was pretrained with.
            coordinators: those of the corpus.

        Raises:
            ModelError: the encoder cannot be loaded.
        """
        torch.manual_seed(seed)
        encoder, tokenizer = load_encoder(where, FIRST_ENCODER, dropout=encoder_dropout)
        return cls(encoder, tokenizer, mlp_hidden, dropout, coordinators=coordinators)

    @property
    def _known(self) -> frozenset[str]:
        return frozenset(self.coordinators)

    @property
    def head(self) -> EndpointScorer:
        """All weights but the encoder's that are learned with it."""
        return self.scorer

    def save(self, folder: Path) -> None:
        """Write the predictor folder; it appears whole or not at all."""
        facts: dict[str, Any] = {"mlp_hidden": self.mlp_hidden, "dropout": self.dropout}
        if self.coordinators != USUAL_COORDINATORS:
            facts["coordinators"] = list(self.coordinators)
        # Without the scorer the card is what it was before there was one.
        ends = {} if self.ends is None else {"ends": self._ends_learned}
        save_model(self, folder, _FORMAT, facts | ends)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a predictor folder; nothing else is needed, nor a network.

        Raises:
            ModelError: no predictor is there, one of another format version, or a damaged one.
            InputError: its card is not JSON, or not of this form.
        """
        card: _Card = read_card(folder, _FORMAT, _Card, COORDINATION, _is_usable)
        known = card.get("coordinators", USUAL_COORDINATORS)
        sizes = card["mlp_hidden"], card["dropout"], card.get("ends"), known
        return load_model(folder, lambda encoder, tokenizer: cls(encoder, tokenizer, *sizes))

    def forward(
        self, examples: Sequence[CoordinationExample], weights: Sequence[float] | None = None
    ) -> Tensor:
        """Negative log-probability of the gold pairs, summed over all instances of a batch.

        Each distinct sentence is encoded once, and so is each distinct variant. No example may have an
        obstacle.

        Args:
            examples: the batch.
            weights: what an instance of each example counts in the sum; unset: 1.

        Returns:
            A scalar, with its gradient.
        """
        return self.loss_and_words(examples, weights)[0]

    def loss_and_words(
        self, examples: Sequence[CoordinationExample], weights: Sequence[float] | None = None
    ) -> tuple[Tensor, Tensor, list[int]]:
        """``forward``, and what it read: so that another loss may look at the same words.

        Returns:
            The scalar; the words' representations h, ``[sentences, words, width]``; and each example's
            sentence among them.
        """
        distinct = dict.fromkeys((e.words, e.variant) for e in examples)
        rows = {sentence: row for row, sentence in enumerate(distinct)}
        encoded = self.encoding.encode([words for words, _ in rows])
        h = represent(self.encoder, self.encoding, encoded, self.device)
        gold = [
            (rows[e.words, e.variant], k, len(e.words), extent)
            for e in examples
            for k, extent in zip(e.coordinators, e.extents, strict=True)
        ]
        scores = self.scorer.log_probabilities(h, [instance[:3] for instance in gold])
        places = [e.start * (n - k - 1) + e.end - 2 - k for _, k, n, e in gold]
        index = torch.tensor(places, device=scores.device)[:, None]
        right = scores.gather(1, index)
        if weights is not None:
            each = [w for e, w in zip(examples, weights, strict=True) for _ in e.coordinators]
            right = right * torch.tensor(each, dtype=right.dtype, device=right.device)[:, None]
        return -right.sum(), h, [rows[e.words, e.variant] for e in examples]

    def obstacles(self, examples: Sequence[CoordinationExample]) -> list[str | None]:
        """Why the structure of each of some examples of one cannot be learned; None where it can.

        The reasons are ``examples.EDGE``, ``OUTSIDE`` and ``words.TOO_LONG``.
        """
        return self.reasons(*instances(examples))

    def reasons(
        self,
        sentences: Sequence[Sequence[str]],
        coordinators: Sequence[int],
        extents: Sequence[Span] | None = None,
    ) -> list[str | None]:
        """Why each coordinator cannot be scored (or, given its extent, learned); None where it can."""
        reasons: list[str | None] = []
        previous: Sequence[str] | None = None
        long: str | None = None
        for index, (words, k) in enumerate(zip(sentences, coordinators, strict=True)):
            if words is not previous:
                previous, long = words, None if self.readable(words) else TOO_LONG
            reasons.append(obstacle(words, k, extents[index] if extents else None) or long)
        return reasons

    def readable(self, words: Sequence[str]) -> bool:
        """Whether the encoder can read a sentence whole."""
        if len(words) > self.encoding.positions:
            return False  # each has a subword at least
        return self.encoding.fits(self.encoding.encode([words])[0])

    def predict(
        self,
        sentences: Sequence[Sequence[str]],
        coordinators: Sequence[int],
        batch_tokens: int = BATCH_TOKENS,
    ) -> list[Prediction | None]:
        """The most probable endpoint pair of each coordinator, in the order given.

        Args:
            sentences: the words of each instance's sentence; one with several coordinators is
                given several times and encoded once.
            coordinators: the word index of each instance's coordinator.
            batch_tokens: subwords encoded together, padding included.

        Returns:
            A prediction each; None where ``obstacles`` names a reason.
        """
        found: list[Prediction | None] = [None] * len(sentences)
        for one in self.scored(sentences, coordinators, batch_tokens):
            k = coordinators[one.index]
            (found[one.index],) = self.best(sentences[one.index], k, one)
        return found

    def best(
        self, words: Sequence[str], coordinator: int, scored: ScoredCoordinator, n: int = 1
    ) -> tuple[Prediction, ...]:
        """The ``n`` most probable structures of a coordinator, best first, or all it has.

        Of equally probable ones the first (by start, then end) comes first.

        Args:
            words: of its sentence.
            coordinator: its word index.
            scored: as ``scored`` yields it for this coordinator.
            n: how many.
        """
        # topk does not guarantee the order of ties.
        values, ranked = scored.scores.flatten().sort(descending=True, stable=True)
        width = scored.scores.shape[1]
        spans = [
            Span(place // width, coordinator + 2 + place % width) for place in ranked[:n].tolist()
        ]
        conjuncts = self.conjuncts(words, coordinator, spans, scored.h)
        return tuple(
            Prediction(span, probability, own)
            for span, probability, own in zip(
                spans, values[:n].exp().tolist(), conjuncts, strict=True
            )
        )

    def conjuncts(
        self, words: Sequence[str], coordinator: int, extents: Sequence[Span], h: Tensor
    ) -> list[tuple[Span, ...]]:
        """The conjuncts of each of some outer boundaries; every place is read once.

        Args:
            words: of the sentence.
            coordinator: its word index.
            extents: the outer boundaries.
            h: the representations of the words, ``[n, width]``.
        """
        if self.ends is None:
            return [as_conjuncts(words, coordinator, extent) for extent in extents]
        found = [places(words, coordinator, extent, self._known) for extent in extents]
        distinct = list(dict.fromkeys(place for own in found for place in own))
        with evaluating(self.ends), torch.inference_mode():
            ending = set(self.ends.ends(h, coordinator, distinct))
        return [
            as_conjuncts(words, coordinator, extent, [place for place in own if place in ending])
            for extent, own in zip(extents, found, strict=True)
        ]

    def opinions(self, examples: Sequence[CoordinationExample]) -> list[Opinion | None]:
        """What the predictor says of the structure of each of some examples of one (CalcScore, §4).

        Returns:
            None where ``obstacles`` names a reason.
        """
        sentences, coordinators, extents = instances(examples)
        found: list[Opinion | None] = [None] * len(sentences)
        for index, scores in self.distributions(sentences, coordinators):
            extent, k = extents[index], coordinators[index]
            if obstacle(sentences[index], k, extent) is None:
                place = extent.start, extent.end - 2 - k
                best = divmod(int(scores.argmax()), scores.shape[1])
                # Of the logarithms, so that a boundary whose probability no float holds has a share, too.
                share = float((scores[place] - scores[best]).exp())
                found[index] = Opinion(float(scores[place].exp()), share, place == best)
        return found

    def answers(
        self, examples: Sequence[CoordinationExample]
    ) -> list[Answer[CoordinationExample] | None]:
        """The predictor's own boundary at the coordinator of each of some examples of one."""
        sentences, coordinators, _ = instances(examples)
        return [
            None
            if own is None
            else Answer(replace(e, extents=(own.span,), conjuncts=()), own.probability)
            for e, own in zip(examples, self.predict(sentences, coordinators), strict=True)
        ]

    def measure(self, examples: Sequence[CoordinationExample]) -> Measured:
        """How many outer boundaries it finds, and how probable the annotated ones are to it.

        An instance that it cannot score counts as wrong, and has no likelihood under any weights.
        """
        sentences, coordinators, gold = instances(examples)
        right, scored, loss = 0, 0, 0.0
        for index, scores in self.distributions(sentences, coordinators):
            i, b = divmod(int(scores.argmax()), scores.shape[1])
            extent, k = gold[index], coordinators[index]
            right += extent == Span(i, k + 2 + b)
            if obstacle(sentences[index], k, extent) is None:
                scored += 1
                loss -= float(scores[extent.start, extent.end - 2 - k])
        return Measured(((right, len(gold), len(gold)),), scored, loss)

    def distributions(
        self,
        sentences: Sequence[Sequence[str]],
        coordinators: Sequence[int],
        batch_tokens: int = BATCH_TOKENS,
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield ``(instance, log-probabilities [k, n - k - 1])`` of all that can be scored."""
        for each in self.scored(sentences, coordinators, batch_tokens):
            yield each.index, each.scores

    def scored(
        self,
        sentences: Sequence[Sequence[str]],
        coordinators: Sequence[int],
        batch_tokens: int = BATCH_TOKENS,
    ) -> Iterator[ScoredCoordinator]:
        """Yield all that can be scored, each with its words as the encoder represents them."""
        asked: dict[tuple[str, ...], list[int]] = {}
        previous: Sequence[str] | None = None
        own: list[int] = []
        for index, (words, k) in enumerate(zip(sentences, coordinators, strict=True)):
            if obstacle(words, k) is None:
                # A key is hashed word by word, which is not to be done for each coordinator.
                if words is not previous:
                    previous, own = words, asked.setdefault(tuple(words), [])
                own.append(index)
        with evaluating(self), torch.inference_mode():
            for some, h in self._represented(asked, batch_tokens):
                order = (index for words in some for index in asked[words])
                asked_of = [
                    (row, coordinators[index], len(words))
                    for row, words in enumerate(some)
                    for index in asked[words]
                ]
                for part in batches(asked_of):
                    for (row, _, n), scores in zip(part, self.scorer(h, part), strict=True):
                        yield ScoredCoordinator(next(order), scores.cpu(), h[row, :n])

    def _represented(
        self, sentences: Iterable[tuple[str, ...]], batch_tokens: int = BATCH_TOKENS
    ) -> Iterator[tuple[list[tuple[str, ...]], Tensor]]:
        """Yield batches of sentences that can be read, with their words, ``[sentences, words, width]``."""
        for batch in self.encoding.batches(sentences, batch_tokens):
            encoded = [pair[1] for pair in batch]
            h = represent(self.encoder, self.encoding, encoded, self.device)
            yield [words for words, _ in batch], h

    @property
    def is_complete(self) -> bool:
        """Whether it has a scorer of ends."""
        return self.ends is not None

    def complete(
        self,
        labelled: Sequence[CoordinationExample],
        generated: Sequence[CoordinationExample],
        seed: int,
    ) -> dict[str, int]:
        """Learn where conjuncts end; nothing that is said of outer boundaries changes.

        Args:
            labelled: L.
            generated: candidates whose conjuncts are believed.
            seed: of the run.

        Returns:
            How many places of L and of candidates it learned from, and at how many of each a conjunct ends.
            Without any there is no scorer.
        """
        known = [self._known_places(examples) for examples in (labelled, generated)]
        counts = dict[str, int]()
        for name, group in zip(("L", "candidates"), known, strict=True):
            counts[f"places in {name}"] = len(group)
            counts[f"ends in {name}"] = int(group.ends.sum())
        self.ends = None
        if any(map(len, known)):
            learned = learned_ends(*known, hidden=self.mlp_hidden, dropout=self.dropout, seed=seed)
            self.ends, self._ends_learned = learned.to(self.device), counts
        return counts

    def _known_places(self, examples: Iterable[CoordinationExample]) -> KnownPlaces:
        """The places in the structures whose conjuncts are known, each structure once."""
        asked: dict[tuple[str, ...], dict[int, Known]] = {}
        for e in examples:
            if e.conjuncts:
                for each in known_structures(e.words, e.coordinators, e.conjuncts, self._known):
                    asked.setdefault(e.words, {}).setdefault(each[0], each)
        rows, ends = [torch.empty(0, 2 * self.config.hidden_size)], list[float]()
        with evaluating(self), torch.inference_mode():
            for some, h in self._represented(asked):
                for row, words in enumerate(some):
                    for coordinator, conjuncts, found in asked[words].values():
                        rows.append(read(h[row], coordinator, found).float().cpu())
                        ends += [float(is_end(place, conjuncts)) for place in found]
        return KnownPlaces(torch.cat(rows), torch.tensor(ends))
