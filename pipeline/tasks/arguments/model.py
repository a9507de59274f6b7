"""MP-MLM, the model of arguments: labels of all words, for one predicate at a time (§3.2, Eqs. 1-7)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NotRequired, Self, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from transformers import PretrainedConfig, PreTrainedTokenizerBase
from typing_extensions import TypedDict

from pipeline.core.corpora import ARGUMENTS
from pipeline.core.documents import RelativeName
from pipeline.core.predicates import ROLES
from pipeline.models.known_states import KnownStates, stays_as_it_is
from pipeline.models.loading import length_limit
from pipeline.models.optim import evaluating
from pipeline.models.roles import FIRST_ENCODER, load_encoder
from pipeline.models.words import BATCH_TOKENS, TOO_LONG, WordEncoding, represent
from pipeline.tasks.arguments.decoding import UNSETTLED, BestWord, best_words, settled
from pipeline.tasks.arguments.examples import ArgumentExample
from pipeline.tasks.model_folder import load_model, read_card, save_model
from pipeline.tasks.protocol import Answer, Measured, Model, Opinion

_FORMAT = "conjoin-arguments"

MOST_LAYERS, MOST_UNITS = 64, 65_536
"""As many as ``train`` takes: more are made before anybody could see that no weights are theirs."""

OF_LONG = f"predicate of a {TOO_LONG}"

_BITS = 2
"""Whether a word is the target, and whether it is a predicate (Eqs. 2-4)."""


_Sentence = tuple[tuple[str, ...], bool]
"""Words, and whether they are a variant's."""


class _ArgumentsCard(TypedDict):
    """The form of ``predictor.json``; ``thresholds`` is θ of each role."""

    layers: int
    units: int
    thresholds: list[float | int]
    files: NotRequired[dict[RelativeName, str]]


def _is_usable(card: Mapping[str, Any]) -> bool:
    found = card["thresholds"]
    sizes = 1 <= card["layers"] <= MOST_LAYERS and 1 <= card["units"] <= MOST_UNITS
    return sizes and len(found) == len(ROLES) and all(0 <= each <= 1 for each in found)


class Labeller(nn.Module):
    """k GRU layers of alternating direction, then a softmax over the labels (Eqs. 5-7).

    Odd layers read forwards, even ones backwards; from the second on a layer's input is added to its output.
    What a layer remembers from word to word is its GRU's own state, as in the authors' code, where Eq. 6 has
    that with the input added; and the last layer has a bias.

    Args:
        width: of a word's representation, bits included.
        layers: k.
        units: M.
    """

    def __init__(self, width: int, layers: int, units: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.GRU(units if number else width, units) for number in range(layers)
        )
        self.linear = nn.Linear(units, len(ROLES) + 1)

    def forward(self, words: Sequence[Tensor]) -> list[Tensor]:
        """Log-probabilities of the labels.

        Args:
            words: the representations of the words of each instance, ``[words, width]``.

        Returns:
            Of each instance ``[words, labels]``.
        """
        lengths = [len(each) for each in words]
        order = sorted(range(len(words)), key=lambda place: -lengths[place])
        # Word by word: the first of all instances, the second of those that have one, and so on.
        alive = [sum(length > at for length in lengths) for at in range(max(lengths))]
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length)
        ahead = [starts[own] + at for at, count in enumerate(alive) for own in order[:count]]
        place = {flat: packed for packed, flat in enumerate(ahead)}
        back = [
            place[starts[own] + lengths[own] - 1 - at]
            for at, count in enumerate(alive)
            for own in order[:count]
        ]
        device = words[0].device
        turned = torch.tensor(back, device=device)
        sizes = torch.tensor(alive)
        h = torch.cat(list(words))[torch.tensor(ahead, device=device)]
        for number, layer in enumerate(self.layers):
            read = h[turned] if number % 2 else h
            out = layer(PackedSequence(read, sizes))[0].data
            # To turn it round a second time is to have it as it was.
            out = out[turned] if number % 2 else out
            h = out + h if number else out
        scores = self.linear(h).log_softmax(-1)
        flat = scores[torch.tensor([place[i] for i in range(starts[-1])], device=device)]
        return [flat[start:end] for start, end in pairwise(starts)]


class ArgumentModel(Model[ArgumentExample]):
    """An encoder, its tokenizer, a labeller on the first subword of each word, and θ of each role.

    Args:
        encoder: a Transformer whose output has ``last_hidden_state``; its pooler is dropped.
        tokenizer: its fast tokenizer.
        layers: k, GRU layers.
        units: M, their width.
        thresholds: θ of each role of ``ROLES``.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        layers: int,
        units: int,
        thresholds: Sequence[float] = UNSETTLED,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        if getattr(encoder, "pooler", None) is not None:
            self.encoder.pooler = None  # type: ignore[assignment]
        config = cast(PretrainedConfig, encoder.config)
        self.sizes = layers, units
        self.labeller = Labeller(config.hidden_size + _BITS, layers, units)
        self.thresholds = tuple(map(float, thresholds))
        self._known = KnownStates()
        self.encoding = WordEncoding(tokenizer, length_limit(config, tokenizer))

    @classmethod
    def create(
        cls,
        where: str,
        *,
        layers: int,
        units: int,
        seed: int,
        encoder_dropout: float | None = None,
    ) -> Self:
        """A model with the pretrained encoder ``where`` and a fresh labeller.

        Args:
            where: what to hand to ``from_pretrained``.
            layers: k.
            units: M.
            seed: of the labeller's weights.
            encoder_dropout: dropout in the encoder; None keeps what it was pretrained with.

        Raises:
            ModelError: the encoder cannot be loaded.
        """
        torch.manual_seed(seed)
        encoder, tokenizer = load_encoder(where, FIRST_ENCODER, dropout=encoder_dropout)
        return cls(encoder, tokenizer, layers, units)

    @property
    def head(self) -> Labeller:
        """The labeller."""
        return self.labeller

    def save(self, folder: Path) -> None:
        """Write the model's folder; it appears whole or not at all."""
        layers, units = self.sizes
        facts = {"layers": layers, "units": units, "thresholds": list(self.thresholds)}
        save_model(self, folder, _FORMAT, facts)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a folder that ``save`` wrote.

        Raises:
            ModelError: no model is there, one of another task or version, or a damaged one.
            InputError: its card is not JSON, or not of this form.
        """
        card: _ArgumentsCard = read_card(folder, _FORMAT, _ArgumentsCard, ARGUMENTS, _is_usable)
        facts = card["layers"], card["units"], card["thresholds"]
        return load_model(folder, lambda encoder, tokenizer: cls(encoder, tokenizer, *facts))

    def forward(
        self, examples: Sequence[ArgumentExample], weights: Sequence[float] | None = None
    ) -> Tensor:
        """Negative log-probability of the right labels, a mean over words, summed over a batch's predicates.

        Each distinct sentence is encoded once a batch, and so is each distinct variant; by an encoder that
        stays as it is, a sentence is once and for all. No example may have an obstacle. The authors' code
        sums over the words' means, too, and takes no mean over predicates as Algorithm 1 does; to Adam with
        clipping a factor of the loss hardly matters.

        Args:
            examples: the batch.
            weights: what each example counts in the sum; unset: 1.

        Returns:
            A scalar, with its gradient.
        """
        losses = torch.stack(
            [
                _loss(scores, example)
                for scores, example in zip(self._scores(examples), examples, strict=True)
            ]
        )
        if weights is not None:
            losses = losses * torch.tensor(weights, dtype=losses.dtype, device=losses.device)
        return losses.sum()

    def _scores(self, examples: Sequence[ArgumentExample]) -> list[Tensor]:
        """Log-probabilities of the labels of each example's words, ``[words, labels]``."""
        states = self._states(dict.fromkeys((each.words, each.variant) for each in examples))
        found = []
        for each in examples:
            own = states[each.words, each.variant]
            bits = torch.zeros(len(each.words), _BITS, dtype=own.dtype)
            bits[each.predicate, 0] = 1
            bits[list(each.predicates), 1] = 1
            found.append(torch.cat([own, bits.to(own.device)], dim=1))
        scores: list[Tensor] = self.labeller(found)
        return scores

    def _states(self, sentences: Iterable[_Sentence]) -> dict[_Sentence, Tensor]:
        """The representations of the words of sentences, ``[words, width]``.

        An encoder that stays as it is reads what is no variant only once. It reads that alone: states
        depend, in their last digits, on what is read with them, and a resumed run is to equal a whole one.
        """
        found: dict[_Sentence, Tensor] = {}
        read: list[_Sentence] = []
        kept = stays_as_it_is(self.encoder)
        for words, variant in sentences:
            if kept and not variant:
                found[words, variant] = self._known_states(words)
            else:
                read.append((words, variant))
        if read:
            encoded = self.encoding.encode([words for words, _ in read])
            h = represent(self.encoder, self.encoding, encoded, self.device, first=True)
            found |= {each: own[: len(each[0])] for each, own in zip(read, h, strict=True)}
        return found

    def _known_states(self, words: tuple[str, ...]) -> Tensor:
        states = self._known.get(words)
        if states is None:
            encoded = self.encoding.encode([words])
            # Validation may be the first to ask, and a gradient cannot pass what inference mode made.
            with torch.inference_mode(mode=False), torch.no_grad():
                (states,) = represent(self.encoder, self.encoding, encoded, self.device, first=True)
            self._known.put(words, states)
        return states

    def obstacles(self, examples: Sequence[ArgumentExample]) -> list[str | None]:
        """``OF_LONG`` where the encoder cannot read the sentence whole; else None."""
        encoded = self.encoding.encode([each.words for each in examples])
        return [None if self.encoding.fits(each) else OF_LONG for each in encoded]

    def distributions(
        self, examples: Sequence[ArgumentExample], batch_tokens: int = BATCH_TOKENS
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield ``(example, log-probabilities [words, labels])`` of what can be read, short ones first."""
        asked: dict[tuple[str, ...], list[int]] = {}
        for index, each in enumerate(examples):
            asked.setdefault(each.words, []).append(index)
        with evaluating(self), torch.inference_mode():
            for batch in self.encoding.batches(asked, batch_tokens):
                own = [index for words, _ in batch for index in asked[words]]
                scores = self._scores([replace(examples[i], variant=False) for i in own])
                yield from ((i, each.cpu()) for i, each in zip(own, scores, strict=True))

    def choices(
        self, examples: Sequence[ArgumentExample], batch_tokens: int = BATCH_TOKENS
    ) -> list[list[BestWord | None]]:
        """The most probable word of each role of each example; None of one that cannot be read."""
        found: list[list[BestWord | None]] = [[None] * len(ROLES) for _ in examples]
        for index, scores in self.distributions(examples, batch_tokens):
            found[index] = best_words(examples[index], scores)
        return found

    def chosen(self, own: Sequence[BestWord | None]) -> dict[str, int]:
        """The words that become arguments, by role: those more probable than θ."""
        return {
            role: choice.word
            for role, choice, theta in zip(ROLES, own, self.thresholds, strict=True)
            if choice is not None and choice.probability > theta
        }

    def settle(self, examples: Sequence[ArgumentExample]) -> None:
        """Choose θ of each role by validation examples."""
        self.thresholds = settled(examples, self.choices(examples))

    def opinions(self, examples: Sequence[ArgumentExample]) -> list[Opinion | None]:
        """How probable the labels of all words of each example are together, words taken as independent."""
        found: list[Opinion | None] = [None] * len(examples)
        for index, scores in self.distributions(examples):
            labels = torch.tensor(examples[index].labels)
            own = scores.gather(1, labels[:, None])[:, 0].double()
            share = float((own - scores.max(1).values.double()).sum().exp())
            best = bool((scores.argmax(1) == labels).all())
            found[index] = Opinion(float(own.sum().exp()), share, best)
        return found

    def answers(self, examples: Sequence[ArgumentExample]) -> list[Answer[ArgumentExample] | None]:
        """The model's own arguments of each predicate, and how probable the chosen words are together."""
        found: list[Answer[ArgumentExample] | None] = [None] * len(examples)
        for index, scores in self.distributions(examples):
            own = best_words(examples[index], scores)
            words = self.chosen(own)
            fillers = tuple((words[role],) if role in words else () for role in ROLES)
            probability = 1.0
            for role, choice in zip(ROLES, own, strict=True):
                probability *= choice.probability if choice and role in words else 1.0
            found[index] = Answer(replace(examples[index], fillers=fillers), probability)
        return found

    def measure(self, examples: Sequence[ArgumentExample]) -> Measured:
        """Right, said and there of all arguments, of which F1 is made; and the loss of ``forward``.

        What cannot be read has no choices, and its arguments count as missed.
        """
        right = said = scored = 0
        loss = 0.0
        there = sum(bool(own) for example in examples for own in example.fillers)
        for index, scores in self.distributions(examples):
            example = examples[index]
            words = self.chosen(best_words(example, scores))
            said += len(words)
            right += sum(
                words.get(role) in own for role, own in zip(ROLES, example.fillers, strict=True)
            )
            scored += 1
            loss += float(_loss(scores, example))
        return Measured(((right, said, there),), scored, loss)


def _loss(scores: Tensor, example: ArgumentExample) -> Tensor:
    """The mean over words of the right label's negative log-probability."""
    labels = torch.tensor(example.labels, device=scores.device)
    return -scores.gather(1, labels[:, None]).mean()
