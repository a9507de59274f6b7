"""brat's stand-off form, https://brat.nlplab.org/standoff.html: documents of sentences with coordinations.

``T`` lines are stretches of text with character offsets, an ``E`` line is a coordination whose trigger is the
coordinator and whose arguments are the conjuncts, an ``A`` line its label, a ``#`` line a note. In the text a
sentence is a line, and its words are parted by single blanks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

from pipeline.core.tally import Tally
from pipeline.core.types import UNLABELLED, Coordination, Span, is_label
from pipeline.text.lines import NumberedLines

CONFIGURATION = "annotation.conf"
SUFFIXES = (".txt", ".ann")
SENTENCES = 100
"""Of a document: what brat shows without delay."""

OTHER = "annotation that is no coordination"


@dataclass(frozen=True, slots=True)
class BratSentence:
    """A sentence of a document.

    Attributes:
        words: its words, none with a blank.
        structures: its coordinations; one whose label nobody said has the label ``X``.
        note: on each of them; empty: none.
        line: where it stands in the text, from 1.
        lines: those of the annotations that the structures are of.
    """

    words: Sequence[str]
    structures: tuple[Coordination, ...]
    note: str = ""
    line: int = field(default=0, compare=False)
    lines: tuple[int, ...] = field(default=(), compare=False)


def is_written(word: str) -> bool:
    """Whether a word can stand in a document."""
    return bool(word) and not set(word) & set(" \t\n\r")


def document_name(stem: str, number: int, suffix: str) -> str:
    """The name of a file of a document."""
    return f"{stem}-{number:05d}{suffix}"


def write_documents(folder: Path, stem: str, sentences: Iterable[BratSentence]) -> None:
    """Write sentences as documents of ``SENTENCES`` each, all of whose words ``is_written``."""
    kept, number = iter(sentences), 0
    while part := list(islice(kept, SENTENCES)):
        text: list[str] = []
        notes: list[str] = []
        base, stretches, events = 0, count(1), count(1)
        for each in part:
            sentence = " ".join(each.words)
            notes += _annotations(each, base, stretches, events)
            text.append(f"{sentence}\n")
            base += len(sentence) + 1
        for suffix, lines in zip(SUFFIXES, (text, notes), strict=True):
            path = folder / document_name(stem, number, suffix)
            path.write_text("".join(lines), encoding="utf-8", newline="\n")
        number += 1


def _annotations(
    sentence: BratSentence, base: int, stretches: Iterator[int], events: Iterator[int]
) -> Iterator[str]:
    """The lines of a sentence that begins at a character of its document.

    Args:
        sentence: with its structures.
        base: the character.
        stretches: numbers for its stretches of text.
        events: numbers for its events.
    """
    words = sentence.words
    begins, at = [], base
    for word in words:
        begins.append(at)
        at += len(word) + 1

    def stretch(start: int, end: int) -> str:
        text = " ".join(words[start:end])
        return f"{begins[start]} {begins[start] + len(text)}\t{text}\n"

    for structure in sentence.structures:
        k, event = structure.coordinator, next(events)
        trigger = f"T{next(stretches)}"
        yield f"{trigger}\tCoordination {stretch(k, k + 1)}"
        names: list[str] = []
        for span in structure.conjuncts:
            names.append(f"T{next(stretches)}")
            yield f"{names[-1]}\tConjunct {stretch(span.start, span.end)}"
        arguments = " ".join(
            f"{role}:{name}" for role, name in zip(_roles(names), names, strict=True)
        )
        yield f"E{event}\tCoordination:{trigger} {arguments}\n"
        yield f"A{event}\tLabel E{event} {structure.label}\n"
        if sentence.note:
            yield f"#{event}\tAnnotatorNotes E{event}\t{sentence.note}\n"


def _roles(names: Sequence[str]) -> Iterator[str]:
    return (f"Conjunct{number if number > 1 else ''}" for number in range(1, len(names) + 1))


def configuration(mark: str, labels: Iterable[str]) -> str:
    """What brat must know of the annotation, behind a first line."""
    return f"""{mark}
[entities]
Conjunct

[relations]

[events]
Coordination\tConjunct+:Conjunct

[attributes]
Label\tArg:<EVENT>, Value:{"|".join(labels)}
"""


_STRETCH = re.compile(r"(\S+) (\d{1,9}) (\d{1,9})")
_ROLE = re.compile(r"Conjunct\d*")
_WORD = re.compile("[^ ]+")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of text: its type, its characters, and the line that it stands on."""

    type: str
    start: int
    end: int
    line: int


_Placed = tuple[int, Coordination, int]
"""A line of the text from 0, a structure in it, and the line of the annotation that says it."""


class _Document:
    """A document that is read: its text, and so far its stretches, events and labels by their names.

    Args:
        text: its text.
        lines: of its annotation.
    """

    def __init__(self, text: str, lines: NumberedLines) -> None:
        self._text, self._lines = text, lines
        self.lines = text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._stretches: dict[str, _Stretch] = {}
        self._events: dict[str, tuple[list[str], int]] = {}
        self._labels: dict[str, str] = {}

    def words(self, number: int) -> list[re.Match[str]]:
        """The words of a line of the text, from 0."""
        return list(_WORD.finditer(self.lines[number]))

    def take(self, number: int, line: str) -> bool:
        """Take in a line of the annotation; whether it may be of a coordination."""
        name, _, rest = line.partition("\t")
        if name.startswith("T"):
            self._stretches[name] = self._stretch(name, rest, number)
        elif name.startswith("E") and rest.startswith("Coordination:"):
            self._events[name] = rest.split(), number
        elif name.startswith("A") and rest.startswith("Label "):
            _, *found = rest.split()  # an event and its label
            if len(found) != 2 or not is_label(found[1]):
                raise self._lines.problem(f"no label: {rest[:40]!r}", "write it as brat does")
            self._labels[found[0]] = found[1]
        else:
            return not name or name.startswith("#")
        return True

    def others(self) -> Iterator[int]:
        """Yield the lines of stretches that are of no coordination.

        Raises:
            InputError: one is called a conjunct, or a coordinator.
        """
        used = {
            each.partition(":")[2] for arguments, _ in self._events.values() for each in arguments
        }
        for name, stretch in self._stretches.items():
            if name not in used and stretch.type in ("Conjunct", "Coordination"):
                what = f"{name} is a {stretch.type.lower()} of no coordination event"
                raise self._lines.problem(what, "connect or remove it", line=stretch.line)
            if name not in used:
                yield stretch.line

    def structures(self) -> Iterator[_Placed]:
        """Yield the coordinations."""
        for name, (arguments, number) in self._events.items():
            yield self._structure(arguments, self._labels.get(name, UNLABELLED), number)

    def _stretch(self, name: str, rest: str, number: int) -> _Stretch:
        where, _, said = rest.partition("\t")
        found = _STRETCH.fullmatch(where)
        if found is None:
            what = "in several pieces" if ";" in where else f"not of brat's form: {rest[:40]!r}"
            raise self._lines.problem(f"{name} is {what}", "make it one stretch of text")
        start, end = int(found[2]), int(found[3])
        there = self._text[start:end]
        if not start < end <= len(self._text) or there != said:
            raise self._lines.problem(
                f"{name} says {said[:40]!r}, and the text has {there[:40]!r} there",
                "annotate the text as it is",
            )
        return _Stretch(found[1], start, end, number)

    def _structure(self, arguments: Sequence[str], label: str, number: int) -> _Placed:
        placed: list[tuple[int, Span]] = []
        for argument in arguments:
            role, _, name = argument.partition(":")
            if name not in self._stretches or not (role == "Coordination" or _ROLE.fullmatch(role)):
                what = f"a coordination of {argument[:40]!r}"
                raise self._lines.problem(what, "it has conjuncts alone", line=number)
            placed.append(self._words_of(name))
            if placed[-1][0] != placed[0][0]:
                what = f"{name} is of another sentence than its coordinator"
                raise self._lines.problem(what, "connect it there", line=number)
        (at, trigger), *conjuncts = placed
        if len(trigger) != 1:
            what = "a coordinator of several words"
            raise self._lines.problem(what, "mark the last of them", line=number)
        if len(conjuncts) < 2:
            what = f"a coordination of {len(conjuncts)} conjuncts"
            raise self._lines.problem(what, "it has two or more", line=number)
        word = self.words(at)[trigger.start][0]
        spans = tuple(sorted(span for _, span in conjuncts))
        return at, Coordination(trigger.start, word, label, spans), number

    def _words_of(self, name: str) -> tuple[int, Span]:
        """The line, from 0, of a stretch of text, and its words."""
        stretch = self._stretches[name]
        number = bisect_right(self._starts, stretch.start) - 1
        base, words = self._starts[number], self.words(number)
        begins = {base + word.start(): i for i, word in enumerate(words)}
        ends = {base + word.end(): i + 1 for i, word in enumerate(words)}
        if stretch.start not in begins or stretch.end not in ends:
            raise self._lines.problem(
                f"{name} begins or ends inside a word, or is on two lines: another tokenization?",
                "mark whole words of one sentence", line=stretch.line,
            )  # fmt: skip
        return number, Span(begins[stretch.start], ends[stretch.end])


def read_document(text: str, lines: NumberedLines, tally: Tally) -> list[BratSentence]:
    """The sentences of a document with their coordinations, in the order of their coordinators.

    Args:
        text: its text.
        lines: of its annotation.
        tally: counts annotation that is none of coordinations, and is passed over.

    Raises:
        InputError: of the annotation, with the line: not of brat's form; of other text; it cuts words; a
            coordination without trigger or conjuncts, or a conjunct without coordination.
    """
    document = _Document(text, lines)
    for number, line in lines:
        if not document.take(number, line):
            tally.refuse(OTHER, place=f"{lines.name}:{number}")
    for number in document.others():
        tally.refuse(OTHER, place=f"{lines.name}:{number}")
    found: dict[int, list[_Placed]] = {}
    for placed in document.structures():
        found.setdefault(placed[0], []).append(placed)
    made = []
    for at, line in enumerate(document.lines):
        own = sorted(found.get(at, []), key=lambda each: each[1].coordinator)
        if line.strip():
            words = tuple(word[0] for word in document.words(at))
            structures = tuple(structure for _, structure, _ in own)
            places = tuple(number for _, _, number in own)
            made.append(BratSentence(words, structures, line=at + 1, lines=places))
    return made
