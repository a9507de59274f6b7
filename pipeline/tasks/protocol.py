"""What a task is to training and evaluation: examples, a model of them, and the task that makes both.

An example carries its answer: the boundaries of its structures, the sense of a pair, the choice of a
question. So all tasks are asked the same: how probable is this answer, is it your best, and what is your
own? Algorithm 1, the acceptance rules, the choice of weights, variants, checkpoints and resuming know no more
than this module has. A task is a folder beside this file and a line in ``known.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor, nn

from pipeline.core.annotation import Annotation
from pipeline.core.answered import AnsweredInstance
from pipeline.core.draws import held_out
from pipeline.core.tally import Tally
from pipeline.models.words import WordEncoding
from pipeline.tasks.augmentation import Augmentation


class Example(Protocol):
    """What a model learns from: words, and the answers to all that is asked of them.

    A frozen dataclass whose fields JSON can hold: training hashes them, and augmentations replace ``words``
    and ``variant``.
    """

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the encoder reads."""

    @property
    def variant(self) -> bool:
        """Whether it was made of another example of its batch, and is encoded by itself."""

    @property
    def instances(self) -> int:
        """How many answers it has: terms of the loss."""

    @property
    def row(self) -> Mapping[str, Any]:
        """The answer of an example of one instance, by the names of ``Task.answer_columns``."""

    def joined(self, others: Sequence[Self]) -> Self:
        """One example of this and others of the very same words."""


E = TypeVar("E", bound=Example)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a model says of an answer that it is shown.

    ``probability`` is in [0, 1]; ``share`` is that over the probability of the best answer to the same
    question, in [0, 1]: 1 of the best, 0 only where floats are at their end. ``best``: the answer is the
    model's own (of equally probable ones the first).
    """

    probability: float
    share: float
    best: bool


@dataclass(frozen=True, slots=True)
class Answer(Generic[E]):
    """A model's own answer: the example with it in the place of the given one, and its probability."""

    example: E
    probability: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What a model made of some examples; measures of several groups of examples are added.

    Attributes:
        counts: of each group of answers (one; a group a sense …) how many were right, how many the model
            said and how many there were.
        scored: instances whose right answer the model can score.
        loss: their negative log-likelihoods, added up.
    """

    counts: tuple[tuple[int, int, int], ...]
    scored: int
    loss: float


@dataclass(frozen=True, slots=True)
class Learnable(Generic[E]):
    """Sentences as examples.

    Attributes:
        learned: with only what the model can learn.
        measured: with everything that is in them, to be measured on.
        tally: the instances kept and refused.
        notes: counts of what else is to be known of ``learned``, by what is counted.
    """

    learned: list[E]
    measured: list[E]
    tally: Tally
    notes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: "Model[E]", measured: list[E]) -> "Learnable[E]":
        """Examples of one instance each or of several, without those that the model cannot learn."""
        tally, learned = Tally(), []
        for example, reason in zip(measured, model.obstacles(measured), strict=True):
            if reason is None:
                tally.keep(example.instances)
                learned.append(example)
            else:
                tally.refuse(reason, example.instances)
        return cls(learned, measured, tally)


@dataclass(frozen=True, slots=True)
class Drawn(Generic[E]):
    """A candidate (x', y') as drawn: an example of one instance, with the answer of whoever made it.

    ``size`` is what acceptance is counted by besides the label: of coordination the words of the fill.
    ``place`` tells it from other candidates of the same words that are one example with it.
    """

    candidate_id: str
    label: str
    size: int
    place: Hashable
    example: E


class Model(nn.Module, ABC, Generic[E]):
    """An encoder and a head on it.

    What is scored is scored without dropout or gradient.
    """

    encoder: nn.Module
    encoding: WordEncoding

    @property
    @abstractmethod
    def head(self) -> nn.Module:
        """All weights but the encoder's."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.head.parameters()).device

    @abstractmethod
    def forward(self, examples: Sequence[E], weights: Sequence[float] | None = None) -> Tensor:
        """Σ weight · negative log-likelihood of all instances; without weights each counts 1."""

    @abstractmethod
    def obstacles(self, examples: Sequence[E]) -> list[str | None]:
        """Why each of some examples of one instance cannot be learned; None where it can."""

    @abstractmethod
    def opinions(self, examples: Sequence[E]) -> list[Opinion | None]:
        """Of the answer of each of some examples of one instance; None where it has no probability."""

    @abstractmethod
    def answers(self, examples: Sequence[E]) -> list[Answer[E] | None]:
        """The model's own answers to the same questions; None where it has none."""

    @abstractmethod
    def measure(self, examples: Sequence[E]) -> Measured:
        """How the model does on examples of any number of instances."""

    def settle(self, examples: Sequence[E]) -> None:
        """Fix by the validation examples what is chosen after the weights: thresholds, say."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left for ``complete`` to learn."""
        return True

    def complete(
        self, labelled: Sequence[E], generated: Sequence[E], seed: int
    ) -> Mapping[str, int]:
        """Learn what is learned when the weights have been chosen, and changes no figure that chose them.

        Args:
            labelled: L.
            generated: candidates that were accepted, the last ones first.
            seed: of the run.

        Returns:
            Counts of what it learned from.
        """
        del labelled, generated, seed
        return {}

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model's folder; it appears whole or not at all."""


Row = Mapping[str, Any]
"""A row of predictions, as ``Evaluation.schema`` has it."""


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """What rows of predictions come to.

    Attributes:
        figures: in [0, 1] by the columns of ``Evaluation.sizes``; None where there is no instance.
        criteria: other figures of the same predictions, by name.
        unscored: instances of which the model could say nothing; they count as wrong.
        counts: right, said and there of each instance by group, ``[instances, groups, 3]``: what
            ``core.comparison`` resamples, and ``core.figures.figure`` makes the first figure of.
        of_columns: the same by the columns of ``figures``, each of which is made of its own; zeros of an
            instance that is not in the column.
    """

    figures: Mapping[str, float | None]
    criteria: Mapping[str, float | None]
    unscored: int
    counts: npt.NDArray[np.int64]
    of_columns: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)


def counts_among(
    counts: npt.NDArray[np.int64], columns: Mapping[str, Sequence[int]]
) -> dict[str, npt.NDArray[np.int64]]:
    """The counts of columns of which each has some instances, by their places."""
    found = {name: np.zeros_like(counts) for name in columns}
    for name, places in columns.items():
        found[name][list(places)] = counts[list(places)]
    return found


I = TypeVar("I")  # noqa: E741 - an instance, as E is an example


class Evaluation(ABC, Generic[I]):
    """How a task's models are evaluated: on which instances, by which figures.

    Attributes:
        schema: of the rows of predictions.
        columns: names of the figures that tables always have; ``overall`` is the one that systems are
            compared by.
        title: what the figures are, for tables: ``Accuracy (%) of …``.
        figure: what ``overall`` is called within a sentence: ``accuracy``; a run says what its validation
            examples give by this name, and a report, too.
        together: what ``documents`` names, in the plural.
    """

    title: ClassVar[str] = "Figures (%)"
    figure: ClassVar[str] = "figure"
    together: ClassVar[Literal["documents", "sentences"]] = "documents"

    schema: ClassVar[pa.Schema]
    columns: ClassVar[Sequence[str]]

    @abstractmethod
    def instances(self, corpus: Path, split: str, limit: int | None) -> Sequence[I]:
        """The instances of a split, of its first ``limit`` sources; at least one.

        Raises:
            InputError: there is no corpus, or nothing to evaluate in the split.
        """

    @abstractmethod
    def digest(self, instances: Sequence[I]) -> str:
        """What tells these instances and their answers from others."""

    @abstractmethod
    def documents(self, instances: Sequence[I]) -> Sequence[str]:
        """The id of each instance's document: instances of one are drawn together in resampling."""

    @abstractmethod
    def sizes(self, instances: Sequence[I]) -> Mapping[str, int]:
        """How many instances each column is of: those of ``columns``, and further ones that have some."""

    @abstractmethod
    def rows(self, model: Any, instances: Sequence[I], batch_tokens: int) -> Sequence[Row]:
        """What a model says of each instance, in order."""

    @abstractmethod
    def judged(self, instances: Sequence[I], rows: Sequence[Row]) -> JudgedRows:
        """What rows come to, in the order of the instances."""

    @abstractmethod
    def shown(self, instance: I) -> AnsweredInstance | None:
        """An instance for people to read, without answers; None where a report shows nothing of it."""

    @abstractmethod
    def said(self, instance: I, row: Row) -> tuple[str, bool]:
        """What a row of predictions answers, in words, and whether ``overall`` counts it as right.

        Asked of instances that are shown.
        """


class HeadSettings(Protocol):
    """Settings of training that shape a fresh model."""

    @property
    def corpus(self) -> Path:
        """The corpus folder."""

    @property
    def labelled(self) -> str:
        """Size of the draw of L."""

    @property
    def seed(self) -> int:
        """Of the draw."""

    @property
    def logit_adjustment(self) -> float:
        """τ of logit adjustment; 0: none."""

    @property
    def choices_only(self) -> bool:
        """Whether a question's context is not read."""

    @property
    def rnn_layers(self) -> int:
        """GRU layers of the head."""

    @property
    def rnn_units(self) -> int:
        """Their width."""

    @property
    def mlp_hidden(self) -> int:
        """Hidden units of the head."""

    @property
    def dropout(self) -> float:
        """Dropout in the head."""

    @property
    def encoder_dropout(self) -> float | None:
        """Dropout in the encoder; None: as it was pretrained."""


class CandidateRows(Protocol[E]):
    """What training reads of a candidate's row."""

    columns: pa.Schema
    """Columns that each row must have, without nulls; ``candidate_id``, ``sentence_id`` and ``label`` are
    among them."""

    kept: pa.Schema
    """Those that a copy keeps, in their order and with the types that `datasets` would give."""

    def check(self, batch: pa.RecordBatch, place: str, first: int) -> None:
        """Check rows of ``columns``, in which no value may be null, and ``score``, which may be.

        The first of them is row ``first`` of the file ``place``.

        Raises:
            InputError: a row is at fault; it is named, with what is wrong with it.
        """

    def keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """64 bits of all that training reads of each row but the sentence's id, shape (rows,)."""

    def drawn(self, row: Mapping[str, Any]) -> Drawn[E]:
        """The candidate of a row of ``kept``."""


class Task(ABC, Generic[E]):
    """A task.

    Attributes:
        name: as ``ingest.json`` and the card of a model have it.
        options: the settings of ``train`` that it alone knows; other tasks refuse them.
        augmentations: kinds of ``--augment`` beyond those that every task has.
        answer_columns: what ``scored.parquet`` says of an answer.
        rows: how training reads candidates.
        evaluation: how models are evaluated.
    """

    name: ClassVar[str]
    options: ClassVar[AbstractSet[str]]
    augmentations: ClassVar[Mapping[str, type[Augmentation[Any]]]]
    answer_columns: ClassVar[Sequence[pa.Field]]
    rows: ClassVar[CandidateRows[Any]]
    evaluation: ClassVar[Evaluation[Any]]

    @abstractmethod
    def draw(self, corpus: Path, seed: int, labelled: str) -> tuple[Sequence[Any], Sequence[Any]]:
        """L and the validation set of a draw: sources with ``sentence_id`` and, for masks, ``tags``.

        Raises:
            InputError: there is no such draw, or it does not fit the corpus.
        """

    @abstractmethod
    def annotation(self, corpus: Path, seed: int, labelled: str) -> Annotation:
        """What people had annotated for a draw."""

    @abstractmethod
    def examples(self, sources: Sequence[Any], model: Any) -> Learnable[E]:
        """What is to be learned of sources, and what is to be measured on.

        Each source that can be learned from is one example, in order, with all its instances.
        """

    @abstractmethod
    def labels(self, source: Any) -> AbstractSet[str]:
        """The labels of a source's instances that candidates are expected to have, too."""

    @abstractmethod
    def protected(self, source: Any) -> frozenset[int]:
        """Words that say where the answer is, which no variant changes."""

    def place(self, source: Any) -> str:
        """What tells a source from others of its sentence, whose variants are drawn apart; "": nothing."""
        return ""

    def kept_apart(self, labelled: Sequence[Any], validation: Sequence[Any]) -> AbstractSet[str]:
        """Ids of sources of which no candidate may be learned: those of L and of the validation set."""
        return {source.sentence_id for source in (*labelled, *validation)}

    def held_out(self, corpus: Path) -> AbstractSet[str]:
        """Ids of sources of dev and of tests, of which no candidate may be learned, either.

        Raises:
            InputError: the corpus is missing or damaged.
        """
        return held_out(corpus)

    @abstractmethod
    def create(self, where: str, settings: HeadSettings, seed: int) -> Model[E]:
        """A model with the pretrained encoder ``where`` and a fresh head, drawn with ``seed``.

        Raises:
            ModelError: the encoder cannot be loaded.
        """

    @abstractmethod
    def load(self, folder: Path) -> Model[E]:
        """The model of a folder that ``Model.save`` wrote.

        Raises:
            ModelError: there is none, or a damaged one.
        """
