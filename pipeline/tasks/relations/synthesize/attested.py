"""Explicit pairs as new ones: the connective is left out, as PDTB's arguments leave it out anyway.

They are the classic way from explicit relations to implicit ones, here of those senses alone that a model
confuses, or for the control of any.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import torch

from pipeline.core.annotation import OTHERS, Annotation, joined
from pipeline.core.corpus_folder import corpus_name
from pipeline.core.errors import InputError
from pipeline.executor.run import OnBatch
from pipeline.models.sampling import uniform
from pipeline.tasks.relations.pairs import EXPLICIT, Pair, known_pairs, part_of_pairs
from pipeline.tasks.relations.synthesize.confused import Confused, are_cut, said_by
from pipeline.tasks.relations.synthesize.rows import (
    ALSO_ANNOTATED,
    ARGUMENTS_OF_VALIDATION,
    CALLED_SO,
    TOO_LONG,
    Synthetic,
    SyntheticFiles,
    listed_senses,
)
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings

WRITER = "attested"

_MARKS = frozenset({",", ";", ":", "-", "--", "–", "—"})


@dataclass(frozen=True, slots=True)
class ExplicitPair:
    """An explicit pair that is to stand for an implicit one of ``label``, which is taken for ``against``."""

    pair: Pair
    label: str
    against: tuple[str, ...] = ()


class AttestedPairs(SyntheticFiles):
    """Explicit training pairs of the confused senses; see ``sources.protocol.CandidateSource``.

    Raises:
        InputError: the corpus has none.
    """

    called = "pairs"
    gpus = True

    def __init__(self, settings: SynthesizeSettings, known: Confused) -> None:
        self._settings, self._known = settings, known
        self._watched = set(map(_words_of, known.validation))
        found = known_pairs(settings.corpus, {"train"}, frozenset({EXPLICIT}))
        explicit = list(map(without_its_marks, found))
        items = [
            ExplicitPair(pair, true, against)
            for true, against in known.against().items()
            for pair in explicit
            if true in pair.senses
        ][: settings.limit]
        if not items:
            raise InputError(
                "no explicit training pair has a confused relation", path=settings.corpus,
                remedy="say a greater --k, or take a --writer that is a language model",
            )  # fmt: skip
        if settings.confused == "random":
            wanted = sum(row.reason is None for row in self._rows(items, known))
            items = self._drawn(explicit, wanted)
        self._units = [
            items[start : start + settings.unit] for start in range(0, len(items), settings.unit)
        ]
        self._items = items
        self.sizes: Sequence[int] = list(map(len, self._units))
        inert = {"tokens", "error", "limit"}  # which pairs there are is counted
        self.inert: Set[str] = inert if settings.confused == "random" else inert | {"seed"}
        self.notes: Mapping[str, int] = {}

    def _drawn(self, explicit: Sequence[Pair], wanted: int) -> list[ExplicitPair]:
        """As many pairs of any relation that the model can read, in the corpus's order."""
        items = [ExplicitPair(pair, pair.senses[0]) for pair in explicit]
        too_long = are_cut(self._known.predictor, [each.pair for each in items])
        places = [
            place
            for place, cut in enumerate(too_long)
            if not cut and not self._is_watched(items[place].pair)
        ]
        seed = self._settings.seed
        places.sort(key=lambda place: uniform(seed, items[place].pair.pair_id, 0, 0))
        return [items[place] for place in sorted(places[:wanted])]

    def inputs(self) -> dict[str, Any]:
        """The pairs, the model and its confusions, and who refuses."""
        settings = self._settings
        return {
            **self._known.inputs(settings.corpus),
            "writer": WRITER,
            "filter": settings.filters,
            "pairs": len(self._items),
        }

    def model(self) -> str | None:
        """No language model."""
        return None

    def annotation(self) -> Annotation:
        """That of the run and of the explicit pairs."""
        corpus = self._settings.corpus
        read = list({each.pair.pair_id: each.pair for each in self._items}.values())
        own = part_of_pairs(corpus_name(corpus), OTHERS, read)
        return joined([*self._known.annotation(corpus), own])

    def items(self, unit: int) -> tuple[list[ExplicitPair], dict[str, int]]:
        """The pairs of a unit."""
        return self._units[unit], {}

    def prepare(
        self, device: torch.device
    ) -> Callable[[Sequence[ExplicitPair], OnBatch], tuple[list[Synthetic], dict[str, int]]]:
        """Have the model at hand; returns what makes the rows of pairs."""
        self._known.predictor.to(device)

        def make(
            items: Sequence[ExplicitPair], on_batch: OnBatch
        ) -> tuple[list[Synthetic], dict[str, int]]:
            rows = self._rows(items, self._known)
            on_batch(len(items), 0)
            return rows, {}

        return make

    def _rows(self, items: Sequence[ExplicitPair], known: Confused) -> list[Synthetic]:
        too_long = are_cut(known.predictor, [each.pair for each in items])
        rows = [
            Synthetic(
                sentence_id=each.pair.pair_id,
                label=each.label,
                arg1=each.pair.arg1,
                arg2=each.pair.arg2,
                confused=listed_senses(each.against) or None,
                writer=WRITER,
                license=each.pair.license,
                reason=self._reason(each, cut=cut),
            )
            for each, cut in zip(items, too_long, strict=True)
        ]
        # Of pairs drawn from any relation nobody has said what they are taken for.
        if self._settings.filters != "model" or not any(each.against for each in items):
            return rows
        return filtered_by_model(rows, [each.pair for each in items], known)

    def _reason(self, item: ExplicitPair, *, cut: bool) -> str | None:
        if set(item.against) & set(item.pair.senses):
            return ALSO_ANNOTATED
        if self._is_watched(item.pair):
            return ARGUMENTS_OF_VALIDATION
        return TOO_LONG if cut else None

    def _is_watched(self, pair: Pair) -> bool:
        """Whether a pair of validation is about the same two arguments.

        PDTB annotates both what is said and what is implied between them; an argument of the latter has the
        connective of the former in it.
        """
        return bool({_words_of(pair), _words_of(pair, pair.connective or "")} & self._watched)


def without_its_marks(pair: Pair) -> Pair:
    """An explicit pair without the commas or dashes that set its connective off.

    PDTB's arguments leave the connective out, but not these: of "On Monday, however, it rained" is left
    "On Monday, , it rained". No implicit pair has such marks, so that a model would learn them.
    """
    words1, words2 = _closed(pair.words1), _closed(pair.words2)
    if (words1, words2) == (pair.words1, pair.words2):
        return pair
    arg1, arg2 = " ".join(words1), " ".join(words2)
    return replace(pair, arg1=arg1, arg2=arg2, words1=words1, words2=words2)


def _closed(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without marks at the beginning, and with one of two that touch.

    In text that is not in tokens the first is the end of a word: "On Monday, , it rained".
    """
    kept: list[str] = []
    for word in words:
        if word not in _MARKS or (kept and kept[-1][-1] not in _MARKS):
            kept.append(word)
    return tuple(kept) or words


def _words_of(pair: Pair, connective: str = "") -> frozenset[tuple[str, int]]:
    """How often each word stands in both arguments, and in a connective that stood with them."""
    words = re.findall(r"\w+", f"{pair.arg1} {pair.arg2} {connective}".casefold())
    return frozenset(Counter(words).items())


def filtered_by_model(
    rows: Sequence[Synthetic], pairs: Sequence[Pair], known: Confused
) -> list[Synthetic]:
    """Refuse rows that a run's model takes for what their sense is confused with.

    Args:
        rows: new pairs, refused or not.
        pairs: their arguments.
        known: the run.
    """
    asked = [place for place, row in enumerate(rows) if row.reason is None]
    said = dict(
        zip(asked, said_by(known.predictor, [pairs[place] for place in asked]), strict=True)
    )
    against = known.against()
    return [
        replace(
            row,
            verdict=said[place],
            reason=CALLED_SO if said[place] in against[row.label] else None,
        )
        if place in said
        else row
        for place, row in enumerate(rows)
    ]
