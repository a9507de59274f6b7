"""What an augmentation is: a maker of one twin for every labelled example, anew in each epoch.

An *epoch* is a pass over L as ``stream.LabelledStream`` draws it: the examples at positions e·|L| up to
(e + 1)·|L| of SAMPLE(L), each example once, warm-up steps counted. So a twin is made anew each time that its
example is drawn, and what it is depends on the seed, the epoch and the sentence alone, not on the step,
the batch or where a run was interrupted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch

from pipeline.core.types import Sentence
from pipeline.models.words import WordEncoding
from pipeline.tasks.coordination.examples import Example


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence of L, and as much of it as the predictor learns from."""

    sentence: Sentence
    example: Example


@dataclass(frozen=True, slots=True)
class Material:
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
    labelled: Sequence[Labelled]
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


class Augmentation(Protocol):
    """A kind of twins, made from a ``Material``.

    Attributes:
        takes: the settings of ``train`` that change its twins, besides ``augment``.
        facts: what the twins depend on beyond settings, seed and L; JSON can hold it.
        note: what a person should know before training; "": nothing.
    """

    takes: ClassVar[frozenset[str]]
    facts: Mapping[str, Any]
    note: str

    def twins(self, epoch: int) -> list[Example]:
        """The twins of L in an epoch, in L's order: a pure function of (seed, epoch).

        A twin that the encoder could not read whole is its example again.
        """
