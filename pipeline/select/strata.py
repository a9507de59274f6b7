"""Strata of coordinations: by label, length, coordinator and number of conjuncts, as a draw of L has them.

The length of a coordination is the number of words from its first conjunct's first to its last conjunct's
last. L's deciles cut lengths into buckets: a bucket ends at the length that a tenth, two tenths and so on of
L's coordinations do not exceed, so lengths that many share make fewer than ten. All numbers here are whole
ones until they are shown, so that every machine makes the same selection of them.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.annotation import Annotation
from pipeline.core.buckets import bucket_of
from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around
from pipeline.core.draws import annotation_of_draw, read_draw
from pipeline.core.errors import InputError

Stratum = tuple[str, ...]
"""The values of what the strata are made by, as text, lengths as the number of their bucket."""

FEATURES = ("label", "length", "coordinator", "arity")
"""What strata may be made by."""

Features = Mapping[str, str | int]
"""What a coordination has under each of the names of ``FEATURES``."""


def features(row: Mapping[str, Any]) -> Features:
    """The features of the coordination of a row of candidates."""
    spans = row["conjuncts"]
    words = spans[-1]["end"] - spans[0]["start"]
    return _features(row["label"], words, row["words"][row["coordinator"]], len(spans))


def _features(label: str, words: int, coordinator: str, conjuncts: int) -> Features:
    return dict(zip(FEATURES, (label, words, coordinator.lower(), conjuncts), strict=True))


@dataclass(frozen=True, slots=True)
class Strata:
    """How coordinations are put into strata.

    Attributes:
        by: names among ``FEATURES``.
        edges: the greatest length of each bucket but the last, in ascending order.
    """

    by: Sequence[str]
    edges: Sequence[int]

    def of(self, about: Features) -> Stratum:
        """The stratum of a coordination."""
        return tuple(
            f"{bucket_of(self.edges, int(about[name])):02}"
            if name == "length"
            else str(about[name])
            for name in self.by
        )


def features_of_draw(path: Path) -> list[Features]:
    """The features of the coordinations of a draw of L, those that are evaluated.

    Args:
        path: ``draws/seed-S/N.json`` of a corpus, whose sentences are in the nearest folder above it.

    Raises:
        InputError: there is no draw or no corpus, they are damaged or do not fit each other, or the draw
            has no coordination.
    """
    labelled, _ = read_draw(*_draw_at(path))
    found = [
        _features(c.label, c.end - c.start, c.word, len(c.conjuncts))
        for sentence in labelled for c in sentence.evaluable
    ]  # fmt: skip
    if not found:
        raise InputError("no coordination in the sentences of the draw", path=path)
    return found


def annotation_of_like(path: Path) -> Annotation:
    """The record of rows that are like a draw of L, whose boundaries are read.

    Raises:
        InputError: as ``features_of_draw``.
    """
    return annotation_of_draw(*_draw_at(path), validation=False)


def size_of_draw(path: Path, corpus: Path) -> str | None:
    """The size of the draw that a path names in a corpus, there or not yet; None: it names none."""
    own = path.relative_to(corpus) if path.is_relative_to(corpus) else path
    named = _DRAW.fullmatch(own.as_posix())
    return named["size"] if named else None


def _draw_at(path: Path) -> tuple[Path, int, str]:
    """The corpus folder of the file of a draw, the draw's seed and its size."""
    if not path.is_file():
        folder = path if path.is_dir() else path.parent
        there = (
            sorted(each.name for each in folder.glob("*.json")) if _SEED.match(folder.name) else []
        )
        known = f"there are: {', '.join(there)}" if there else _REMEDY
        raise InputError("no such draw of L", path=path, remedy=known)
    corpus = corpus_around(path.absolute().parent)
    if corpus is None:
        raise InputError(
            f"a draw outside a corpus: there is no {SENTENCES_FILE} in a folder above it", path=path,
            remedy=_REMEDY,
        )  # fmt: skip
    named = _DRAW.fullmatch(path.absolute().relative_to(corpus).as_posix())
    if named is None:
        raise InputError("not where the draws of a corpus lie", path=path, remedy=_REMEDY)
    return corpus, int(named["seed"]), named["size"]


_REMEDY = "name draws/seed-<S>/<n>.json in a corpus folder"
_SEED = re.compile(r"seed-\d", re.ASCII)
_DRAW = re.compile(r"draws/seed-(?P<seed>\d{1,9})/(?P<size>[^/]+)\.json", re.ASCII)


def apportion(size: int, weights: Sequence[int], rows: Sequence[int]) -> list[int]:
    """How many rows each stratum gives, in all ``size`` or as many as there are.

    Each round hands out what is still wanted in proportion to the weights, among the strata that have
    rows left; fractions go to the largest remainders, of equal ones to the first. So what one stratum
    lacks is spread over the others, and again where they run out too.

    Args:
        size: rows wanted.
        weights: of the strata; one of weight 0 gives none.
        rows: how many each has.
    """
    taken = [0] * len(weights)
    while want := size - sum(taken):
        left = [n for n, weight in enumerate(weights) if weight and taken[n] < rows[n]]
        whole = sum(weights[n] for n in left)
        if not left:
            break
        given = {n: want * weights[n] // whole for n in left}
        spare = want - sum(given.values())
        by_remainder = sorted(left, key=lambda n: (-(want * weights[n] % whole), n))
        for n in by_remainder[:spare]:
            given[n] += 1
        for n in left:
            taken[n] += min(given[n], rows[n] - taken[n])
    return taken


def distance(one: Counter[Stratum], other: Counter[Stratum]) -> float:
    """The total-variation distance of two distributions over strata: 0 if equal, 1 if they share none."""
    strata = sorted(one.keys() | other.keys())
    ones, others = one.total(), other.total()
    if not ones or not others:
        return 1.0
    return sum(abs(one[s] * others - other[s] * ones) for s in strata) / (2 * ones * others)
