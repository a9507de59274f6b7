"""Label-preserving span substitution: a conjunct gives way to a constituent that somebody wrote.

Of each labelled structure with r = 1, r ~ Bernoulli(α), one conjunct is replaced by a constituent with the
structure's label, which a language model chooses as it does in attested infilling: the structure without
that conjunct is the reference, what it chooses is what it would put beside it. Boundaries move with the
span. Donors are the trees of U, sentences of the training split without coordination: so none is of L, of
its validation sentences or of another split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pipeline.core.files import digest_of
from pipeline.core.settings import DecodingSettings
from pipeline.core.structures import COMMA, PRECONJUNCTION_OF
from pipeline.core.types import (
    REFERENCE_LABELS,
    Coordination,
    PlacedConjunct,
    Reference,
    Sentence,
    Span,
    Structure,
)
from pipeline.infill import InfillRequest, load_ranker
from pipeline.infill.attested_fills import fill_attested, parsed_pool
from pipeline.infill.base import Fill
from pipeline.infill.families.known import check_language_model, family_of_checkpoint
from pipeline.models.loading import identity
from pipeline.models.sampling import uniform
from pipeline.tasks.augmentation import Labelled, Material, happens, needed_by
from pipeline.tasks.coordination.examples import CoordinationExample

_FOR_DONORS = 5  # apart from the other streams of the same seed in stream.py and optimizer.py

DONORS: int = DecodingSettings.model_fields["pool"].default
"""M: constituents that the language model chooses among, as many as attested infilling has by default."""


@dataclass(frozen=True, slots=True)
class Change:
    """Words of a sentence and what stands in their place."""

    span: Span
    words: tuple[str, ...]


class Substitutions:
    """Variants some of whose conjuncts are constituents of other sentences.

    Raises:
        InputError: the corpus has no trees of U, or none has a constituent to offer.
        ModelError: the language model cannot fill.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"alpha", "augment_lm"})
    facts: Mapping[str, Any]

    def __init__(self, material: Material[CoordinationExample]) -> None:
        self._material = material
        with needed_by("substitute", "a masked LM or an encoder-decoder"):
            family = family_of_checkpoint(material.lm)
            tokenizer = check_language_model(family, material.lm)
            self._ranker = load_ranker(family, material.lm, InfillRequest(), device=material.device)
        self._pool = parsed_pool(material.corpus, tokenizer)
        self.facts = {
            "language model": identity(material.lm), "pool": self._pool.digest,
            "structures": digest_of([_structures(each) for each in material.labelled]),
        }  # fmt: skip
        structures = [(e, c) for e in material.labelled for c in e.sentence.coordinations]
        fixed = sum(not replaceable(each, coordination) for each, coordination in structures)
        self.note = (
            f"{fixed:,} of {len(structures):,} labelled structures have no conjunct that may give way: they "
            "stay as they are"
            if fixed
            else ""
        )

    def variants(self, epoch: int) -> list[CoordinationExample]:
        """Each example with its substitutions."""
        material = self._material
        changes: list[list[Change]] = [[] for _ in material.labelled]
        owners: list[tuple[int, Span]] = []
        references: list[Reference] = []
        for n, each in enumerate(material.labelled):
            for coordination, which in self._drawn(each, epoch):
                owners.append((n, coordination.conjuncts[which]))
                references.append(without(each.sentence, coordination, which))
        seed = np.random.SeedSequence([material.seed, _FOR_DONORS, epoch]).generate_state(1)
        fills = fill_attested(self._ranker, self._pool, references, count=DONORS, seed=int(seed[0]))
        for (n, span), found in zip(owners, fills, strict=True):
            if words := _words(found[0]):
                changes[n].append(Change(span, words))
        made = [
            substituted(each.example, own)
            for each, own in zip(material.labelled, changes, strict=True)
        ]
        fits = material.readable([variant.words for variant in made])
        return [
            replace(variant if fit else each.example, variant=True)
            for each, variant, fit in zip(material.labelled, made, fits, strict=True)
        ]

    def _drawn(
        self, labelled: Labelled[CoordinationExample], epoch: int
    ) -> list[tuple[Coordination, int]]:
        """The structures of a sentence to change in an epoch, each with the number of a conjunct."""
        sentence, seed = labelled.sentence, self._material.seed
        found = []
        for each in sentence.coordinations:
            at = each.coordinator
            if not happens(self._material.alpha, seed, epoch, sentence.sentence_id, at):
                continue
            if open_ := replaceable(labelled, each):
                share = uniform(seed, f"{sentence.sentence_id}\0conjunct", epoch, at)
                found.append((each, open_[int(share * len(open_))]))
        return found


def _structures(labelled: Labelled[CoordinationExample]) -> list[Any]:
    """What decides beside the boundaries which conjuncts of a sentence give way, and to what."""
    return [
        [asdict(each) for each in labelled.sentence.coordinations],
        sorted(labelled.protected),
    ]


def replaceable(labelled: Labelled[CoordinationExample], coordination: Coordination) -> list[int]:
    """The conjuncts of a structure that may give way.

    The structure is learned from and has a label that constituents of U are offered for. A conjunct in
    which another structure is, or one begins or ends, stays; so does the sentence's first word, whose
    capital a donor would have to take over.
    """
    example = labelled.example
    if (
        coordination.label not in REFERENCE_LABELS
        or coordination.coordinator not in example.coordinators
    ):
        return []
    fixed = labelled.protected
    bounds = [bound for each in example.extents for bound in (each.start, each.end)]
    return [
        number
        for number, span in enumerate(coordination.conjuncts)
        if span.start
        and not fixed.intersection(range(span.start, span.end))
        and not any(span.start < bound < span.end for bound in bounds)
    ]


def without(sentence: Sentence, coordination: Coordination, which: int) -> Reference:
    """A structure without one of its conjuncts, as a reference that waits for it.

    What stands between the conjuncts is put as generation would: a comma, the coordinator.
    """
    words, at = sentence.words, coordination.coordinator
    kept = [span for number, span in enumerate(coordination.conjuncts) if number != which]
    start, count = coordination.start, len(coordination.conjuncts)
    pre = PRECONJUNCTION_OF.get(coordination.word.lower())
    paired = pre is not None and start > 0 and words[start - 1].lower() == pre
    comma = count > 2 and words[at - 1] == COMMA
    own, *others = [words[span.start : span.end] for span in kept]
    before = words[: start - paired]
    return Reference(
        sentence.sentence_id,
        (*before, *own, *words[coordination.end :]),
        Span(len(before), len(before) + len(own)),
        coordination.label,
        sentence.license,
        Structure(coordination.word, words[start - 1] if paired else None, count, comma),
        tuple(PlacedConjunct(each) for each in others),
    )


def _words(fill: Fill) -> tuple[str, ...]:
    """The words of a fill; none where there was no donor, or the model could not read the sentence."""
    return fill.attested.words if fill.attested is not None and fill.reason is None else ()


def substituted(example: CoordinationExample, changes: Sequence[Change]) -> CoordinationExample:
    """An example with some of its words changed, and its boundaries where they then are.

    Args:
        example: what to change.
        changes: of words that overlap with no other change; no coordinator is among them, and no
            extent begins or ends inside.
    """
    words = list(example.words)
    for change in sorted(changes, key=lambda each: each.span, reverse=True):
        words[change.span.start : change.span.end] = change.words

    def moved(place: int) -> int:
        return place + sum(
            len(change.words) - len(change.span) for change in changes if change.span.end <= place
        )

    return replace(
        example,
        words=tuple(words),
        coordinators=tuple(map(moved, example.coordinators)),
        extents=tuple(Span(moved(each.start), moved(each.end)) for each in example.extents),
        conjuncts=(),  # which nobody reads of a variant
    )
