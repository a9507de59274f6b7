"""Card sets from pairs of core events: five pairs about one of them, broken into words (thesis, §5.3.2).

Ours, where the thesis is silent or its data are not here:

- How difficult a word is, 1 to 5, a file may say; else its fifth of the words of all events by how frequent
  they are, the most frequent fifth being 1. What is not known to the file is left out, as there.
- Four pairs are drawn at random among those that still let the set have six nouns and five or six
  predicates, a few times for each seed pair: where there are few pairs, blind draws would find nearly no set.
- Left out are also pairs with a rare role, as there, and those which one board with these cards cannot hold.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random

from pipeline.core.documents import read_document_text
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.tasks.questions.events import Event
from pipeline.tasks.questions.pairs import EventPair
from pipeline.tasks.questions.play.cards import (
    NOUNS,
    PREDICATES,
    CardSet,
    Marks,
    is_word,
    laid_out,
    predicate_of,
)
from pipeline.tasks.questions.play.recognise import recognise
from pipeline.tasks.questions.play.score import LanguageResources
from pipeline.text.heads import FORMS_OF_BE
from pipeline.text.stems import stem

LEVELS: dict[str, Callable[[float, float], bool]] = {
    "easy": lambda mean, most: most <= 2.0,
    "medium": lambda mean, most: mean > 1.5 and most <= 2.5,
    "hard": lambda mean, most: mean > 2.0,
}
"""Whether a pair whose words have that mean and greatest difficulty is of a level."""

UNKNOWN_WORD = "pairs with a word of unknown difficulty"
OTHER_LEVEL = "pairs of another level"
RARE_ROLE = "pairs with a role that is no mark"
NO_BOARD = "pairs that no board with one card a word can hold"
FEW = "seed pairs with fewer than four others about one of their events"
NO_SET = "seed pairs without a set of six nouns and five or six predicates"
TWICE = "card sets dealt before"

_PAIRS = 5
_TRIES = 10


@dataclass(frozen=True)
class PlayedPair:
    """Two core events, with the words that cards have for their predicates.

    Attributes:
        former: the cause or condition.
        latter: what follows.
        former_card, latter_card: their predicates on cards.
    """

    former: Event
    latter: Event
    former_card: str
    latter_card: str

    @cached_property
    def nouns(self) -> frozenset[str]:
        """The heads of both."""
        return frozenset(
            argument.head for event in (self.former, self.latter) for argument in event.arguments
        )

    @cached_property
    def predicates(self) -> frozenset[str]:
        """As cards have them."""
        return frozenset((self.former_card, self.latter_card))

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems by which difficulty goes."""
        return frozenset(map(_content, (*self.nouns, *self.predicates)))

    def as_played(self) -> tuple[Event, Event]:
        """The events with the cards' words for their predicates."""
        former = replace(self.former, predicate=self.former_card)
        return former, replace(self.latter, predicate=self.latter_card)


@dataclass(frozen=True, slots=True)
class Dealt:
    """A card set and the five pairs that it was dealt from, the seed pair first."""

    cards: CardSet
    pairs: tuple[PlayedPair, ...]


def card_words(pairs: Iterable[EventPair]) -> dict[str, str]:
    """A form of each predicate that clauses have, for its card: the shortest, which is the plainest."""
    found: dict[str, str] = {}
    for pair in pairs:
        sides = ((pair.former, pair.former_event), (pair.latter, pair.latter_event))
        for clause, event in sides:
            first, *rest = event.predicate.split()
            state = first == "be" and rest
            wanted = rest[-1] if state else first
            for word in map(str.lower, clause):
                if stem(word) == wanted:
                    text = f"be {word}" if state else " ".join((word, *rest))
                    known = found.get(event.predicate, text)
                    found[event.predicate] = min(known, text, key=lambda each: (len(each), each))
    return found


def _content(word: str) -> str:
    """The stem of what a card says: of *be hungry* that of *hungry*, of *break down* that of *break*."""
    first, *rest = word.split()
    return stem(rest[0] if rest and first.lower() in FORMS_OF_BE else first)


def fifths(events: Iterable[Event]) -> dict[str, float]:
    """The difficulty of each word of events by its frequency: 1 to 5; equally frequent words share theirs."""
    counts = Counter(
        word
        for event in events
        for word in (_of_predicate(event), *(stem(each.head) for each in event.arguments))
    )
    by_count: dict[int, list[str]] = defaultdict(list)
    for word, count in counts.items():
        by_count[count].append(word)
    found, before = dict[str, float](), 0
    for count in sorted(by_count, reverse=True):
        words = by_count[count]
        middle = before + (len(words) - 1) / 2
        found |= dict.fromkeys(words, float(1 + int(5 * middle / len(counts))))
        before += len(words)
    return found


def _of_predicate(event: Event) -> str:
    first, *rest = event.predicate.split()
    return rest[0] if rest and first == "be" else first


def read_difficulties(path: Path) -> dict[str, float]:
    """The difficulty of words by their stems, from a CSV file of two columns: word, 1 to 5.

    Of words with one stem the easiest counts.

    Raises:
        InputError: it is no such file.
    """
    found: dict[str, float] = {}
    text = read_document_text(path, remedy=_FORM).removeprefix("\ufeff")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            (row,) = csv.reader([line])
            word, value = row
            difficulty = float(value)
        except (csv.Error, ValueError):
            row, difficulty = line.split(","), 0.0
        if not 1 <= difficulty <= 5:
            if number == 1 and len(row) == 2:
                continue  # the columns' names
            raise InputError(f"no word with its difficulty: {','.join(row)[:60]!r}", path=path, line=number,
                             remedy=_FORM)  # fmt: skip
        key = _content(word) if word.strip() else ""
        found[key] = min(difficulty, found.get(key, 5.0))
    return found


_FORM = "a line is a word, a comma and a number from 1 (known early) to 5"


def of_level(words: Iterable[str], difficulty: Mapping[str, float], level: str) -> bool | None:
    """Whether a pair of these words is of a level; None: the difficulty of one is not known."""
    known = [difficulty.get(word) for word in words]
    values = [value for value in known if value is not None]
    if len(values) < len(known):
        return None
    return LEVELS[level](sum(values) / len(values), max(values))


def playable(
    pairs: Iterable[PlayedPair],
    difficulty: Mapping[str, float],
    level: str | None,
    marks: Marks,
    tally: Tally,
) -> list[PlayedPair]:
    """The pairs of a level, or of any, that can be built; why others are left out goes into the tally."""
    kept = []
    for pair in pairs:
        arguments = (*pair.former.arguments, *pair.latter.arguments)
        fits = of_level(pair.words, difficulty, level) if level else True
        if any(argument.role not in marks.cases for argument in arguments):
            tally.refuse(RARE_ROLE)
        elif fits is None:
            tally.refuse(UNKNOWN_WORD)
        elif not fits:
            tally.refuse(OTHER_LEVEL)
        elif not is_buildable(pair, marks):
            tally.refuse(NO_BOARD)
        else:
            kept.append(pair)
    return kept


def is_buildable(pair: PlayedPair, marks: Marks) -> bool:
    """Whether a board can have the pair as a sentence of two, each of its words on one card."""
    former, latter = pair.as_played()
    board = laid_out(former, marks.connectives[0], latter)
    if board is None or not all(map(is_word, (*pair.nouns, *pair.predicates))):
        return False
    texts = {(card.text, card.noun) for card in board.cards.values()}
    resources = LanguageResources({}, [(pair.former, pair.latter)])
    return len(texts) == len(board.cards) and any(
        resources.is_verified(each.former.event, each.latter.event)
        for each in recognise(board, marks).complex
    )


def deal(
    pairs: Sequence[PlayedPair], frequency: Mapping[str, int], seed: int, tally: Tally
) -> list[Dealt]:
    """A card set from each pair as a seed, if four others give one with it; in an order drawn by ``seed``.

    Args:
        pairs: that can be built.
        frequency: of predicates in text.
        seed: of the draws.
        tally: takes the sets, and why others are none.
    """
    about: dict[tuple[str, Event], list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        about["former", pair.former].append(number)
        about["latter", pair.latter].append(number)
    random = Random(seed)
    found: dict[CardSet, Dealt] = {}
    for number in random.sample(range(len(pairs)), len(pairs)):
        pair = pairs[number]
        near = {*about["former", pair.former], *about["latter", pair.latter]} - {number}
        if len(near) < _PAIRS - 1:
            tally.refuse(FEW)
            continue
        five = _five(pair, [pairs[each] for each in sorted(near)], random)
        if five is None:
            tally.refuse(NO_SET)
            continue
        cards = _cards(five, frequency)
        if cards in found:
            tally.refuse(TWICE)
        else:
            found[cards] = Dealt(cards, five)
            tally.keep()
    return list(found.values())


def _five(
    seed: PlayedPair, others: Sequence[PlayedPair], random: Random
) -> tuple[PlayedPair, ...] | None:
    """The seed and four others with six nouns and five or six predicates; None: none was found."""
    every = seed.predicates.union(*(each.predicates for each in others))
    if len(every) < PREDICATES or len(seed.nouns.union(*(each.nouns for each in others))) < NOUNS:
        return None
    for _ in range(_TRIES):
        five, nouns, predicates = [seed], seed.nouns, seed.predicates
        for each in random.sample(others, len(others)):
            more, further = nouns | each.nouns, predicates | each.predicates
            left = _PAIRS - 1 - len(five)
            # Whatever shares an event with the seed brings one predicate at most.
            if len(more) <= NOUNS and PREDICATES - left <= len(further) <= PREDICATES + 1:
                five, nouns, predicates = [*five, each], more, further
                if not left:
                    break
        if len(five) == _PAIRS and len(nouns) == NOUNS:
            return tuple(five)
    return None


def _cards(five: Sequence[PlayedPair], frequency: Mapping[str, int]) -> CardSet:
    """The words of the pairs, in the order of the alphabet, which tells nothing of the pairs.

    Of six predicates the one in the fewest of the pairs goes, of these the one that is rarest in text.
    """
    nouns = sorted(frozenset[str]().union(*(pair.nouns for pair in five)))
    times = Counter(predicate for pair in five for predicate in pair.predicates)
    rarest = min(times, key=lambda each: (times[each], frequency.get(predicate_of(each), 0), each))
    gone = {rarest} if len(times) > PREDICATES else set[str]()
    return CardSet(tuple(nouns), tuple(sorted(times.keys() - gone)))
