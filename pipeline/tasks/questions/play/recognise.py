"""Finds the sentences on a board (thesis, §5.3.5).

A *simple sentence* is nouns, each with the arrow of a case mark to the next card, and a predicate at the end.
A *complex* one is two of them, with the arrow of a connective from the first one's predicate to where the
second begins. Arrows may branch and join, and all combinations are found. Either half may be a predicate
alone, whose noun is left out, as the thesis's Japanese leaves out pronouns.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.tasks.questions.events import Event, EventArgument
from pipeline.tasks.questions.play.cards import Board, Marks, predicate_of

EMPTY_FRAME = "a mark leads to or from an empty frame"
CASE_OF_PREDICATE = "a sentence ends with its predicate, behind which no case mark stands"
CONNECTIVE_OF_NOUN = "a connective stands behind a predicate"
NO_PREDICATE = "a sentence needs a predicate at its end"


@dataclass(frozen=True, slots=True)
class SimpleSentence:
    """One event.

    Attributes:
        frames: of the board, in the order of the sentence.
        event: what it says.
    """

    frames: tuple[int, ...]
    event: Event


@dataclass(frozen=True, slots=True)
class ComplexSentence:
    """Two events, of which the former is said to bring the latter about."""

    former: SimpleSentence
    connective: str
    latter: SimpleSentence

    @property
    def frames(self) -> tuple[int, ...]:
        """Of the board, in the order of the sentence."""
        return self.former.frames + self.latter.frames


@dataclass(frozen=True, slots=True)
class Fragment:
    """Frames with an arrow that are no sentence, and why."""

    frames: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Recognised:
    """What is on a board."""

    simple: Sequence[SimpleSentence]
    complex: Sequence[ComplexSentence]
    fragments: Sequence[Fragment]


def recognise(board: Board, marks: Marks) -> Recognised:
    """The sentences of a board, by their frames."""
    arrows = _Arrows(board, marks)
    simple = [
        sentence
        for frame in sorted(board.cards)
        if arrows.cases[frame] and frame not in arrows.governed
        for sentence in arrows.sentences(frame)
        if sentence.event.arguments
    ]
    alone = [
        arrows.sentence((frame,))
        for frame in sorted(arrows.connectives)
        if frame not in arrows.governed
    ]
    complex_ = [
        ComplexSentence(former, mark, latter)
        for former in (*simple, *alone)
        for mark, target in arrows.connectives.get(former.frames[-1], ())
        for latter in arrows.sentences(target)
    ]
    return Recognised(simple, complex_, list(arrows.fragments()))


class _Arrows:
    """The arrows of a board by what they mean: a mark that is both is a case behind a noun."""

    def __init__(self, board: Board, marks: Marks) -> None:
        self._board = board
        self.cases: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self.connectives: dict[int, list[tuple[str, int]]] = {}
        self._wrong: list[Fragment] = []
        for (source, target), mark in sorted(board.arrows.items()):
            card = board.cards.get(source)
            if card is None or target not in board.cards:
                self._wrong.append(Fragment((source, target), EMPTY_FRAME))
            elif card.noun and mark in marks.cases:
                self.cases[source].append((mark, target))
            elif card.predicate and mark in marks.connectives:
                self.connectives.setdefault(source, []).append((mark, target))
            else:
                why = CASE_OF_PREDICATE if mark in marks.cases else CONNECTIVE_OF_NOUN
                self._wrong.append(Fragment((source, target), why))
        self.governed = {target for known in self.cases.values() for _, target in known}
        """Frames to which a case mark leads: no maximal sentence begins there."""

    def sentences(self, frame: int) -> Iterator[SimpleSentence]:
        """The simple sentences that begin in a frame."""
        yield from map(self.sentence, self._paths(frame))

    def _paths(self, frame: int) -> Iterator[tuple[int, ...]]:
        onward = self.cases.get(frame, ())
        # A wildcard with nothing but a case mark behind it is a noun.
        if self._board.cards[frame].predicate and (not onward or frame in self.connectives):
            yield (frame,)
        for _, target in onward:
            for rest in self._paths(target):
                yield (frame, *rest)

    def sentence(self, frames: tuple[int, ...]) -> SimpleSentence:
        """The one that a way over the board spells."""
        *nouns, last = frames
        following = dict(pairwise(frames))
        arguments = tuple(
            EventArgument(
                self._board.arrows[frame, following[frame]], self._board.cards[frame].text
            )
            for frame in nouns
        )
        card = self._board.cards[last]
        return SimpleSentence(
            frames, Event(predicate_of(card.text), card.negated, False, arguments)
        )

    def fragments(self) -> Iterator[Fragment]:
        """Arrows that are in no sentence."""
        yield from self._wrong
        targets = {
            target
            for known in (*self.cases.values(), *self.connectives.values())
            for _, target in known
        }
        for frame in sorted(targets):
            if not self._board.cards[frame].predicate and not self.cases.get(frame):
                before = [
                    source for (source, target) in sorted(self._board.arrows) if target == frame
                ]
                yield Fragment((before[0], frame), NO_PREDICATE)
