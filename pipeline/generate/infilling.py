"""What free and attested infilling have in common as sources of candidates: trees → reference spans (§3)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from pipeline.core.annotation import Annotation, joined
from pipeline.core.candidates import LIKE_L
from pipeline.core.corpus_folder import (
    SENTENCES_FILE,
    annotation_of_trees,
    coordinators_of,
    trees_folder,
)
from pipeline.core.draws import annotation_of_draw
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.types import Candidate, Reference, Reject
from pipeline.corpus.coordinators import coordinators_input
from pipeline.executor.run import OnBatch
from pipeline.generate.plan import GoldRows, make_plan, seeds_of
from pipeline.generate.settings import TREEBANK, GenerateSettings
from pipeline.generate.structures import structures_of
from pipeline.generate.targets import annotation_of_targets
from pipeline.infill import request_of
from pipeline.infill.attested_fills import parsed_inputs
from pipeline.infill.base import Fill
from pipeline.infill.candidates import grown
from pipeline.infill.families.known import FAMILIES, check_language_model
from pipeline.models.annotated import annotation_of_model
from pipeline.models.loading import identity, locate_lm
from pipeline.sources.protocol import CoordinationFiles

CUT = "fills cut at three times the reference's length"
"""Fills that T5 did not end by itself: the paper's limit is kept (§3.2.2), but not in silence."""

WITHOUT = "sentences without a reference span"

Made = tuple[list[Candidate | Reject], dict[str, int]]
FillAll = Callable[[Sequence[Reference], OnBatch], list[list[Fill]]]
"""Fills for references, in their order: for each at least one, best first."""


def inputs_of(corpus: Path, trees: str, named: str | None = None) -> dict[str, Any]:
    """Digests of a corpus's trees; of gold ones, the sentences', as their parser does not matter."""
    if trees == TREEBANK:
        seeds = seeds_of(trees_folder(corpus))
        return {"sentences": sha256_of(corpus / SENTENCES_FILE), "seeds": seeds}
    return parsed_inputs(corpus, named)


class SpanSource(CoordinationFiles, ABC):
    """A source of candidates in which something fills a gap beside a reference span.

    See ``sources.CandidateSource``; an item is a reference span in its sentence.

    Raises:
        InputError: no trees, no reference spans.
        SettingsError: a decoding that cannot give as many fills, or spans=given without a file.
    """

    called = "pairs"
    gpus = True
    told: Set[str] = frozenset({"limit", "trees", "sentences", "seeds", "given", "targets"})

    def __init__(self, settings: GenerateSettings) -> None:
        self._settings, self._request = settings, request_of(settings)
        self._structures = structures_of(settings)
        self._coordinators = coordinators_of(settings.corpus)
        self._plan = make_plan(settings)
        self.sizes: Sequence[int] = self._plan.sizes
        inert = set() if settings.decoding == "sample" else {"temperature", "top_p"}
        if settings.decoding != "n-best" or not FAMILIES[settings.family].searches:
            inert |= {"beams"}
        if settings.spans == "given":
            inert |= {"references"}
        self.inert: Set[str] = inert
        self.notes: Mapping[str, int] = self._plan.notes
        self._trees = inputs_of(settings.corpus, settings.trees, settings.named)
        # What is unset leaves rows, and so their fingerprint, as they were before there was such a thing.
        if settings.ranking is None:
            inert |= {"ranking"}
        if settings.prompt is None:
            inert |= {"prompt"}
        if settings.coordinators is None:
            inert |= {"coordinators"}
        if settings.arity == "two":
            inert |= {"arity"}
        if not settings.gap:
            inert |= {"gap"}
        inert |= {"targets"}  # what is drawn from them counts
        if settings.named is None:
            inert |= {"labelled"}

    def inputs(self) -> dict[str, Any]:
        """The trees and given spans."""
        given = self._settings.given
        found = {**self._trees, "given": sha256_of(given) if given else None}
        if self._structures is not None:
            found["structures"] = digest_of(self._structures.facts())
        if self._settings.targets is not None:
            found["targets"] = sha256_of(self._settings.targets)
        return found | coordinators_input(self._coordinators)

    @abstractmethod
    def model(self) -> str:
        """The identity of the language model."""

    @abstractmethod
    def annotation_of_model(self) -> Annotation:
        """What people had annotated for the language model."""

    def annotation(self) -> Annotation:
        """That of the trees, of the language model, and of L where structures are drawn from it."""
        settings, trees = self._settings, self._plan.trees
        parts = [*self.annotation_of_model()]
        if isinstance(trees, GoldRows):
            parts += trees.annotation()
        else:
            parts += annotation_of_trees(trees_folder(settings.corpus, settings.named))
        if LIKE_L in (settings.coordinators, settings.arity) and settings.labelled is not None:
            parts += annotation_of_draw(
                settings.corpus, settings.seed, settings.labelled, validation=False
            )
        if settings.targets is not None:
            parts += annotation_of_targets(settings.targets)
        return joined(parts)

    def items(self, unit: int) -> tuple[list[Reference], dict[str, int]]:
        """The reference spans of a unit, and how many of its sentences have none."""
        references, without = self._plan.references(unit)
        if self._structures is not None:
            references = [self._structures.put_on(each) for each in references]
        return references, {WITHOUT: without}

    @abstractmethod
    def load(self, device: torch.device) -> FillAll:
        """Load the language model; returns what fills references with it."""

    def made_notes(self) -> dict[str, int]:
        """Counts of what no row says, of what was filled since the last call."""
        return {}

    def prepare(self, device: torch.device) -> Callable[[Sequence[Reference], OnBatch], Made]:
        """Load the language model; returns what makes the rows of references.

        Raises:
            ModelError: the model lacks a mask token or sentinels, or does not fit the device.
        """
        fill_all = self.load(device)

        def make(references: Sequence[Reference], on_batch: OnBatch) -> Made:
            def fills_of(some: Sequence[Reference], first: bool) -> list[list[Fill]]:
                # A reference counts once, however many conjuncts it gets.
                return fill_all(some, on_batch if first else lambda _, read: on_batch(0, read))

            known = frozenset(self._coordinators)
            rows, cut = grown(references, fills_of, self._settings, known)
            return list(chain.from_iterable(rows)), {CUT: cut, **self.made_notes()}

        return make


class Infilling(SpanSource):
    """A source in which a language model that runs here fills the gap.

    Raises:
        InputError, SettingsError: as ``SpanSource``.
        ModelError: there is no such model, or it is not of its family.
    """

    def __init__(self, settings: GenerateSettings) -> None:
        super().__init__(settings)
        self._where = locate_lm(settings.lm, settings.model, settings.corpus, settings.seed)
        # Before any worker is launched.
        self._tokenizer = check_language_model(settings.family, self._where)
        FAMILIES[settings.family].check_request(self._tokenizer, self._request)

    def model(self) -> str:
        """The identity of the language model."""
        return identity(self._where)

    def annotation_of_model(self) -> Annotation:
        """What people had annotated for it: nothing, unless it learned from trees."""
        return annotation_of_model(self._where)
