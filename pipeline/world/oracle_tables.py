"""The lexicon inverted for recognition: from a word to what it may be, as bit sets.

Three kinds of set are held in integers. A *kinds* set has one bit per noun class. An *agreement*
set has two halves, noun classes in the singular and in the plural: what a noun phrase may be, or
what a verb phrase requires of its subject. A *modifiers* set has one bit per distinct ``Modifier``.

``relaxed`` is the lexicon without its selectional preferences: every class may stand wherever one may.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.world.lexicon import Lexicon, LexiconWord, Modifier, Verb

_T = TypeVar("_T")

FORMS = ("past", "lemma", "participle")
"""Verb forms, named like the fields of ``Verb``."""

_FUNCTION_WORDS = frozenset(
    {"a", "an", "and", "or", "but", "was", "were", "by", "to", "that", "which", "who", ",", "."}
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One verb in one frame: kinds sets of subject and object, modifiers sets of its phrases."""

    frame: str
    subjects: int
    objects: int
    complement: int
    instrument: int


@dataclass(frozen=True)
class Tables:
    """What each word may be.

    Attributes:
        kinds: how many noun classes there are.
        mixed: conjuncts need not share a class.
        nouns, names, pronouns, determiners, adjectives: word → agreement set.
        complements: adjective → (agreement set, modifiers set) of each entry.
        prepositions: word → (modifier, kinds set it takes).
        noun_modifiers, verb_modifiers: modifier → agreement set of what it modifies.
        verbs: form → word → entries.
        adverbs: word → set of kinds of adverbs, ``manner`` and others.
        coordinators: constituent label → coordinators.
        vocabulary: all words.
    """

    kinds: int
    mixed: bool
    nouns: Mapping[str, int]
    names: Mapping[str, int]
    pronouns: Mapping[str, int]
    determiners: Mapping[str, int]
    adjectives: Mapping[str, int]
    gradable: frozenset[str]
    complements: Mapping[str, Sequence[tuple[int, int]]]
    prepositions: Mapping[str, Sequence[tuple[int, int]]]
    noun_modifiers: Mapping[int, int]
    verb_modifiers: Mapping[int, int]
    verbs: Mapping[str, Mapping[str, Sequence[Entry]]]
    adverbs: Mapping[str, int]
    degrees: frozenset[str]
    manner: int
    subordinators: Mapping[str, int]
    modals: frozenset[str]
    persons: int
    coordinators: Mapping[str, frozenset[str]]
    vocabulary: frozenset[str]

    @property
    def singular(self) -> int:
        """All classes in the singular, which is also the set of all kinds."""
        return (1 << self.kinds) - 1

    @property
    def plural(self) -> int:
        """All classes in the plural."""
        return self.singular << self.kinds

    def both(self, kinds: int) -> int:
        """Agreement set of these kinds in either number."""
        return kinds | kinds << self.kinds

    def kinds_of(self, agreement: int) -> int:
        """Kinds set of an agreement set."""
        return (agreement | agreement >> self.kinds) & self.singular


class _Builder:
    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.bit = {kind: 1 << i for i, kind in enumerate(lexicon.nouns)}
        self.shift = len(self.bit)
        self.modifiers: dict[Modifier, int] = {}

    def kinds(self, names: Iterable[str]) -> int:
        return sum(self.bit[name] for name in set(names))

    def both(self, kinds: int) -> int:
        return kinds | kinds << self.shift

    def modifier(self, modifier: Modifier | None) -> int:
        if modifier is None:
            return 0
        return self.modifiers.setdefault(modifier, 1 << len(self.modifiers))

    def nouns(self) -> dict[str, int]:
        return _united(
            pair
            for kind, words in self.lexicon.nouns.items()
            for word in words
            for pair in (
                (word.lemma, self.bit[kind]),
                (word.plural, self.bit[kind] << self.shift),
            )
        )

    def by_kind(self, table: Mapping[str, Sequence[LexiconWord]], numbers: int) -> dict[str, int]:
        """Agreement sets of words by class: singular, or with two ``numbers`` either."""
        return _united(
            (word.lemma, self.bit[kind] if numbers == 1 else self.both(self.bit[kind]))
            for kind, words in table.items()
            for word in words
        )

    def by_number(self, table: Mapping[str, Sequence[str]], kinds: int) -> dict[str, int]:
        return _united(
            (word, kinds << self.shift if number == "plural" else kinds)
            for number, words in table.items()
            for word in words
        )

    def complements(self) -> dict[str, list[tuple[int, int]]]:
        found = _united(
            ((entry.adjective.lemma, self.modifier(entry.modifier)), self.both(self.bit[kind]))
            for kind, entries in self.lexicon.complements.items()
            for entry in entries
        )
        by_word: dict[str, list[tuple[int, int]]] = {}
        for (word, modifier), mask in found.items():
            by_word.setdefault(word, []).append((mask, modifier))
        return by_word

    def modified(self, table: Mapping[str, Sequence[Modifier]]) -> dict[int, int]:
        return _united(
            (self.modifier(modifier), self.both(self.bit[kind]))
            for kind, modifiers in table.items()
            for modifier in modifiers
        )

    def verbs(self) -> dict[str, dict[str, list[Entry]]]:
        found: dict[str, dict[str, list[Entry]]] = {form: {} for form in FORMS}
        seen: set[tuple[str, Verb]] = set()
        for (_, frame), verbs in self.lexicon.verbs.items():
            for verb in verbs:
                if (frame, verb) in seen:
                    continue
                seen.add((frame, verb))
                entry = Entry(
                    frame, self.kinds(verb.subjects), self.kinds(verb.objects),
                    self.modifier(verb.complement), self.modifier(verb.instrument),
                )  # fmt: skip
                for form in FORMS:
                    found[form].setdefault(getattr(verb, form), []).append(entry)
        return found

    def prepositions(self) -> dict[str, list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {}
        for modifier, bit in self.modifiers.items():
            for word in dict.fromkeys(modifier.words):
                found.setdefault(word, []).append((bit, self.kinds(modifier.take)))
        return found


def _united(pairs: Iterable[tuple[_T, int]]) -> dict[_T, int]:
    """Key → the union of its sets."""
    found: dict[_T, int] = {}
    for key, mask in pairs:
        found[key] = found.get(key, 0) | mask
    return found


def _sets(table: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Word → one bit per key under which it stands."""
    return _united((word, 1 << i) for i, words in enumerate(table.values()) for word in words)


def build_tables(lexicon: Lexicon, *, mixed: bool) -> Tables:
    """Tables of a lexicon; with ``mixed`` conjuncts of unlike class go together."""
    make = _Builder(lexicon)
    everything = (1 << make.shift) - 1
    nouns, names = make.nouns(), make.by_kind(lexicon.names, numbers=1)
    adjectives = make.by_kind(lexicon.adjectives, numbers=2)
    complements = make.complements()
    pronouns = make.by_number(lexicon.pronouns, make.kinds(lexicon.persons))
    determiners = make.by_number(lexicon.determiners, everything)
    if "a" in determiners:
        determiners["an"] = determiners["a"]
    noun_modifiers = make.modified(lexicon.noun_modifiers)
    verb_modifiers = make.modified(lexicon.verb_modifiers)
    verbs = make.verbs()
    prepositions = make.prepositions()
    kinds_of_adverbs = {k: [w.lemma for w in ws] for k, ws in lexicon.adverbs.items()}
    degrees = frozenset(kinds_of_adverbs.pop("degree"))
    adverbs, subordinators = _sets(kinds_of_adverbs), _sets(lexicon.subordinators)
    words: list[Iterable[str]] = [
        nouns, adjectives, complements, names, pronouns, determiners, prepositions, degrees,
        adverbs, subordinators, lexicon.modals, _FUNCTION_WORDS, *verbs.values(),
    ]  # fmt: skip
    return Tables(
        kinds=make.shift,
        mixed=mixed,
        nouns=nouns,
        names=names,
        pronouns=pronouns,
        determiners=determiners,
        adjectives=adjectives,
        gradable=frozenset(adjectives) - lexicon.ungraded,
        complements=complements,
        prepositions=prepositions,
        noun_modifiers=noun_modifiers,
        verb_modifiers=verb_modifiers,
        verbs=verbs,
        adverbs=adverbs,
        degrees=degrees,
        manner=1 << list(kinds_of_adverbs).index("manner"),
        subordinators=subordinators,
        modals=frozenset(lexicon.modals),
        persons=make.kinds(lexicon.persons),
        coordinators={label: frozenset(own) for label, own in lexicon.coordinators.items()},
        vocabulary=frozenset(word for table in words for word in table),
    )


def content_lemmas(lexicon: Lexicon) -> dict[str, str]:
    """Every form of a noun, verb, adjective, manner adverb or name → its lemma."""
    words = [word for own in lexicon.nouns.values() for word in own]
    found = {form: word.lemma for word in words for form in (word.lemma, word.plural)}
    for verbs in lexicon.verbs.values():
        for verb in verbs:
            found |= {getattr(verb, form): verb.lemma for form in FORMS}
    plain = [*lexicon.adjectives.values(), *lexicon.names.values(), lexicon.adverbs["manner"]]
    found |= {word.lemma: word.lemma for own in plain for word in own}
    entries = [entry for own in lexicon.complements.values() for entry in own]
    return found | {entry.adjective.lemma: entry.adjective.lemma for entry in entries}


def _distinct(lists: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))


def relaxed(lexicon: Lexicon) -> Lexicon:
    """The same words, frames, prepositions and agreement, with all selection by class lifted.

    Nouns keep their class, for "who" and "which" depend on it.
    """
    every = tuple(lexicon.nouns)

    def wide(modifier: Modifier | None) -> Modifier | None:
        return None if modifier is None else Modifier(modifier.words, every)

    def merged(table: Mapping[str, tuple[Modifier, ...]]) -> dict[str, tuple[Modifier, ...]]:
        words = _distinct(modifier.words for own in table.values() for modifier in own)
        return dict.fromkeys(every, (Modifier(words, every),))

    complements = tuple(
        replace(entry, modifier=Modifier(entry.modifier.words, every))
        for entry in _distinct(lexicon.complements.values())
    )
    verbs = {
        (kind, frame): tuple(
            replace(
                verb,
                subjects=every,
                objects=every if verb.objects else (),
                instrument=wide(verb.instrument),
                complement=wide(verb.complement),
            )
            for verb in own
        )
        for (kind, frame), own in lexicon.verbs.items()
    }
    return replace(
        lexicon,
        adjectives=dict.fromkeys(every, _distinct(lexicon.adjectives.values())),
        complements=dict.fromkeys(every, complements),
        noun_modifiers=merged(lexicon.noun_modifiers),
        verb_modifiers=merged(lexicon.verb_modifiers),
        subordinators={"any": _distinct(lexicon.subordinators.values())},
        verbs=verbs,
    )
