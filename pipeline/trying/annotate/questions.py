"""What is asked next, what an answer decides, and what the page is told, by what is decided.

A person is asked of one coordinator at a time, from left to right in one sentence after the other. Two
words say the structure: where its first conjunct begins and where its last one ends. Between them a
conjunct may end at *places* (``core/structures``). A predictor says at which, or a rule: at commas and
semicolons before the coordinator. In the training sentences of GENIA a conjunct ends at 73 % of these and at
3 % of other places, in those of GUM at 62 % and 7 %.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from pipeline.core.decisions import (
    Decided,
    DecisionMade,
    Undone,
    structures_of,
    to_ask,
    undecided,
    words_digest,
)
from pipeline.core.errors import InputError
from pipeline.core.structures import COMMA, as_conjuncts, fault_of_sentence, linking, places
from pipeline.core.types import COORDINATORS, Coordination, Span

Words = Mapping[str, Sequence[str]]
"""The words of the sentences that were drawn, by their ids."""

Proposals = Mapping[str, Mapping[int, Sequence[Span]]]
"""The conjuncts that a predictor finds, by sentence and coordinator."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What a person says of a coordinator.

    Attributes:
        sentence_id: of which sentence.
        coordinator: of which one they were asked; None: the sentence is to be set aside.
        conjuncts: of the structure; none: it joins nothing.
        seconds: that it took.
    """

    sentence_id: str
    coordinator: int | None
    conjuncts: tuple[Span, ...]
    seconds: float


def decision(
    decided: Decided,
    words_of: Words,
    answer: GivenAnswer,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> DecisionMade:
    """What an answer decides; the structure is that of the last coordinator that links its conjuncts.

    Raises:
        InputError: it is about nothing that is asked, or is no structure beside those of the sentence.
    """
    words = words_of.get(answer.sentence_id)
    known = decided.of(answer.sentence_id)
    if words is None or answer.sentence_id not in decided.drawn:
        raise InputError("a sentence that was not drawn", sentence_id=answer.sentence_id[:100])
    open_ = undecided(words, known, coordinators)
    k = answer.coordinator
    if not open_ or (k is not None and k not in open_):
        raise InputError("decided already, or nothing that is asked", remedy="reload the page")
    if answer.conjuncts and k is not None:
        structure = Coordination(k, words[k], "", answer.conjuncts)
        if fault := fault_of_sentence(words, [structure]):
            raise InputError(fault)
        linked = [each for each in linking(words, answer.conjuncts, coordinators) if each in open_]
        k = max(k, *linked)
        structure = Coordination(k, words[k], "", answer.conjuncts)
        if fault := fault_of_sentence(words, [*structures_of(words, known.values()), structure]):
            raise InputError(fault)
    conjuncts = answer.conjuncts if k is not None else ()
    seconds = round(answer.seconds, 1)
    return DecisionMade(answer.sentence_id, words_digest(words), k, conjuncts, seconds)


def undoing(decided: Decided) -> Undone:
    """What takes the last decision back.

    Raises:
        InputError: there is none.
    """
    if not decided.decisions:
        raise InputError("nothing to undo")
    last = decided.decisions[-1]
    return Undone(last.sentence_id, last.coordinator)


@dataclass(frozen=True, slots=True)
class AnnotationProgress:
    """How far the annotation is.

    Attributes:
        of: sentences that were drawn.
        done: those of which everything is decided.
        structures: decided on.
        seconds: that a decision on a coordinator took, the median; None before there is one.
    """

    of: int
    done: int
    structures: int
    seconds: float | None

    def __str__(self) -> str:
        """In words."""
        kind = "structure" if self.structures == 1 else "structures"
        said = f"{self.done:,} of {self.of:,} sentences, {self.structures:,} {kind}"
        return said if self.seconds is None else f"{said}, {self.seconds:.1f} s a coordinator"


def progress(
    decided: Decided, words_of: Words, coordinators: AbstractSet[str] = COORDINATORS
) -> AnnotationProgress:
    """How far it is."""
    known = _by_sentence(decided)
    took = [each.seconds for each in decided.decisions if each.coordinator is not None]
    return AnnotationProgress(
        len(decided.drawn),
        sum(
            not undecided(words_of[each], known.get(each, {}), coordinators)
            for each in decided.drawn
        ),
        sum(bool(each.conjuncts) for each in decided.decisions),
        median(took) if took else None,
    )


def shown(
    decided: Decided,
    words_of: Words,
    proposals: Proposals,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> dict[str, Any]:
    """What the page is told: how far it is, and the first sentence with an open coordinator."""
    now = progress(decided, words_of, coordinators)
    page: dict[str, Any] = {
        "of": now.of, "done": now.done, "said": str(now), "undo": bool(decided.decisions),
        "sentence": None,
    }  # fmt: skip
    known = _by_sentence(decided)
    for number, sentence_id in enumerate(decided.drawn, 1):
        words, own = words_of[sentence_id], known.get(sentence_id, {})
        if open_ := undecided(words, own, coordinators):
            structures = structures_of(words, own.values())
            proposal = proposals.get(sentence_id, {}).get(open_[0], ())
            page["sentence"] = {
                "id": sentence_id, "number": number, "words": list(words), "coordinator": open_[0],
                "coordinators": to_ask(words, coordinators), "open": open_,
                "structures": [_pairs(each.conjuncts) for each in structures],
                "places": [
                    {"start": place.start, "end": place.end,
                     "ends": ends(words, place, open_[0], proposal, structures)}
                    for place in places(words, open_[0], Span(0, len(words)), coordinators)
                ],
                "beside": _beside(words, open_[0]), "proposal": _pairs(proposal),
            }  # fmt: skip
            break
    return page


def ends(
    words: Sequence[str],
    place: Span,
    coordinator: int,
    proposal: Sequence[Span],
    structures: Sequence[Coordination],
) -> bool:
    """Whether a conjunct ends at a place, until a person says otherwise.

    Args:
        words: of the sentence.
        place: a run of commas and coordinators.
        coordinator: that is asked of.
        proposal: conjuncts that a predictor finds; none: there is no predictor.
        structures: that are decided on; what links their conjuncts links no others.
    """
    for each in structures:
        for one, other in pairwise(each.conjuncts):
            if one.end <= place.start and place.end <= other.start:
                return False
    if proposal and proposal[0].start < place.start and place.end < proposal[-1].end:
        return not any(one.start < place.end and place.start < one.end for one in proposal)
    return place.end <= coordinator and all(
        word in (COMMA, ";") for word in words[place.start : place.end]
    )


def _by_sentence(decided: Decided) -> dict[str, dict[int | None, DecisionMade]]:
    found: dict[str, dict[int | None, DecisionMade]] = {}
    for each in decided.decisions:
        found.setdefault(each.sentence_id, {})[each.coordinator] = each
    return found


def _beside(words: Sequence[str], coordinator: int) -> list[int]:
    """The words around a coordinator, from a first to one behind the last, that are of no conjunct."""
    left, right = as_conjuncts(words, coordinator, Span(0, len(words)))
    return [left.end, right.start]


def _pairs(spans: Sequence[Span]) -> list[list[int]]:
    return [[span.start, span.end] for span in spans]
