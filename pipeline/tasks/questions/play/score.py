"""What a sentence is worth: whether text has its words together, and its events one after the other (§5.3.5).

Of frames there is one a predicate here (``frames.py``), counted in the event pairs themselves; the thesis
has several of each, from ten billion sentences. Verified pairs are the core events of the pairs that the game
was started with. As ``pair`` puts a word of the former event into a gap of the latter (§2.3.2), a latter
sentence may leave out a noun that the former one names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pipeline.tasks.questions.events import Event, EventArgument, Predicates, predicates_of
from pipeline.tasks.questions.frames import CaseFrame

Grade = Literal["☆☆☆", "☆☆", "☆", "?"]

VERIFIED: Grade = "☆☆☆"
NOTHING: Grade = "?"


class LanguageResources:
    """What sentences are held against.

    Args:
        frames: of each predicate its case frames.
        pairs: of core events, verified; in the active voice.
    """

    def __init__(
        self,
        frames: Mapping[str, Sequence[CaseFrame]],
        pairs: Iterable[tuple[Event, Event]],
    ) -> None:
        self._frames = frames
        self._pairs: dict[Predicates, list[tuple[Event, Event]]] = {}
        for former, latter in pairs:
            self._pairs.setdefault(predicates_of(former, latter), []).append((former, latter))

    def score(self, event: Event) -> float:
        """The score of a simple sentence: that of its nouns in the best frame which has them all, or 0."""
        frames = self._frames.get(event.predicate, ()) if event.arguments else ()
        return max((_in_frame(event.arguments, frame) for frame in frames), default=0.0)

    def is_verified(self, former: Event, latter: Event) -> bool:
        """Whether two events contain a verified pair, each predicate negated where that one's is."""
        return any(
            set(known.arguments) <= set(former.arguments)
            and _is_in(second.arguments, former.arguments, latter.arguments)
            for known, second in self._pairs.get(predicates_of(former, latter), ())
        )


def _is_in(
    wanted: Sequence[EventArgument], former: Sequence[EventArgument], there: Sequence[EventArgument]
) -> bool:
    """Whether a latter sentence has the arguments of a core event, or leaves a gap for what was named."""
    named, filled = {each.head for each in former}, {each.role for each in there}
    return all(each in there or (each.role not in filled and each.head in named) for each in wanted)


def _in_frame(arguments: Sequence[EventArgument], frame: CaseFrame) -> float:
    scores = [argument_score(argument, frame) for argument in arguments]
    return sum(scores) if all(scores) else 0.0


def argument_score(argument: EventArgument, frame: CaseFrame) -> float:
    """S(a, c, cf) = 0.5 + 0.5 · min(1, 5 · f(a, c, cf) / f(cf)); 0 if the frame has no such example."""
    count = frame.slots.get(argument.role, {}).get(argument.head, 0)
    return 0.5 + 0.5 * min(1, 5 * count / frame.count) if count else 0.0


def grade(score: float) -> Grade:
    """☆☆ from 1, ☆ above 0, else ?."""
    return "☆☆" if score >= 1 else "☆" if score > 0 else NOTHING
