"""The world's words and what may stand with what, as lookup tables by noun class.

A *class* is a set of nouns that may stand in the same places (``medic``, ``tool``). Everything else
refers to classes, which is how selectional preference gets into the sentences.

``load_lexicon`` reads the lexicon file, which data/raw/world/README.md describes. A *group* in the file
names several noun classes (``person``); groups and classes may be named alike, and groups are resolved
here.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pipeline.core.documents import read_yaml
from pipeline.core.errors import InputError, SettingsError


@dataclass(frozen=True, slots=True)
class LexiconWord:
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

    adjective: LexiconWord
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
    nouns: Mapping[str, tuple[LexiconWord, ...]]
    names: Mapping[str, tuple[LexiconWord, ...]]
    adjectives: Mapping[str, tuple[LexiconWord, ...]]
    complements: Mapping[str, tuple[Complement, ...]]
    noun_modifiers: Mapping[str, tuple[Modifier, ...]]
    verb_modifiers: Mapping[str, tuple[Modifier, ...]]  # by class of the subject
    ungraded: frozenset[str]  # adjectives that refuse "very"
    adverbs: Mapping[str, tuple[LexiconWord, ...]]  # by kind
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


_FORM = re.compile(r"[A-Za-z][a-z]*(-[a-z]+)*")
_LEAST = 4
"""Fewest words of a noun class: a three-item list and one mention more must find different nouns."""

_HEAVIEST = 1000
"""Most of a weight: a subject stands in its table as often as it weighs."""


class _Reader:
    """Reads sections of the file; every complaint names the section and the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.document = read_yaml(path)
        except SettingsError as error:  # it is data here, and so named by all who read it
            raise InputError(str(error)) from error
        if not isinstance(self.document, dict):
            self.fail("the file is not a mapping of sections")
        self.classes: dict[str, tuple[str, ...]] = {}

    def fail(self, what: str) -> NoReturn:
        raise InputError(what, path=self.path, remedy="see the README.md beside it")

    def section(self, name: str, kind: type, parent: Any = None) -> Any:
        found = (self.document if parent is None else parent).get(name)
        if not isinstance(found, kind) or not found:
            self.fail(f"section {name!r} must be a non-empty {kind.__name__}, was {found!r:.60}")
        return found

    def forms(self, text: Any, place: str, least: int = 1) -> tuple[str, ...]:
        words = tuple(str(text).split())
        for word in words:
            if not all(_FORM.fullmatch(part) for part in word.split("/")):
                self.fail(f"{place}: not a word: {word!r}")
        if len(words) < least:
            self.fail(f"{place}: at least {least} word(s) wanted, was {text!r}")
        return words

    def words(self, text: Any, place: str, least: int = 1) -> tuple[LexiconWord, ...]:
        parts = (form.partition("/") for form in self.forms(text, place, least))
        return tuple(LexiconWord(lemma, plural or f"{lemma}s") for lemma, _, plural in parts)

    def lists(self, name: str, parent: Any = None) -> dict[str, tuple[str, ...]]:
        section = self.section(name, dict, parent)
        return {key: self.forms(text, f"{name}.{key}") for key, text in section.items()}

    def weights(self, name: str, parent: Any = None) -> dict[str, int]:
        section: dict[str, int] = self.section(name, dict, parent)
        for key, weight in section.items():
            if not isinstance(weight, int) or not 1 <= weight <= _HEAVIEST:
                self.fail(f"{name}.{key}: a whole number, 1 to {_HEAVIEST}, wanted, was {weight!r}")
        return section

    def expand(self, text: Any, place: str) -> tuple[str, ...]:
        found: list[str] = []
        for name in str(text).split():
            if name not in self.classes:
                self.fail(f"{place}: no such noun class or group: {name!r}")
            found += self.classes[name]
        return tuple(dict.fromkeys(found))

    def modifier(self, words: Any, take: Any, place: str) -> Modifier:
        return Modifier(self.forms(words, place), self.expand(take, place))

    def records(self, name: str, *keys: str) -> Iterable[tuple[str, dict[str, Any]]]:
        for number, record in enumerate(self.section(name, list), 1):
            missing = [k for k in keys if k not in record] if isinstance(record, dict) else keys
            if missing:
                self.fail(f"{name}, entry {number}: {', '.join(missing)} missing in {record!r}")
            yield f"{name}, entry {number}", record


def _verbs(reader: _Reader) -> list[tuple[str, Verb]]:
    found = []
    for place, record in reader.records("verbs", "verb", "who"):
        forms = reader.forms(record["verb"], place, least=3)
        objects = reader.expand(record.get("what", ""), place)
        if len(forms) != 3 or not (objects or "frame" in record):
            reader.fail(f"{place}: three forms and 'what' or 'frame' wanted, was {record!r}")
        using, complements = record.get("using"), record.get("pp", {})
        frame = record.get("frame", "transitive")
        if not isinstance(complements, dict) or not isinstance(frame, str):
            reader.fail(f"{place}: 'pp' must be a mapping and 'frame' a word, was {record!r}")
        verb = Verb(
            lemma=forms[0],
            past=forms[1],
            participle=forms[2],
            subjects=reader.expand(record["who"], place),
            objects=objects,
            instrument=reader.modifier("with", using, place) if using else None,
            complement=next(
                (reader.modifier(word, take, place) for word, take in complements.items()), None
            ),
        )
        found.append((frame, verb))
    return found


_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


def _by_class(entries: Iterable[tuple[tuple[_K, ...], _V]]) -> dict[_K, tuple[_V, ...]]:
    table: dict[_K, list[_V]] = {}
    for classes, entry in entries:
        for name in classes:
            table.setdefault(name, []).append(entry)
    return {name: tuple(found) for name, found in table.items()}


def load_lexicon(path: Path) -> Lexicon:
    """Read ``lexicon.yaml``.

    Raises:
        InputError: the file is missing, is not YAML that can be read, lacks a section, or an entry names a
            class that does not exist or holds something that is not a word.
    """
    reader = _Reader(path)
    nouns = {
        name: reader.words(text, f"nouns.{name}", _LEAST)
        for name, text in reader.section("nouns", dict).items()
    }
    reader.classes = {name: (name,) for name in nouns}
    for name, text in reader.section("groups", dict).items():
        reader.classes[name] = reader.expand(text, f"groups.{name}")

    def words_by_class(name: str) -> dict[str, tuple[LexiconWord, ...]]:
        return _by_class(
            (reader.expand(key, name), word)
            for key, text in reader.section(name, dict).items()
            for word in reader.words(text, f"{name}.{key}")
        )

    def modifiers(name: str) -> dict[str, tuple[Modifier, ...]]:
        return _by_class(
            (reader.expand(r["of"], place), reader.modifier(r["words"], r["take"], place))
            for place, r in reader.records(name, "of", "words", "take")
        )

    verbs = _verbs(reader)
    coordination = reader.section("coordination", dict)
    weights = reader.weights("subjects")
    lexicon = Lexicon(
        license=reader.section("license", str),
        nouns=nouns,
        names=words_by_class("names"),
        adjectives=words_by_class("adjectives"),
        complements=_by_class(
            (
                reader.expand(r["of"], place),
                Complement(
                    reader.words(r["word"], place)[0], reader.modifier(r["with"], r["take"], place)
                ),
            )
            for place, r in reader.records("adjective_complements", "word", "of", "with", "take")
        ),
        noun_modifiers=modifiers("noun_modifiers"),
        verb_modifiers=modifiers("verb_modifiers"),
        ungraded=frozenset(reader.forms(reader.section("ungraded", str), "ungraded")),
        adverbs={
            kind: reader.words(text, f"adverbs.{kind}", _LEAST)
            for kind, text in reader.section("adverbs", dict).items()
        },
        subordinators=reader.lists("subordinators"),
        pronouns=reader.lists("pronouns"),
        determiners=reader.lists("determiners"),
        modals=reader.forms(reader.section("modals", str), "modals"),
        verbs=_by_class(
            (tuple((name, frame) for name in verb.subjects), verb) for frame, verb in verbs
        ),
        acting_on=_by_class((verb.objects, verb) for _, verb in verbs),
        subjects=tuple(
            member
            for key, weight in weights.items()
            for member in reader.expand(key, "subjects")
            for _ in range(weight)
        ),
        persons=frozenset(reader.expand("person", "groups")),
        label_weights=reader.weights("labels", coordination),
        coordinators=reader.lists("words", coordination),
    )
    _require_complete(reader, lexicon)
    return lexicon


def _require_complete(reader: _Reader, lexicon: Lexicon) -> None:
    """Refuse a lexicon that would leave the grammar without a word half-way through a corpus."""
    numbers, classes = ("singular", "plural"), tuple(lexicon.nouns)
    wanted: tuple[tuple[str, Iterable[str], Mapping[str, Any]], ...] = (
        ("adjectives", classes, lexicon.adjectives),
        ("verb_modifiers", classes, lexicon.verb_modifiers),
        ("verbs with 'what'", classes, lexicon.acting_on),
        ("adverbs", ("manner", "place", "degree"), lexicon.adverbs),
        ("pronouns", numbers, lexicon.pronouns),
        ("determiners", numbers, lexicon.determiners),
        ("coordination.words", lexicon.label_weights, lexicon.coordinators),
    )
    for section, keys, table in wanted:
        for key in keys:
            if key not in table:
                reader.fail(f"{section}: nothing for {key!r}")
