"""From a fill to a candidate: the coordinated sentence with known boundaries, or a reject (§3)."""

import unicodedata
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from statistics import fmean

from pipeline.core.settings import DecodingSettings
from pipeline.core.structures import laid_out
from pipeline.core.types import (
    COORDINATORS,
    Candidate,
    Gap,
    PlacedConjunct,
    Reference,
    Reject,
    Structure,
    candidate_id,
)
from pipeline.core.words import fault_of_word, is_text
from pipeline.infill.base import SPECIAL_IN_FILL, Fill
from pipeline.text.coordinations import QUOTES, UNBALANCED, is_balanced, is_worded
from pipeline.text.gapping import same_subject
from pipeline.text.natural import split_words

EMPTY = "empty fill"
NO_TEXT = "fill with a character that is no text"
PUNCTUATION = "punctuation only"
ENDS_IN_MARK = "fill ends in a punctuation mark"
_ENDS = frozenset({",", ".", ";", ":"})
SAME = "fill equal to the reference"
COORDINATED = "fill holds a coordinator"
REPEATED = "fill repeated"
TWIN = "fill equal to another conjunct"
SUBJECT_AGAIN = "gapped clause with the subject of the first"


def grown(
    references: Sequence[Reference],
    fill_all: Callable[[Sequence[Reference], bool], list[list[Fill]]],
    settings: DecodingSettings,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> tuple[list[list[Candidate | Reject]], int]:
    """The rows of each reference, whose structures get one conjunct after the other.

    Each further fill sees those before it. A fill that cannot be used ends its structure: the reject
    is the structure as far as it came. Where a reference has several fills, each begins a structure of
    its own, which goes on with the best ones (sampled: the first).

    Args:
        references: the source sentences and their reference spans.
        fill_all: fills for references, in their order; and whether these are their first.
        settings: as of ``rows_of``.
        coordinators: likewise.

    Returns:
        The rows, and how many fills were cut (``Fill.cut``).
    """
    rows: list[list[Candidate | Reject]] = [[] for _ in references]
    todo, cut, first = list(enumerate(references)), 0, True
    while todo:
        places, open_ones = zip(*todo, strict=True)
        fills = fill_all(open_ones, first)
        if not first:
            fills = [each[:1] for each in fills]
        cut += sum(fill.cut for found in fills for fill in found)
        todo, first = [], False
        made = rows_of(open_ones, fills, settings, coordinators)
        for place, reference, found, own in zip(places, open_ones, fills, made, strict=True):
            structure = reference.structure
            if structure is None or structure.conjuncts == len(reference.placed) + 2:
                rows[place] += own
                continue
            for fill, row in zip(found, own, strict=True):
                if isinstance(row, Reject):
                    rows[place].append(row)
                else:
                    todo.append((place, _with(reference, fill, row)))
    return rows, cut


def _with(reference: Reference, fill: Fill, row: Candidate) -> Reference:
    """The reference with the fill that a candidate was made of beside it."""
    last = row.conjuncts[-1]
    placed = PlacedConjunct(
        row.words[last.start : last.end],
        fill.score,
        fill.score_append,
        fill.score_prepend,
        row.donor,
    )
    return replace(reference, placed=(*reference.placed, placed), license=row.license)


def rows_of(
    references: Sequence[Reference],
    fills: Sequence[Sequence[Fill]],
    settings: DecodingSettings,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> list[list[Candidate | Reject]]:
    """The rows of each reference, in their order: of each of its fills a candidate or a reject.

    Args:
        references: the source sentences and their reference spans.
        fills: of each reference.
        settings: which coordinator was inserted, whether fills may hold one, and whether conjuncts may be
            unbalanced.
        coordinators: of the corpus, in lower case.
    """
    return [
        make_candidates(
            reference, found, settings.coordinator,
            coordinators_in_fills=settings.coordinators_in_fills, unbalanced=settings.unbalanced,
            coordinators=coordinators,
        )
        for reference, found in zip(references, fills, strict=True)
    ]  # fmt: skip


def make_candidates(
    reference: Reference,
    fills: Sequence[Fill],
    coordinator: str,
    *,
    coordinators_in_fills: bool = False,
    unbalanced: bool = False,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> list[Candidate | Reject]:
    """One row per fill of a reference, in their order.

    A fill that equals, but for case, that of an earlier candidate of this reference is a reject: one
    sentence would count twice in training.

    Args:
        reference: the source sentence and its reference span.
        fills: what to make candidates of.
        coordinator: the word to insert where the reference names no structure.
        coordinators_in_fills: whether a fill may hold a coordinator, one of the corpus's or the inserted
            word; nothing marks what that joins.
        unbalanced: whether brackets and quotes of a conjunct need not balance.
        coordinators: of the corpus, in lower case.
    """
    inserted_word = reference.structure.coordinator if reference.structure else coordinator
    banned = frozenset() if coordinators_in_fills else coordinators | {inserted_word.lower()}
    outcomes: list[Candidate | Reject] = []
    seen = set[str]()
    for fill in fills:
        outcome = make_candidate(reference, fill, coordinator, banned, unbalanced=unbalanced)
        if isinstance(outcome, Candidate):
            inserted = outcome.conjuncts[-1]
            spelled = _spelled(outcome.words[inserted.start : inserted.end])
            if spelled in seen:
                outcome = Reject(outcome, REPEATED)
            seen.add(spelled)
        outcomes.append(outcome)
    return outcomes


def make_candidate(
    reference: Reference,
    fill: Fill,
    coordinator: str,
    banned: AbstractSet[str] = frozenset(),
    *,
    unbalanced: bool = False,
) -> Candidate | Reject:
    """Insert coordinator and fill after the reference span and what was placed beside it, as in S′(1).

    A reject keeps as much as there is: where there is no usable fill its ``words`` are the source
    sentence, its ``coordinator`` is -1 and it has no conjuncts. ``banned`` are the coordinators (lower
    case) that no fill may hold; unless ``unbalanced``, neither it nor the reference may have brackets or
    quotes that do not balance. What no corpus may hold, such as half a character, is in no reject either.
    """
    words, span, placed = reference.words, reference.span, reference.placed
    own = words[span.start : span.end]
    attested = fill.attested
    fill_words = tuple(split_words(fill.text)) if attested is None else attested.words
    if attested is None and not _is_text(fill, fill_words):
        fill, fill_words = replace(fill, text="", reason=fill.reason or NO_TEXT), ()
    reason = fill.reason or _fault(own, fill_words, banned)
    if reason is None and attested is None and fill_words[-1] in _ENDS:
        reason = ENDS_IN_MARK
    if reason is None and any(_same(fill_words, each.words) for each in placed):
        reason = TWIN
    left_out = attested.left_out if attested else None
    before = left_out.start - attested.donor.start if attested and left_out else 0
    if reason is None and left_out and same_subject(own, fill_words, before):
        reason = SUBJECT_AGAIN
    if reason is None and not (unbalanced or (is_balanced(own) and is_balanced(fill_words))):
        reason = UNBALANCED
    if fill_words:
        structure = reference.structure or Structure(coordinator)
        laid = laid_out(structure, [own, *(each.words for each in placed), fill_words], span.start)
        sentence = (*words[: span.start], *laid.words, *words[span.end :])
        at, conjuncts = laid.coordinator, laid.conjuncts
    else:
        sentence, at, conjuncts = words, -1, ()
    donors = tuple(each.donor for each in placed if each.donor)
    candidate = Candidate(
        candidate_id=candidate_id(reference.sentence_id, sentence, at, span, conjuncts),
        sentence_id=reference.sentence_id,
        words=sentence,
        coordinator=at,
        conjuncts=conjuncts,
        label=reference.label,
        reference=span,
        fill=fill.text,
        score=_mean([fill.score, *(each.score for each in placed)]),
        score_append=_mean([fill.score_append, *(each.score_append for each in placed)]),
        score_prepend=_mean([fill.score_prepend, *(each.score_prepend for each in placed)]),
        license=attested.license if attested else reference.license,
        donor=attested.donor if attested else None,
        middle_donors=donors if attested and donors and conjuncts else None,
        gap=Gap(conjuncts[-1].start + before, left_out.start, left_out.end) if left_out else None,
    )
    return candidate if reason is None else Reject(candidate, reason)


def _is_text(fill: Fill, words: Sequence[str]) -> bool:
    """Whether a row may hold what a model wrote; a special token may stand where it is the reason."""
    own = fill.reason == SPECIAL_IN_FILL
    return is_text(fill.text) and (own or not any(map(fault_of_word, (*fill.text.split(), *words))))


def _fault(reference: Sequence[str], fill: Sequence[str], banned: AbstractSet[str]) -> str | None:
    if not fill:
        return EMPTY
    if not is_worded(fill):
        return PUNCTUATION
    if _same(fill, reference):
        return SAME
    if not banned.isdisjoint(w.lower() for w in fill):
        return COORDINATED
    return None


def _same(one: Sequence[str], other: Sequence[str]) -> bool:
    return _spelled(one) == _spelled(other)


def _spelled(words: Sequence[str]) -> str:
    """Words without what a model's writing loses: capitals, accents, blanks, and which way a quote turns."""
    said = "".join("" if word in QUOTES else word for word in words)
    apart = unicodedata.normalize("NFKD", said) if not said.isascii() else said
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()


def _mean(scores: Sequence[float | None]) -> float | None:
    """The mean; of one its very bits, None where one is lacking."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    return known[0] if len(known) == 1 else fmean(known)
