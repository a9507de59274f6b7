"""From a fill to a candidate: the coordinated sentence with known boundaries, or a reject (§3)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from pipeline.core.settings import DecodingSettings
from pipeline.core.types import (
    COORDINATORS,
    Candidate,
    Reference,
    Reject,
    Span,
    candidate_id,
)
from pipeline.infill.base import Fill
from pipeline.text.natural import split_words

EMPTY = "empty fill"
PUNCTUATION = "punctuation only"
SAME = "fill equal to the reference"
COORDINATED = "fill holds a coordinator"
REPEATED = "fill repeated"


def rows_of(
    references: Sequence[Reference],
    fills: Sequence[Sequence[Fill]],
    settings: DecodingSettings,
) -> list[list[Candidate | Reject]]:
    """The rows of each reference, in their order: of each of its fills a candidate or a reject.

    Args:
        references: the source sentences and their reference spans.
        fills: of each reference.
        settings: which coordinator was inserted, and whether fills may hold one.
    """
    return [
        make_candidates(
            reference, found, settings.coordinator,
            coordinators_in_fills=settings.coordinators_in_fills,
        )
        for reference, found in zip(references, fills, strict=True)
    ]  # fmt: skip


def make_candidates(
    reference: Reference,
    fills: Sequence[Fill],
    coordinator: str,
    *,
    coordinators_in_fills: bool = False,
) -> list[Candidate | Reject]:
    """One row per fill of a reference, in their order.

    A fill that equals, but for case, that of an earlier candidate of this reference is a reject: one
    sentence would count twice in training.

    Args:
        reference: the source sentence and its reference span.
        fills: what to make candidates of.
        coordinator: the word to insert.
        coordinators_in_fills: whether a fill may hold a coordinator, one of the five or the inserted
            word; nothing marks what that joins.
    """
    banned = frozenset() if coordinators_in_fills else COORDINATORS | {coordinator.lower()}
    outcomes: list[Candidate | Reject] = []
    seen: set[tuple[str, ...]] = set()
    for fill in fills:
        outcome = make_candidate(reference, fill, coordinator, banned)
        if isinstance(outcome, Candidate):
            inserted = outcome.conjuncts[-1]
            words = tuple(w.lower() for w in outcome.words[inserted.start : inserted.end])
            if words in seen:
                outcome = Reject(outcome, REPEATED)
            seen.add(words)
        outcomes.append(outcome)
    return outcomes


def make_candidate(
    reference: Reference, fill: Fill, coordinator: str, banned: AbstractSet[str] = frozenset()
) -> Candidate | Reject:
    """Insert coordinator and fill after the reference span, as in S′(1).

    A reject keeps as much as there is: where there is no usable fill its ``words`` are the source
    sentence, its ``coordinator`` is -1 and it has no conjuncts. ``banned`` are the coordinators (lower
    case) that no fill may hold.
    """
    words, span = reference.words, reference.span
    attested = fill.attested
    fill_words = tuple(split_words(fill.text)) if attested is None else attested.words
    reason = fill.reason or _fault(words[span.start : span.end], fill_words, banned)
    if fill_words:
        sentence = (*words[: span.end], coordinator, *fill_words, *words[span.end :])
        at = span.end
        conjuncts: tuple[Span, ...] = (span, Span(at + 1, at + 1 + len(fill_words)))
    else:
        sentence, at, conjuncts = words, -1, ()
    candidate = Candidate(
        candidate_id=candidate_id(reference.sentence_id, sentence, at, span, conjuncts),
        sentence_id=reference.sentence_id,
        words=sentence,
        coordinator=at,
        conjuncts=conjuncts,
        label=reference.label,
        reference=span,
        fill=fill.text,
        score=fill.score,
        score_append=fill.score_append,
        score_prepend=fill.score_prepend,
        license=attested.license if attested else reference.license,
        donor=attested.donor if attested else None,
    )
    return candidate if reason is None else Reject(candidate, reason)


def _fault(reference: Sequence[str], fill: Sequence[str], banned: AbstractSet[str]) -> str | None:
    if not fill:
        return EMPTY
    if not any(c.isalnum() for word in fill for c in word):
        return PUNCTUATION
    if [w.lower() for w in fill] == [w.lower() for w in reference]:
        return SAME
    if not banned.isdisjoint(w.lower() for w in fill):
        return COORDINATED
    return None
