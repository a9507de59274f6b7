"""Variants of labelled examples: what an augmentation is, a maker of one for every example, in each epoch.

An *epoch* is a pass over L as ``stream.LabelledStream`` draws it: the examples at positions e·|L| up to
(e + 1)·|L| of SAMPLE(L), each example once, warm-up steps counted. So a variant is made anew each time
that its example is drawn, and what it is depends on the seed, the epoch and the sentence alone, not on
the step, the batch or where a run was interrupted.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import torch

from pipeline.core.errors import ModelError
from pipeline.core.types import Sentence
from pipeline.models.sampling import uniform
from pipeline.models.words import WordEncoding

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Labelled(Generic[E]):
    """A sentence of L, as much of it as the model learns from, and the words that no variant changes.

    ``place`` tells it from others of the same sentence (``Task.place``).
    """

    sentence: Sentence
    example: E
    protected: frozenset[int]
    place: str = ""

    @property
    def name(self) -> str:
        """What its draws go by."""
        own = self.sentence.sentence_id
        return f"{own}\0{self.place}" if self.place else own


@dataclass(frozen=True, slots=True)
class Material(Generic[E]):
    """What augmentations are made from.

    Attributes:
        corpus: the corpus folder.
        labelled: L; not empty.
        seed: of the run.
        encoding: the predictor's tokenizer.
        lm: what to hand to ``from_pretrained`` for a language model.
        device: where that runs.
        alpha: α, the probability that a word (a coordination) is changed.
        mask_tags: S, as ``coarse_tags.classes_of`` reads it.
        fill_mode: ``multi-argmax`` and so on.
    """

    corpus: Path
    labelled: Sequence[Labelled[E]]
    seed: int
    encoding: WordEncoding
    lm: str
    device: torch.device
    alpha: float
    mask_tags: str
    fill_mode: str

    def readable(self, sentences: Sequence[tuple[str, ...]]) -> list[bool]:
        """Whether the encoder can read each sentence whole."""
        return [self.encoding.fits(each) for each in self.encoding.encode(sentences)]


class Augmentation(Protocol[E]):
    """A kind of variants, made from a ``Material``.

    Attributes:
        takes: the settings of ``train`` that change its variants, besides ``augment``.
        facts: what the variants depend on beyond settings, seed and L; JSON can hold it.
        note: what a person should know before training; "": nothing.
    """

    takes: ClassVar[frozenset[str]]
    facts: Mapping[str, Any]
    note: str

    def __init__(self, material: Material[E]) -> None:
        """Make ready."""

    def variants(self, epoch: int) -> list[E]:
        """The variants of L in an epoch, in L's order: a pure function of (seed, epoch).

        A variant that the encoder could not read whole is its example again.
        """


def happens(alpha: float, seed: int, epoch: int, sentence_id: str, place: int) -> bool:
    """r_i ~ Bernoulli(α)."""
    return uniform(seed, f"{sentence_id}\0augmentation", epoch, place) < alpha


@contextmanager
def needed_by(kind: str, what: str) -> Iterator[None]:
    """Where a model cannot be used in this block, say what for, and how to name another.

    Args:
        kind: of augmentation, as ``--augment`` names it.
        what: it needs.

    Raises:
        ModelError: the model cannot be used.
    """
    try:
        yield
    except ModelError as error:
        raise ModelError(
            f"--augment {kind} needs {what}: {error.what}", remedy="name one by --augment-lm"
        ) from error
