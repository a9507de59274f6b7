"""What a player is told of a board: each sentence's grade, and of one without a star why (thesis, §5.3.5)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipeline.tasks.questions.events import EventArgument
from pipeline.tasks.questions.play.cards import Board, Marks
from pipeline.tasks.questions.play.recognise import SimpleSentence, recognise
from pipeline.tasks.questions.play.score import (
    NOTHING,
    VERIFIED,
    Grade,
    LanguageResources,
    grade,
)

NO_EXAMPLE = "no example of this is known"
NO_PAIR = "that one brings the other about is not known"


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """What is said of a sentence, or of what is none.

    Attributes:
        sentence: as it lies on the board.
        frames: where.
        grade: from ☆☆☆ to ?.
        score: of a simple sentence, else 0.
        feedback: what may be done; empty where the grade has a star.
        unknown: whether no example is known, so that the player may note it.
    """

    sentence: str
    frames: tuple[int, ...]
    grade: Grade
    score: float = 0.0
    feedback: str = ""
    unknown: bool = False


def verdicts(board: Board, marks: Marks, resources: LanguageResources) -> Iterator[SentenceVerdict]:
    """The complex sentences of a board, the simple ones, and what is none, each in the order of frames."""
    found = recognise(board, marks)
    for pair in found.complex:
        text = sentence_text(board, pair.frames)
        if resources.is_verified(pair.former.event, pair.latter.event):
            yield SentenceVerdict(text, pair.frames, VERIFIED)
        else:
            yield SentenceVerdict(text, pair.frames, NOTHING, feedback=NO_PAIR, unknown=True)
    for simple in found.simple:
        yield _of_simple(simple, board, marks, resources)
    for part in found.fragments:
        text = sentence_text(board, part.frames)
        said = f"not grammatical: {part.why}"
        yield SentenceVerdict(text, part.frames, NOTHING, feedback=said)


def _of_simple(
    sentence: SimpleSentence, board: Board, marks: Marks, resources: LanguageResources
) -> SentenceVerdict:
    event = sentence.event
    verdict = SentenceVerdict(sentence_text(board, sentence.frames), sentence.frames, NOTHING)
    roles = Counter(argument.role for argument in event.arguments)
    if twice := [role for role, count in roles.items() if count > 1]:
        return replace(verdict, feedback=f"not grammatical: {twice[0]} twice in a sentence")
    if score := resources.score(event):
        return replace(verdict, grade=grade(score), score=score)
    if better := better_mark(sentence, marks, resources):
        said = f"try “{better.role}” behind {better.head}"
        return replace(verdict, feedback=said)
    return replace(verdict, feedback=NO_EXAMPLE, unknown=True)


def better_mark(
    sentence: SimpleSentence, marks: Marks, resources: LanguageResources
) -> EventArgument | None:
    """The noun of a sentence with another case mark by which it scores most; of equal ones the first."""
    event = sentence.event
    tried: list[tuple[float, EventArgument]] = []
    for place, argument in enumerate(event.arguments):
        others = (*event.arguments[:place], *event.arguments[place + 1 :])
        for mark in marks.cases:
            if mark not in {each.role for each in event.arguments}:
                new = EventArgument(mark, argument.head)
                score = resources.score(replace(event, arguments=(*others, new)))
                tried.append((score, new))
    best, found = max(tried, key=lambda each: each[0], default=(0.0, None))
    return found if best else None


def sentence_text(board: Board, frames: tuple[int, ...]) -> str:
    """Cards and marks as they lie: ``coat –object→ hammer –so→ not explode``; an empty frame is ``□``."""
    parts = []
    for place, frame in enumerate(frames):
        if place:
            parts.append(f"–{board.arrows[frames[place - 1], frame]}→")
        card = board.cards.get(frame)
        parts.append(f"{'not ' if card.negated else ''}{card.text}" if card else "□")
    return " ".join(parts)
