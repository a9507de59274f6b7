"""Coordinate structures as words: where conjuncts, commas, coordinator and preconjunction stand, and may."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from pipeline.core.types import COORDINATORS, Coordination, Span, Structure

COMMA = ","

MOST_CONJUNCTS = 4
"""Of a structure that generation builds."""

PRECONJUNCTION_OF = {"and": "both", "or": "either", "nor": "neither"}
"""The word that stands before the first conjunct, by the coordinator, in lower case."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A structure's words, and the places in them of the conjuncts and of the coordinator."""

    words: tuple[str, ...]
    conjuncts: tuple[Span, ...]
    coordinator: int


def laid_out(structure: Structure, conjuncts: Sequence[Sequence[str]], at: int = 0) -> Laid:
    """Write a structure: ``either X , Y , or Z``.

    Args:
        structure: what is written besides the conjuncts; how many it should have does not matter.
        conjuncts: the words of each, two or more. Of two, no comma parts them.
        at: the word of the sentence with which the structure begins.
    """
    words = [structure.preconjunction] if structure.preconjunction else []
    spans: list[Span] = []
    coordinator = -1
    for number, conjunct in enumerate(conjuncts, 1):
        if number == len(conjuncts):
            words += [COMMA] * (structure.comma and number > 2)
            coordinator = at + len(words)
            words.append(structure.coordinator)
        elif number > 1:
            words.append(COMMA)
        spans.append(Span(at + len(words), at + len(words) + len(conjunct)))
        words += conjunct
    return Laid(tuple(words), tuple(spans), coordinator)


def structure_of(
    word: str, coordinator: int, conjuncts: Sequence[Span], reference: Span
) -> Structure | None:
    """The structure that was built around a reference, from its places; None if none was built so.

    Args:
        word: the coordinator as written.
        coordinator: its place in the sentence that was made.
        conjuncts: those of that sentence.
        reference: the first of them in the source sentence.
    """
    if len(conjuncts) < 2:
        return None
    before = conjuncts[0].start - reference.start
    comma = conjuncts[-2].end + 1 == coordinator
    pre = PRECONJUNCTION_OF.get(word.lower()) if before else None
    # Numbers alone: spans from elsewhere may have any length.
    fits = (
        before == (pre is not None)
        and len(conjuncts[0]) == len(reference)
        and all(span.start < span.end for span in conjuncts)
        and all(one.end + 1 == two.start for one, two in pairwise(conjuncts[:-1]))
        and coordinator == conjuncts[-2].end + comma == conjuncts[-1].start - 1
        and (len(conjuncts) > 2 or not comma)
    )
    return Structure(word, pre, len(conjuncts), comma) if fits else None


SEPARATORS = frozenset({",", ";", ":", "-", "--", "–", "—", "..."})
"""Words that may part two conjuncts, beside coordinators."""


def as_conjuncts(
    words: Sequence[str], coordinator: int, extent: Span, ends: Sequence[Span] = ()
) -> tuple[Span, ...]:
    """Read an outer boundary as conjuncts.

    Separators directly next to the coordinator belong to none, unless nothing else is there.

    Args:
        words: of the sentence.
        coordinator: its word index.
        extent: the outer boundary.
        ends: those of its ``places`` at which a conjunct ends; none: there are two conjuncts.

    Returns:
        The conjuncts in sentence order; at least one on each side of the coordinator.
    """
    left, right = coordinator, coordinator + 1
    while left - 1 > extent.start and words[left - 1] in SEPARATORS:
        left -= 1
    while right < extent.end - 1 and words[right] in SEPARATORS:
        right += 1
    between = sorted([*ends, Span(left, right)])
    starts = [extent.start, *(gap.end for gap in between)]
    stops = [*(gap.start for gap in between), extent.end]
    return tuple(Span(start, stop) for start, stop in zip(starts, stops, strict=True))


def places(
    words: Sequence[str],
    coordinator: int,
    extent: Span,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> list[Span]:
    """Where a conjunct may end within an outer boundary, but for the place of the coordinator itself.

    Args:
        words: of the sentence.
        coordinator: its word index.
        extent: the outer boundary.
        coordinators: words that count as such, in lower case.

    Returns:
        Runs of separators and coordinators, as long as they go, with a word on either side; in order.
    """

    def parts(at: int) -> bool:
        # A coordinator may be any word that a user names.
        return at == coordinator or words[at] in SEPARATORS or words[at].lower() in coordinators

    found: list[Span] = []
    at, last = extent.start + 1, extent.end - 1
    while at < last:
        start = at
        while at < last and parts(at):
            at += 1
        if start < at and not start <= coordinator < at:
            found.append(Span(start, at))
        at += start == at
    return found


def fault_of(words: Sequence[str], structure: Coordination) -> str | None:
    """How a structure does not fit the words of its sentence, or None."""
    count, k = len(words), structure.coordinator
    if not 0 <= k < count:
        return f"coordinator {k} of {count} words"
    if words[k] != structure.word:
        return f"word {k} is {words[k]!r}, not {structure.word!r}"
    end = 0
    for span in structure.conjuncts:
        if not end <= span.start < span.end <= count:
            return f"conjunct {span.start}-{span.end} of {count} words, after one to {end}"
        if span.start <= k < span.end:
            return f"conjunct {span.start}-{span.end} contains its coordinator {k}"
        end = span.end
    return None


def fault_of_sentence(words: Sequence[str], structures: Sequence[Coordination]) -> str | None:
    """Why some structures cannot all be those of one sentence, for whoever drew them; or None.

    Each has a conjunct on either side of its coordinator. Conjuncts of one are apart; and of all conjuncts
    and whole structures no two share words unless one lies in the other. So it is in all of GENIA and GUM.
    """
    known: set[int] = set()
    for each in structures:
        if each.coordinator in known:
            return (
                f"two structures at {_shown(words, Span(each.coordinator, each.coordinator + 1))}"
            )
        known.add(each.coordinator)
        for one, other in pairwise(sorted(each.conjuncts)):
            if one.end > other.start:
                return f"conjuncts overlap: {_shown(words, one)} and {_shown(words, other)}"
        if fault := fault_of(words, each):
            return fault
        k = each.coordinator
        if len(each.conjuncts) < 2 or not each.conjuncts[0].end <= k < each.conjuncts[-1].start:
            return f"not a conjunct on either side of {_shown(words, Span(k, k + 1))}"
    spans = {span for each in structures for span in (Span(each.start, each.end), *each.conjuncts)}
    around: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        while around and around[-1].end <= span.start:
            around.pop()
        if around and around[-1].end < span.end:
            return f"conjuncts cross: {_shown(words, around[-1])} and {_shown(words, span)}"
        around.append(span)
    return None


def linking(
    words: Sequence[str], conjuncts: Sequence[Span], coordinators: AbstractSet[str] = COORDINATORS
) -> list[int]:
    """The coordinators between conjuncts; the last of them is a structure's own, as treebanks have it."""
    return [
        k
        for one, other in pairwise(conjuncts)
        for k in range(one.end, other.start)
        if words[k].lower() in coordinators
    ]


def _shown(words: Sequence[str], span: Span) -> str:
    """Some words for a message, of many the first and the last."""
    found = list(words[span.start : span.end])
    text = " ".join(found if len(found) < 6 else [*found[:3], "…", found[-1]])
    return f"“{text}” ({span.start + 1}-{span.end})"
