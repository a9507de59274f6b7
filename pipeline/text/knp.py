"""Sentences in the KNP format: morphemes in base phrases, these in bunsetsu, and relations between them.

A unit begins with ``# S-ID:`` and ends with ``EOS``. ``* 2D`` begins a bunsetsu that depends on the third,
``+ 3D`` a base phrase likewise, with ``<rel .../>`` tags; every other line is a morpheme of 11 fields
or more.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.core.errors import InputError
from pipeline.core.words import is_without_control

ROOT = -1
"""The head of what depends on nothing."""

_HEADER = re.compile(r"# S-ID:(\S+)")
_NUMBER = "[0-9]{1,9}"  # no sentence has more of anything
_BUNSETSU = re.compile(rf"\* (-?{_NUMBER})[DPIA](?: |$)")
_PHRASE = re.compile(rf"\+ (-?{_NUMBER})[DPIA](?: |$)")
_TAG = "<rel "
# No value holds a quotation mark: with dots for them a line of 30 kB would take minutes.
_RELATION = re.compile(
    rf'<rel type="([^\s"]+)"(?: mode="[^\s"]+")? target="[^"]+"(?: sid="([^"]*)" id="({_NUMBER})")?/>'
)
_FIELDS = 11  # of a morpheme; its surface is the first, its class the fourth
_SURFACE, _CLASS = 0, 3


@dataclass(frozen=True, slots=True)
class Morpheme:
    """A word.

    Attributes:
        surface: as written.
        word_class: JUMAN's: 名詞, 動詞 ….
    """

    surface: str
    word_class: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A tag of a base phrase.

    Attributes:
        name: a case such as ガ, or ``=`` of what is the same.
        sentence: S-ID of the unit in which the other base phrase is; None: it is nowhere in the text.
        phrase: that base phrase's number in its unit.
    """

    name: str
    sentence: str | None
    phrase: int


@dataclass(frozen=True, slots=True)
class BasePhrase:
    """Morphemes ``start`` up to but not including ``end``, of which one has content.

    Attributes:
        start: its first morpheme.
        end: one past its last.
        bunsetsu: number of the one that it is in.
        head: number of the base phrase that it depends on, or ``ROOT``.
        relations: its tags, in their order.
    """

    start: int
    end: int
    bunsetsu: int
    head: int
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What stands between a header and its ``EOS``.

    Attributes:
        name: its S-ID.
        line: of its header, from 1.
        morphemes: its words.
        phrases: its base phrases.
        heads: of each bunsetsu the number of the one that it depends on, or ``ROOT``.
    """

    name: str
    line: int
    morphemes: tuple[Morpheme, ...]
    phrases: tuple[BasePhrase, ...]
    heads: tuple[int, ...]


def read_units(text: str, path: str) -> Iterator[Unit]:
    """The units of a file, in their order.

    Args:
        text: the file's.
        path: its name, for messages.

    Raises:
        InputError: a line or tag is out of place or not of this form, a tag names no base phrase of its unit,
            an S-ID stands twice or has a control character, a unit or a part of it is empty, or an ``EOS`` is
            missing; file and line are named.
    """
    seen: set[str] = set()
    begun: _Begun | None = None
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        header = _HEADER.match(line)
        if header and begun is None:
            if header[1] in seen:
                raise _fault(f"S-ID {header[1][:60]} stands here twice", path, number)
            if not is_without_control(header[1]):
                raise _fault("an S-ID with a control character", path, number)
            seen.add(header[1])
            begun = _Begun(header[1], number, path)
        elif begun is None:
            if line.strip():
                raise _fault("a line before the header of its unit, # S-ID:", path, number)
        elif line == "EOS":
            yield begun.unit()
            begun = None
        elif header:
            raise _fault(f"the unit of line {begun.line} has no EOS", path, number)
        elif line.strip():
            begun.take(line, number)
    if begun is not None:
        raise _fault(f"the unit of line {begun.line} has no EOS", path, len(lines))


class _Begun:
    """A unit whose ``EOS`` has not come."""

    def __init__(self, name: str, line: int, path: str) -> None:
        self.name, self.line, self._path = name, line, path
        self._morphemes: list[Morpheme] = []
        self._heads: list[int] = []  # of bunsetsu
        self._last = line  # where the last of them begins
        self._phrases: list[tuple[int, int, int, int, tuple[Relation, ...]]] = []

    def take(self, line: str, number: int) -> None:
        """Take in a line."""
        if found := _BUNSETSU.match(line):
            self._require_a_phrase()
            self._heads.append(int(found[1]))
            self._last = number
        elif found := _PHRASE.match(line):
            if not self._heads:
                raise _fault("a base phrase, +, before the first bunsetsu, *", self._path, number)
            relations = tuple(
                Relation(name, sentence or None, int(phrase or 0))
                for name, sentence, phrase in _RELATION.findall(line)
            )
            if len(relations) != line.count(_TAG):
                form = f'{_TAG}type="ガ" target="…" sid="…" id="3"/>'
                raise _fault(f"a tag that is not of the form {form}", self._path, number)
            at = len(self._morphemes)
            self._phrases.append((at, len(self._heads) - 1, int(found[1]), number, relations))
        elif not self._phrases:
            raise _fault("a morpheme before the first base phrase, +", self._path, number)
        else:
            fields = line.split(" ")
            if len(fields) < _FIELDS or not fields[_SURFACE]:
                raise _fault(
                    f"a morpheme of {len(fields)} fields, not {_FIELDS} or more", self._path, number
                )
            self._morphemes.append(Morpheme(fields[_SURFACE], fields[_CLASS]))

    def unit(self) -> Unit:
        """The whole of it."""
        if not self._morphemes:
            raise _fault("a unit without a morpheme", self._path, self.line)
        self._require_a_phrase()
        ends = [at for at, *_ in self._phrases[1:]] + [len(self._morphemes)]
        phrases = []
        for (start, bunsetsu, head, number, relations), end in zip(
            self._phrases, ends, strict=True
        ):
            if start == end:
                raise _fault("a base phrase without a morpheme", self._path, number)
            for relation in relations:
                if relation.sentence == self.name and relation.phrase >= len(self._phrases):
                    raise _fault(
                        f"id {relation.phrase} of {len(self._phrases)} base phrases",
                        self._path,
                        number,
                    )
            phrases.append(BasePhrase(start, end, bunsetsu, head, relations))
        return Unit(
            self.name, self.line, tuple(self._morphemes), tuple(phrases), tuple(self._heads)
        )

    def _require_a_phrase(self) -> None:
        """Check that the last bunsetsu so far has one."""
        if self._heads and (not self._phrases or self._phrases[-1][1] != len(self._heads) - 1):
            raise _fault("a bunsetsu without a base phrase", self._path, self._last)


def are_a_tree(heads: Sequence[int]) -> bool:
    """Whether every head is there, and whoever follows heads comes to an end."""
    whole: set[int] = {ROOT}
    for first in range(len(heads)):
        at, passed = first, set[int]()
        while at not in whole:
            if at in passed or not 0 <= at < len(heads):
                return False
            passed.add(at)
            at = heads[at]
        whole |= passed
    return True


def _fault(what: str, path: str, line: int) -> InputError:
    remedy = "mend the file, or leave it out"
    return InputError(what, path=path, line=line, remedy=remedy)
