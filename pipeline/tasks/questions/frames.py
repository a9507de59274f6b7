"""Case frames and the core events that they give: what is usually said of a predicate (thesis, §2.3.1).

The thesis takes frames from ten billion sentences, several to a predicate, and of these the most frequent
ones until they cover β = 75 %. Here they are those of the event pairs themselves, one to a predicate, so that
there is no such share.

Two things are ours. Pronouns fill no slot: Japanese drops them, and English, which does not, would have *it*
and *he* as the usual subjects of nearly everything. And what is the subject of a passive verb fills the slot
of its object.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.tasks.questions.events import OBJECT, SUBJECT, Event, EventArgument, event_text

_THIRD = frozenset(
    {"it", "they", "them", "he", "him", "she", "her", "itself", "themselves", "himself", "herself"}
)  # fmt: skip
"""Pronouns that may stand for an argument of the former event."""

PRONOUNS = _THIRD | {
    "I", "i", "me", "you", "we", "us", "myself", "yourself", "yourselves", "ourselves", "'em", "em", "one",
    "there", "mine", "yours", "his", "hers", "ours", "theirs",
}  # fmt: skip
"""Heads that are no fillers."""


def covering(counts: Mapping[str, int], share: float, *, tied: bool = False) -> list[str]:
    """The most frequent keys until they cover a share of the sum; the one that crosses is in.

    Args:
        counts: of keys.
        share: per cent.
        tied: whether those are in, too, that are as frequent as that one: in a small text most fillers
            are seen once, and no order tells them apart.

    Returns:
        Keys by falling count, then in alphabetical order.
    """
    order = sorted(counts, key=lambda key: (-counts[key], key))
    wanted, covered, found = sum(counts.values()) * share / 100, 0, list[str]()
    for key in order:
        if covered >= wanted and not (tied and counts[key] == counts[found[-1]]):
            break
        found.append(key)
        covered += counts[key]
    return found


@dataclass(frozen=True, slots=True)
class Frames:
    """Of each predicate its core slots, the most frequent first, with their core fillers."""

    slots: Mapping[str, Mapping[str, frozenset[str]]]

    def core_of(self, event: Event) -> str | None:
        """The core event: the predicate with those arguments that are core fillers; None: there are none."""
        frame = self.slots.get(event.predicate, {})
        kept = tuple(a for a in deep(event).arguments if a.head in frame.get(a.role, ()))
        return event_text(replace(event, passive=False, arguments=kept)) if kept else None

    def core_of_latter(self, former: Event, latter: Event) -> tuple[str | None, str | None]:
        """The core event of a latter event, and the word of the former one that was put into it.

        A pronoun is tried with each argument of the former event in its order, and where the event has no
        core event with that, so is each core slot that it leaves empty (§2.3.2): of "Glass breaks on impact
        → I replace it" *replace glass* is one, if glass is often replaced, and *replace impact* is not.
        """
        heads = [a.head for a in former.arguments if a.head not in PRONOUNS]
        frame, event = self.slots.get(latter.predicate, {}), deep(latter)
        for place, argument in enumerate(event.arguments):
            fillers = frame.get(argument.role, frozenset())
            if argument.head in _THIRD and (word := _first(heads, fillers)):
                known = list(event.arguments)
                known[place] = EventArgument(argument.role, word)
                return self.core_of(replace(event, arguments=tuple(known))), word
        if core := self.core_of(event):
            return core, None
        there = {argument.role for argument in event.arguments}
        for role, fillers in frame.items():
            if role not in there and (word := _first(heads, fillers)):
                more = (*event.arguments, EventArgument(role, word))
                return self.core_of(replace(event, arguments=more)), word
        return None, None


def _first(heads: Sequence[str], fillers: frozenset[str]) -> str | None:
    return next((head for head in heads if head in fillers), None)


def deep(event: Event) -> Event:
    """The event in the active voice: of a passive one the subject is the object."""
    if not event.passive:
        return event
    known = tuple(
        EventArgument(OBJECT, a.head) if a.role == SUBJECT else a for a in event.arguments
    )
    return replace(event, passive=False, arguments=known)


@dataclass(frozen=True, slots=True)
class CaseFrame:
    """What was seen of a predicate.

    Attributes:
        count: how often it was seen.
        slots: of each slot, how often each filler.
    """

    count: int
    slots: Mapping[str, Mapping[str, int]]


def counted_frames(events: Iterable[Event]) -> dict[str, CaseFrame]:
    """The case frame of each predicate, from events in the active voice; pronouns are no fillers."""
    seen: Counter[str] = Counter()
    found: dict[str, dict[str, Counter[str]]] = {}
    for event in events:
        if event.passive:
            continue
        seen[event.predicate] += 1
        frame = found.setdefault(event.predicate, {})
        for argument in event.arguments:
            if argument.head not in PRONOUNS:
                frame.setdefault(argument.role, Counter())[argument.head] += 1
    return {predicate: CaseFrame(seen[predicate], slots) for predicate, slots in found.items()}


def case_frames(events: Iterable[Event], predicates: int, slots: float, fillers: float) -> Frames:
    """The case frames of events in the active voice.

    Args:
        events: all of them.
        predicates: α, how many predicates have a frame, the most frequent ones.
        slots: γ, the share of a predicate's arguments that its core slots cover, in per cent.
        fillers: δ, the share of a slot's fillers that its core fillers cover, in per cent.
    """
    found = counted_frames(events)
    frequent = sorted(found, key=lambda predicate: (-found[predicate].count, predicate))
    kept = frequent[:predicates]
    return Frames({each: _core(found[each].slots, slots, fillers) for each in kept})


def _core(
    frame: Mapping[str, Mapping[str, int]], slots: float, fillers: float
) -> dict[str, frozenset[str]]:
    roles = covering({role: sum(known.values()) for role, known in frame.items()}, slots)
    return {role: frozenset(covering(frame[role], fillers, tied=True)) for role in roles}
