"""Word cards, marks, and the board on which a player connects them (thesis, §5.3.1).

The thesis's game is Japanese; what it has becomes this of English event pairs:

- A noun card has the head of an argument, a predicate card the verb, or *be* with an adjective or noun, in
  a form that the text has. In the thesis it is conjugated: past, negative, both. Events know negation alone,
  so a card is turned over to say *not*.
- が, を, に, で and と become the roles ``subject`` and ``object`` and the prepositions ``to``, ``in`` and
  ``on``, the most frequent ones of English. ``to`` also leads from an infinitive's verb: *want to study*.
- から, ので, と and ら become *because*, *so*, *if* and *when*. As theirs, their arrow leads from the cause
  or condition to what follows from it, wherever an English sentence has it.

A board has 12 frames in four rows of three. An arrow leads from a frame to the one on its right or below it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipeline.core.cards.play import BoardFile
from pipeline.core.documents import parse_json
from pipeline.core.errors import InputError
from pipeline.tasks.questions.events import Event
from pipeline.text.heads import FORMS_OF_BE
from pipeline.text.stems import stem

NOUNS, PREDICATES = 6, 5
WILDCARD = NOUNS + PREDICATES
"""The number of the card on which a player writes: behind the nouns, which begin at 0, and the predicates."""

ROWS, COLUMNS = 4, 3
FRAMES = ROWS * COLUMNS

MOST_BYTES = 64 * 2**10
"""Of a board that somebody hands in."""

_MOST_LETTERS = 40
_WORDS = re.compile(r"[^\W_]+(?:[ '’\-.][^\W_]+)*")


def is_word(text: str) -> bool:
    """Whether a card may have a text: letters and digits, with single blanks, hyphens and the like inside."""
    return len(text) <= _MOST_LETTERS and _WORDS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Marks:
    """The particle marks: between a noun and its predicate, and between two simple sentences."""

    cases: Sequence[str]
    connectives: Sequence[str]


ENGLISH = Marks(("subject", "object", "to", "in", "on"), ("because", "so", "if", "when"))


@dataclass(frozen=True, slots=True)
class CardSet:
    """The cards of a round but the wildcard, which each has.

    Attributes:
        nouns: six.
        predicates: five.
    """

    nouns: tuple[str, ...]
    predicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedCard:
    """A card that lies in a frame.

    Attributes:
        text: its word, or what the player wrote on it.
        noun: whether it may be a noun.
        predicate: whether it may be a predicate; a wildcard may be either.
        negated: whether it says that its predicate is not so.
    """

    text: str
    noun: bool
    predicate: bool
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """What a player built.

    Attributes:
        cards: by their frames, row by row from 0.
        arrows: the mark between two frames that lie beside each other, the first one's first.
    """

    cards: Mapping[int, PlacedCard]
    arrows: Mapping[tuple[int, int], str]


def neighbour(frame: int, *, down: bool) -> int | None:
    """The frame below one, or on its right; None: there is none."""
    if down:
        return frame + COLUMNS if frame + COLUMNS < FRAMES else None
    return frame + 1 if (frame + 1) % COLUMNS else None


def predicate_of(text: str) -> str:
    """What events have for a predicate card: of *exploded* ``explod``, of *be hungry* ``be hungri``."""
    first, *rest = text.split()
    if first.lower() in FORMS_OF_BE and rest:
        return " ".join(("be", *map(stem, rest)))
    return " ".join((stem(first), *(word.lower() for word in rest)))


def board_from(text: str, marks: Marks = ENGLISH, *, path: Path | None = None) -> Board:
    """The board that a JSON text has, in the form of ``BoardFile``.

    Raises:
        InputError: it is over 64 kB, or not of that form; it has other than six nouns and five predicates,
            more frames than there are, an unknown card or mark or a card twice; or what is written on a card
            is no word.
    """
    if len(text.encode()) > MOST_BYTES:
        raise _BoardError(f"a board of over {MOST_BYTES // 1024} kB", path)
    found: BoardFile = parse_json(text, BoardFile, path=path, remedy=_REMEDY)
    nouns, predicates = found["nouns"], found["predicates"]
    if (len(nouns), len(predicates)) != (NOUNS, PREDICATES):
        had = f"{len(nouns)} nouns and {len(predicates)} predicates"
        raise _BoardError(f"{had}, where {NOUNS} and {PREDICATES} are dealt", path)
    words = [*nouns, *predicates, found.get("wildcard", "")]
    for word in filter(None, words):
        if not is_word(word):
            raise _BoardError(
                f"{word[:_MOST_LETTERS]!r} on a card, which is no word: letters and digits, at most "
                f"{_MOST_LETTERS} of them",
                path,
            )
    frames = found["frames"]
    arrows = {"right": found.get("right", []), "down": found.get("down", [])}
    counts = {"frames": len(frames)} | {name: len(known) for name, known in arrows.items()}
    for name, count in counts.items():
        if count > FRAMES:
            raise _BoardError(f"{name}: {count} frames, and the board has {FRAMES}", path)
    negated = set(found.get("negated", []))
    placed = [card for card in frames if card is not None]
    for card in (*placed, *negated):
        if not 0 <= card <= WILDCARD:
            raise _BoardError(f"unknown card {card}: cards are 0 to {WILDCARD}", path)
    if twice := sorted({card for card in placed if placed.count(card) > 1}):
        raise _BoardError(f"card {twice[0]} lies in two frames", path)
    if not all(words[card] for card in placed):
        raise _BoardError("nothing is written on a card that lies on the board", path)
    cards = {
        frame: PlacedCard(
            words[card],
            card < NOUNS or card == WILDCARD,
            card >= NOUNS,
            card in negated and card >= NOUNS,
        )
        for frame, card in enumerate(frames)
        if card is not None
    }
    return Board(cards, dict(_arrows(arrows, marks, path)))


_REMEDY = "take a card set of `conjoin play --deal`, and say in frames which card lies where"


def _arrows(
    known: Mapping[str, Any], marks: Marks, path: Path | None
) -> list[tuple[tuple[int, int], str]]:
    """The arrows to the right and down.

    Raises:
        InputError: a mark is unknown, or leads off the board.
    """
    found = []
    for name in ("right", "down"):
        for frame, mark in enumerate(known[name]):
            if mark is None:
                continue
            if mark not in (*marks.cases, *marks.connectives):
                every = ", ".join((*marks.cases, *marks.connectives))
                raise _BoardError(f"unknown mark {mark[:_MOST_LETTERS]!r}: there are {every}", path)
            target = neighbour(frame, down=name == "down")
            if target is None:
                raise _BoardError(
                    f"{name}: the mark {mark} of frame {frame} leads off the board", path
                )
            found.append(((frame, target), mark))
    return found


class _BoardError(InputError):
    """What is wrong with a board, with what is to be done."""

    def __init__(self, what: str, path: Path | None) -> None:
        super().__init__(what, path=path, remedy=_REMEDY)


_PATH = (0, 1, 2, 5, 8, 11)
"""A longest way over the board."""


def laid_out(former: Event, connective: str, latter: Event) -> Board | None:
    """The board with a complex sentence of two events, whose predicates are as cards have them.

    A noun of the latter that the former names is left out, as a pronoun would be. None: it is too long.
    """
    cards: list[PlacedCard] = []
    marks: list[str] = []
    named = {argument.head for argument in former.arguments}
    kept = tuple(argument for argument in latter.arguments if argument.head not in named)
    for event in (former, replace(latter, arguments=kept)):
        cards += [PlacedCard(argument.head, True, False) for argument in event.arguments]
        cards.append(PlacedCard(event.predicate, False, True, event.negated))
        marks += [*(argument.role for argument in event.arguments), connective]
    if len(cards) > len(_PATH):
        return None
    return Board(
        dict(zip(_PATH, cards, strict=False)), dict(zip(pairwise(_PATH), marks[:-1], strict=False))
    )
