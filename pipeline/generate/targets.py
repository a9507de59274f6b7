"""Targets of error-driven generation: structures that a predictor gets wrong, found by ``diagnose``.

A reference of n words with k conjuncts is expected to make a structure of k·n + k - 1 words. A span counts
as much as the targets want structures that it could make, divided by how often U would offer such a
one to a uniform draw: so what is drawn comes near the targets, as far as each sentence allows.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import Final, Protocol

from pipeline.core.annotation import Annotation, place_name, recorded
from pipeline.core.buckets import bucket_of
from pipeline.core.cards.targets import TargetsFile
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.structures import MOST_CONJUNCTS, PRECONJUNCTION_OF
from pipeline.core.types import (
    COORDINATORS,
    REFERENCE_LABELS,
    Reference,
    SourceSentence,
    Span,
    Structure,
)
from pipeline.generate.structures import random_of
from pipeline.infill.decoding import key_of
from pipeline.text.constituents import constituent_spans
from pipeline.text.trees import fitting_tree

FORMAT: Final = 1

_SAMPLE = 2000
"""Trees, the first ones, that tell what U offers."""

_NO_LENGTH = "no reference makes a structure of that many conjuncts and words"
_NO_REFERENCE = "the label is none of a reference span's"
"""Why a structure that is wanted cannot be generated."""

_IN_VAIN = "of 1,000 structures that the targets want cannot be made"

_REMEDY = "make it with `conjoin diagnose RUN`"


class _Trees(Protocol):
    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str | None]]:
        """Sentences with their trees."""


_Option = tuple[Structure, float]
_Kind = tuple[str, int, int]
"""Label, bucket and number of conjuncts."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Draws references and their structures by what is wanted.

    Attributes:
        seed: of the draws.
        edges: of the buckets of length.
        commas: share of long structures with a comma before the coordinator.
        wanted: structures of a kind, with the share of each.
        offered: how often a uniform draw from U would give a reference that makes this kind.
        rarest: the same of a kind that none of the trees looked at makes.
        unmakeable: why some structures are wanted in vain → their share of what is wanted.
    """

    seed: int
    edges: Sequence[int]
    commas: float
    wanted: Mapping[_Kind, Sequence[_Option]]
    offered: Mapping[_Kind, float]
    rarest: float
    unmakeable: Mapping[str, float] = field(default_factory=dict)
    _known: dict[tuple[str, int], list[_Option]] = field(default_factory=dict)

    def notes(self) -> dict[str, int]:
        """How much of what is wanted cannot be made, by reason, in structures of 1,000."""
        return {f"{_IN_VAIN}: {why}": round(1000 * part) for why, part in self.unmakeable.items()}

    def weight(self, span: Span, label: str) -> float:
        """How much a span is wanted."""
        return fsum(weight for _, weight in self._options(label, span))

    def put_on(self, reference: Reference) -> Reference:
        """The reference with a structure drawn for it."""
        rng = random_of(self.seed, key_of(reference))
        options = self._options(reference.label, reference.span)
        (structure,) = rng.choices([each for each, _ in options], [weight for _, weight in options])
        comma = structure.conjuncts > 2 and rng.random() < self.commas
        return replace(reference, structure=replace(structure, comma=comma))

    def _options(self, label: str, span: Span) -> list[_Option]:
        """What is wanted of a span; where a sentence begins, nothing with a preconjunction.

        That would have to take over the capital.
        """
        options = self._options_of(label, len(span))
        return options if span.start else [each for each in options if not each[0].preconjunction]

    def _options_of(self, label: str, words: int) -> list[_Option]:
        if (label, words) not in self._known:
            kinds = [(label, *each) for each in _made(self.edges, words)]
            self._known[label, words] = [
                (structure, share / self.offered.get(kind, self.rarest))
                for kind in kinds
                for structure, share in self.wanted.get(kind, ())
                if share
            ]
        return self._known[label, words]


def _made(edges: Sequence[int], words: int) -> Iterator[tuple[int, int]]:
    """Bucket and number of conjuncts of the structures that a span of so many words makes."""
    for count in range(2, MOST_CONJUNCTS + 1):
        yield bucket_of(edges, count * words + count - 1), count


def read_targets(
    path: Path,
    seed: int,
    trees: _Trees,
    count: int,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> Targets:
    """The targets of a file, held against what the trees offer.

    Args:
        path: ``targets.json``.
        seed: of the draws.
        trees: of U.
        count: how many of them are used.
        coordinators: of the corpus; the file may name no others.

    Raises:
        InputError: there is no such file, it is none of targets, or none of them is of a reference's label,
            or one has a coordinator that the corpus does not.
    """
    found: TargetsFile = read_json(path, TargetsFile, remedy=_REMEDY)
    for number, cell in enumerate(found["cells"]):
        if cell["coordinator"].lower() not in coordinators:
            raise InputError(
                f"cells[{number}].coordinator: must be one of {', '.join(sorted(coordinators))}",
                path=path, remedy=_REMEDY,
            )  # fmt: skip
    edges = found["edges"]
    if sorted(set(edges)) != edges:
        raise InputError("the edges do not ascend", path=path, remedy=_REMEDY)
    wanted: defaultdict[_Kind, list[_Option]] = defaultdict(list)
    unmakeable: defaultdict[str, float] = defaultdict(float)
    whole = fsum(cell["share"] for cell in found["cells"]) or 1.0
    for cell in found["cells"]:
        word, pre = cell["coordinator"], cell.get("preconjunction")
        if pre is not None and PRECONJUNCTION_OF.get(word.lower()) != pre:
            raise InputError(f"{pre[:20]!r} … {word!r} is no pair", path=path, remedy=_REMEDY)
        if cell["label"] in REFERENCE_LABELS:
            kind = cell["label"], cell["length"], cell["conjuncts"]
            wanted[kind].append((Structure(word, pre, cell["conjuncts"]), cell["share"]))
            if not _can_be_made(edges, cell["length"], cell["conjuncts"]):
                unmakeable[_NO_LENGTH] += cell["share"] / whole
        else:
            unmakeable[_NO_REFERENCE] += cell["share"] / whole
    if not any(share for options in wanted.values() for _, share in options):
        raise InputError(
            f"nothing is wanted of the labels {', '.join(REFERENCE_LABELS)}",
            path=path,
            remedy=_REMEDY,
        )
    rows = range(min(count, _SAMPLE))
    rarest = 1 / max(len(rows), 1)
    offered: defaultdict[_Kind, float] = defaultdict(lambda: rarest)
    for source, bracketing in trees.read(rows):
        tree = fitting_tree(bracketing, source.words)
        spans = constituent_spans(source.words, tree) if tree else []
        for span, label in spans:
            for bucket, conjuncts in _made(edges, len(span)):
                offered[label, bucket, conjuncts] += 1 / len(spans) / len(rows)
    return Targets(
        seed, tuple(edges), found["commas"], dict(wanted), dict(offered), rarest, dict(unmakeable)
    )


def annotation_of_targets(path: Path) -> Annotation:
    """What people had annotated for a file of targets: L, and what its run's predictor learned from.

    Raises:
        InputError: there is no such file, or it is none of targets.
    """
    found: TargetsFile = read_json(path, TargetsFile, remedy=_REMEDY)
    return recorded(found, place_name(path.parent))


def _can_be_made(edges: Sequence[int], bucket: int, count: int) -> bool:
    """Whether so many conjuncts of equal length, and what links them, have a length of the bucket."""
    if bucket >= len(edges):
        return bucket == len(edges)
    longest = (edges[bucket] + 1) // count - 1  # conjunct that fits
    return longest > 0 and (bucket, count) in _made(edges, longest)
