"""The world's words and what may stand with what, as lookup tables by noun class.

A *class* is a set of nouns that may stand in the same places (``medic``, ``tool``). Everything else
refers to classes, which is how selectional preference gets into the sentences.
"""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Complement", "Lexicon", "Modifier", "Verb", "Word"]


@dataclass(frozen=True, slots=True)
class Word:
    """An open-class word; ``plural`` matters for nouns only."""

    lemma: str
    plural: str


@dataclass(frozen=True, slots=True)
class Modifier:
    """Prepositions that may be used alike, and the noun classes they take."""

    words: tuple[str, ...]
    take: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """An adjective with a prepositional phrase of its own (``afraid of animals``)."""

    adjective: Word
    modifier: Modifier


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: ``lemma`` is its base form; ``objects`` are classes, empty when there is no object."""

    lemma: str
    past: str
    participle: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    instrument: Modifier | None
    complement: Modifier | None


@dataclass(frozen=True)
class Lexicon:
    """The tables the grammar draws from. Keys are noun classes unless said otherwise."""

    license: str
    nouns: Mapping[str, tuple[Word, ...]]
    names: Mapping[str, tuple[Word, ...]]
    adjectives: Mapping[str, tuple[Word, ...]]
    complements: Mapping[str, tuple[Complement, ...]]
    noun_modifiers: Mapping[str, tuple[Modifier, ...]]
    verb_modifiers: Mapping[str, tuple[Modifier, ...]]  # by class of the subject
    ungraded: frozenset[str]  # adjectives that refuse "very"
    adverbs: Mapping[str, tuple[Word, ...]]  # by kind
    subordinators: Mapping[str, tuple[str, ...]]  # by kind
    pronouns: Mapping[str, tuple[str, ...]]  # by number
    determiners: Mapping[str, tuple[str, ...]]  # by number
    modals: tuple[str, ...]
    verbs: Mapping[tuple[str, str], tuple[Verb, ...]]  # by subject class and frame
    acting_on: Mapping[str, tuple[Verb, ...]]  # transitive verbs by object class
    subjects: tuple[str, ...]  # classes, each as often as its weight
    persons: frozenset[str]  # the classes of group "person"
    label_weights: Mapping[str, int]  # by constituent label
    coordinators: Mapping[str, tuple[str, ...]]  # by constituent label
