"""Argument pairs of the miniature world: events, what follows from them, and the oracle that tells senses.

An event is something that somebody does to a thing. Written down is what it brings about, what stays away
that one would expect of it, what is done next, and how it is done; so the sense of a pair is a matter of
knowing the world, not of a word that gives it away. One sense is rare, and its second arguments are near in
words to those of a frequent one: what a model is likely to confuse.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pipeline.core.pairs import EXPLICIT, IMPLICIT, Pair
from pipeline.world.lexicon import Lexicon, load_lexicon

CAUSE, CONCESSION = "contingency.cause", "comparison.concession"
CONJUNCTION, CONTRAST = "expansion.conjunction", "comparison.contrast"
DETAIL, ASYNCHRONOUS = "expansion.level-of-detail", "temporal.asynchronous"

SENSES = {
    CONJUNCTION: 0.36, CAUSE: 0.28, ASYNCHRONOUS: 0.18, DETAIL: 0.1, CONTRAST: 0.06, CONCESSION: 0.02,
}  # fmt: skip
"""Shares of implicit pairs."""

_EXPLICIT_SHARES = [
    0.3,
    0.2,
    0.2,
    0.05,
    0.1,
    0.15,
]  # with a connective, concession is no rare thing
_CONNECTIVES = {
    CONJUNCTION: "and", CAUSE: "so", ASYNCHRONOUS: "then", DETAIL: "specifically", CONTRAST: "while",
    CONCESSION: "but",
}  # fmt: skip
_EXPLICIT = 0.4  # share of pairs with a connective
_TEST, _DEV = (
    (3, 10, 17),
    (5, 9, 14),
)  # which of 18 in a row are held out: by dev, confusions are found
_TOGETHER = 20  # pairs of a split in a document, or so


@dataclass(frozen=True, slots=True)
class WorldEvent:
    """What somebody does, with what goes with it; ``X`` is the thing.

    Attributes:
        things: class of nouns that X is of.
        does: the event.
        brings: what it brings about.
        fails: the contrary.
        next: what is done next.
        how: in which way it is done.
        instead: what another one does instead.
    """

    things: str
    does: str
    brings: tuple[str, str]
    fails: tuple[str, str]
    next: str
    how: str
    instead: str

    def second(self, sense: str) -> Sequence[str]:
        """The second arguments of a sense, without what is not said of this event."""
        return {
            CAUSE: self.brings,
            CONCESSION: self.fails,
            ASYNCHRONOUS: (f"WHO {self.next}",),
            DETAIL: (f"WHO {self.how}",),
            CONTRAST: (f"WHO {self.instead}",),
        }.get(sense, ())


_EVENTS = (
    WorldEvent(
        "container", "dropped the X", ("the X broke", "pieces of the X lay around"),
        ("the X stayed whole", "no piece of the X came off"), "bent down for the X",
        "let the X slip from both hands", "held on to the X",
    ),
    WorldEvent(
        "plant", "watered the X", ("the X grew tall", "new leaves came out on the X"),
        ("the X dried up", "no leaf came out on the X"), "put the can beside the X",
        "poured a whole can over the X", "left the X dry",
    ),
    WorldEvent(
        "food", "burnt the X", ("nobody ate the X", "the X went to the pigs"),
        ("everybody ate the X", "the X was praised"), "opened a window and took the X out",
        "kept the X over the flames for hours", "cooked the X well",
    ),
    WorldEvent(
        "tool", "sharpened the X", ("the X cut well", "the work with the X went fast"),
        ("the X cut badly", "the work with the X went slowly"), "hung the X on the wall",
        "ground the X on a wet stone", "left the X blunt",
    ),
    WorldEvent(
        "vehicle", "repaired the X", ("the X ran again", "people rode in the X"),
        ("the X stood still", "nobody rode in the X"), "drove the X out of the yard",
        "put a new axle under the X", "gave the X up",
    ),
    WorldEvent(
        "document", "lost the X", ("nobody read the X", "the words of the X were forgotten"),
        ("everybody knew the X", "the words of the X were repeated"), "looked for the X everywhere",
        "left the X on a train", "kept the X in a drawer",
    ),
    WorldEvent(
        "clothing", "washed the X", ("the X became clean", "the spots on the X went away"),
        ("the X remained dirty", "the spots on the X were still there"), "dried the X in the sun",
        "rubbed the X with soap", "wore the X dirty",
    ),
    WorldEvent(
        "instrument", "tuned the X", ("the X sounded pure", "all enjoyed the X"),
        ("the X sounded false", "all complained of the X"), "played a song on the X",
        "turned the pegs of the X", "left the X out of tune",
    ),
    WorldEvent(
        "furniture", "painted the X", ("the X looked new", "a buyer came for the X"),
        ("the X looked old", "no buyer came for the X"), "waited until the X was dry",
        "gave the X two coats of blue", "left the X bare",
    ),
    WorldEvent(
        "building", "heated the X", ("the X became warm", "the guests in the X took off their coats"),
        ("the X remained cold", "the guests in the X kept their coats on"), "closed the door of the X",
        "lit all stoves of the X", "let the X cool down",
    ),
    WorldEvent(
        "animal", "trained the X", ("the X obeyed", "the X came when called"),
        ("the X ran away", "the X never listened"), "rewarded the X",
        "practised with the X at dawn", "let the X do as it pleased",
    ),
    WorldEvent(
        "room", "swept the X", ("the floor of the X shone", "the dust in the X was gone"),
        ("the floor of the X was grey", "the dust in the X was back at once"),
        "emptied the bin outside the X", "took a broom to the corners of the X", "left the X dusty",
    ),
)  # fmt: skip

_WHO = r"the (?:[\w-]+ )?[\w-]+"
_THING = r"(?P<X>[\w-]+)"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace("X", _THING).replace("WHO", _WHO).replace("\\ ", " "))


_FIRST = [(event, _pattern(f"WHO {event.does}")) for event in _EVENTS]
_SECOND = {
    event: [(sense, _pattern(each)) for sense in SENSES for each in event.second(sense)]
    for event in _EVENTS
}


def sense_of(arg1: str, arg2: str) -> str | None:
    """The sense of a pair of the world, told from its words; None where there is none, or no such pair.

    Another event is a conjunction; what is said of this one, of another thing than Arg1's, is nothing.
    """
    for event, pattern in _FIRST:
        if first := pattern.fullmatch(arg1):
            for sense, second in _SECOND[event]:
                found = second.fullmatch(arg2)
                if found and found["X"] == first["X"]:
                    return sense
            others = (second for other, second in _FIRST if other != event)
            return CONJUNCTION if any(each.fullmatch(arg2) for each in others) else None
    return None


class PairComposer:
    """Writes arguments.

    Args:
        lexicon: the words.
        rng: where every choice comes from.
    """

    def __init__(self, lexicon: Lexicon, rng: Random) -> None:
        self._lexicon, self._rng = lexicon, rng

    def pair(self, sense: str) -> tuple[str, str]:
        """Two arguments of a sense."""
        first = self._event(self._rng.choice(_EVENTS))
        return first, self.second(first, sense)

    def second(self, arg1: str, sense: str) -> str:
        """A second argument of a sense for a first one of the world.

        Raises:
            ValueError: it is none.
        """
        found = ((event, pattern.fullmatch(arg1)) for event, pattern in _FIRST)
        event, first = next(((e, match) for e, match in found if match), (None, None))
        if event is None or first is None:
            raise ValueError(f"no first argument of the world: {arg1}")
        if sense == CONJUNCTION:
            return self._event(self._rng.choice([e for e in _EVENTS if e != event]))
        text = self._rng.choice(event.second(sense))
        return text.replace("X", first["X"]).replace("WHO", self._somebody())

    def _event(self, event: WorldEvent) -> str:
        thing = self._rng.choice(self._lexicon.nouns[event.things]).lemma
        return f"{self._somebody()} {event.does}".replace("X", thing)

    def _somebody(self) -> str:
        kind = self._rng.choice(sorted(self._lexicon.persons))
        words = ["the", self._rng.choice(self._lexicon.nouns[kind]).lemma]
        if self._rng.random() < 0.5:
            words.insert(1, self._rng.choice(self._lexicon.adjectives[kind]).lemma)
        return " ".join(words)


def generate_pairs(source: Path, count: int, seed: int, first: int = 0) -> Iterator[Pair]:
    """Yield argument pairs ``first`` up to ``first + count``, implicit ones and some with a connective.

    Pair ``i`` depends on the lexicon, ``seed`` and ``i`` alone.

    Args:
        source: folder that holds ``lexicon.yaml`` (data/raw/world).
        count: how many pairs.
        seed: of the choices.
        first: index of the first pair.

    Raises:
        InputError: the lexicon is missing or malformed.
    """
    lexicon = load_lexicon(source / "lexicon.yaml")
    for index in range(first, first + count):
        rng = Random(f"world-relations/{seed}/{index}")
        explicit = rng.random() < _EXPLICIT
        shares = _EXPLICIT_SHARES if explicit else list(SENSES.values())
        sense = rng.choices(list(SENSES), shares)[0]
        arg1, arg2 = PairComposer(lexicon, rng).pair(sense)
        place = index % 18
        split = "test" if place in _TEST else "dev" if place in _DEV else "train"
        yield Pair(
            pair_id=f"world-relations/{index:06d}", doc_id=f"{split}-{index // (6 * _TOGETHER):04d}",
            split=split, arg1=arg1, arg2=arg2, words1=tuple(arg1.split()), words2=tuple(arg2.split()),
            senses=(sense,), kind=EXPLICIT if explicit else IMPLICIT,
            connective=_CONNECTIVES[sense] if explicit else None, beside_explicit=False,
            license=lexicon.license,
        )  # fmt: skip
