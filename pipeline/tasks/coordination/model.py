"""The supervised model M: a BERT encoder and the endpoint scorer; saving, loading, predicting.

A predictor folder is self-contained: ``model.safetensors`` (encoder and scorer), ``config.json``
(the encoder's), the tokenizer's files, and ``predictor.json``, which has the digests of the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NotRequired, Self, cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from typing_extensions import TypedDict

from pipeline.core.claims import atomic_folder
from pipeline.core.disk import disk_faults
from pipeline.core.documents import RelativeName, check_form, read_json
from pipeline.core.errors import ModelError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.types import Span
from pipeline.models.checkpoint_files import (
    check_digests,
    check_finite,
    shapes_in,
)
from pipeline.models.loading import (
    check_vocabulary,
    length_limit,
    load_config,
    load_tokenizer,
    loading,
    new_encoder,
)
from pipeline.models.optim import evaluating
from pipeline.models.roles import ENCODER, load_encoder, misfit
from pipeline.models.words import BATCH_TOKENS, TOO_LONG, WordEncoding, represent
from pipeline.tasks.coordination.examples import CoordinationExample, instances, obstacle
from pipeline.tasks.coordination.scorer import EndpointScorer, batches
from pipeline.tasks.protocol import Answer, Measured, Model, Opinion

_FORMAT = "conjoin-predictor"
_VERSION = 1
_WEIGHTS, _CARD, _CONFIG = "model.safetensors", "predictor.json", "config.json"


class _Card(TypedDict):
    """The form of ``predictor.json``; ``files`` has digests by name, which older ones lack."""

    mlp_hidden: int
    dropout: float | int
    files: NotRequired[dict[RelativeName, str]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable structure of a coordinator: its extent, half-open, and probability."""

    span: Span
    probability: float


def _read_card(folder: Path) -> _Card:
    """The card of a predictor whose other files are those that were saved with it.

    Raises:
        ModelError: there is none, it is of another format version, or a file is missing or damaged.
        InputError: it is not JSON, or not of this form.
    """
    path, again = folder / _CARD, "train it again, or copy the folder again"
    if not path.is_file():
        raise ModelError(
            f"no {_CARD} here", path=folder, remedy="name the predictor/ folder of a run"
        )
    found = read_json(path, object, remedy=again)
    kind = (found.get("format"), found.get("version")) if isinstance(found, dict) else (None, None)
    if kind != (_FORMAT, _VERSION):
        raise ModelError(
            f"a predictor of another format: {kind[0]!r} version {kind[1]!r}, "
            f"not {_FORMAT!r} version {_VERSION}",
            path=folder,
            remedy="train it again with this version of conjoin"
            if kind[0] == _FORMAT
            else "name the predictor/ folder of a run on a corpus of coordination",
        )
    check_form(found, _Card, path=path, remedy=again)
    card: _Card = found
    if card["mlp_hidden"] < 1 or not 0 <= card["dropout"] < 1:
        raise ModelError("sizes that no predictor has", path=path, remedy=again)
    if "files" in card:
        check_digests(folder, card["files"], "predictor", remedy=again)
    for name in (_WEIGHTS, _CONFIG):
        if not (folder / name).is_file():
            raise ModelError(f"a damaged predictor: {name} is missing", path=folder, remedy=again)
    return card


def _compare(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights that are not those of the predictor that card and configuration describe."""
    found = shapes_in(folder / _WEIGHTS)
    for name in sorted(shapes.keys() | found.keys()):
        if found.get(name) != shapes.get(name):
            raise ModelError(
                f"a damaged predictor: size mismatch, {name} is {found.get(name, 'missing')} where "
                f"{_CONFIG} and {_CARD} say {shapes.get(name, 'nothing')}",
                path=folder,
                remedy="train it again",
            )


class CoordinationPredictor(Model[CoordinationExample]):
    """Encoder, tokenizer and endpoint scorer (§5.1, Eq. 3).

    Args:
        encoder: a Transformer whose output has ``last_hidden_state``; its pooler is dropped.
        tokenizer: its fast tokenizer.
        mlp_hidden: hidden units of the scorer.
        dropout: dropout in the scorer.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        mlp_hidden: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        if getattr(encoder, "pooler", None) is not None:
            # Eq. 3 reads words, not the sentence; an untrained pooler would be unused weight.
            self.encoder.pooler = None  # type: ignore[assignment]
        self.config = config = cast(PretrainedConfig, encoder.config)
        self.mlp_hidden, self.dropout = mlp_hidden, dropout
        self.scorer = EndpointScorer(config.hidden_size, mlp_hidden, dropout)
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
    ) -> Self:
        """A predictor with the pretrained encoder ``where`` and a fresh scorer.

        Args:
            where: what to hand to ``from_pretrained``.
            mlp_hidden: hidden units of the scorer.
            dropout: dropout in the scorer.
            seed: seed of the scorer's weights.
            encoder_dropout: dropout in the encoder; None keeps what it was pretrained with.

        Raises:
            ModelError: the encoder cannot be loaded.
        """
        torch.manual_seed(seed)
        encoder, tokenizer = load_encoder(where)
        if encoder_dropout is not None:
            for module in encoder.modules():
                if isinstance(module, nn.Dropout):
                    module.p = encoder_dropout
        return cls(encoder, tokenizer, mlp_hidden, dropout)

    @property
    def head(self) -> EndpointScorer:
        """All weights but the encoder's."""
        return self.scorer

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.scorer.first.weight.device

    def save(self, folder: Path) -> None:
        """Write the predictor folder; it appears whole or not at all."""
        with atomic_folder(folder) as temporary, disk_faults(temporary):
            self.config.save_pretrained(temporary)
            self.encoding.tokenizer.save_pretrained(temporary)
            weights = {name: value.contiguous() for name, value in self.state_dict().items()}
            save_file(weights, temporary / _WEIGHTS, metadata={"format": "pt"})
            files = {path.name: sha256_of(path) for path in sorted(temporary.iterdir())}
            card = {"format": _FORMAT, "version": _VERSION, "files": files}
            write_json(
                temporary / _CARD, card | {"mlp_hidden": self.mlp_hidden, "dropout": self.dropout}
            )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a predictor folder; nothing else is needed, nor a network.

        Raises:
            ModelError: no predictor is there, one of another format version, or a damaged one.
            InputError: its card is not JSON, or not of this form.
        """
        card = _read_card(folder)
        where = str(folder)
        config, tokenizer = load_config(where), load_tokenizer(where)
        if not ENCODER.takes(config):
            raise misfit(where, config, ENCODER)
        sizes = card["mlp_hidden"], card["dropout"]
        with loading(where, "a predictor"):
            # First without memory: whatever the configuration says is only compared.
            with torch.device("meta"):
                made = cls(new_encoder(config), tokenizer, *sizes)
            _compare(folder, {name: tuple(v.shape) for name, v in made.state_dict().items()})
            predictor = cls(new_encoder(config), tokenizer, *sizes)
            predictor.load_state_dict(load_file(folder / _WEIGHTS))
        check_finite(predictor, where)
        check_vocabulary(where, cast(PreTrainedModel, made.encoder), tokenizer, special=True)
        return predictor.eval()

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
        for index, scores in self.distributions(sentences, coordinators, batch_tokens):
            i, b = divmod(int(scores.argmax()), scores.shape[1])
            span = Span(i, coordinators[index] + 2 + b)
            found[index] = Prediction(span, float(scores[i, b].exp()))
        return found

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
            None if own is None else Answer(replace(e, extents=(own.span,)), own.probability)
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
            for batch in self.encoding.batches(asked, batch_tokens):
                encoded = [pair[1] for pair in batch]
                h = represent(self.encoder, self.encoding, encoded, self.device)
                order = (index for words, _ in batch for index in asked[words])
                asked_of = [
                    (row, coordinators[index], len(words))
                    for row, (words, _) in enumerate(batch)
                    for index in asked[words]
                ]
                for part in batches(asked_of):
                    for scores in self.scorer(h, part):
                        yield next(order), scores.cpu()
