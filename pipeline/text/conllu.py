"""CoNLL-U: sentences read line by line, and coordinations in the MISC column, written and read.

The format is that of https://universaldependencies.org/format.html: a word per line in ten columns
parted by tabs, comments before the words, a blank line after them. The words of a sentence are the
lines with an integer ID; multiword tokens (``3-4``) and empty nodes (``3.1``) only pass through, where they
can be: all that is read as CoNLL-U is read here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.core.structures import as_conjuncts
from pipeline.core.types import UNLABELLED, Coordination, Span, is_label
from pipeline.text.lines import GivenSentence, NumberedLines

_ID = re.compile(r"([0-9]{1,9})(?:([-.])([0-9]{1,9}))?")
_NAME = re.compile(r"#\s*sent_id\s*=\s*(.*)")
_COLUMNS = 10
LONGEST = 1 << 20
"""Characters that the lines of a sentence may have, as a tree may."""
_TWO_WORDS = "a multiword token has two words of the sentence or more, and no two overlap"


def looks_like_conllu(line: str) -> bool:
    """Whether a line is that of a word, a multiword token or an empty node."""
    columns = line.split("\t")
    return len(columns) == _COLUMNS and bool(_ID.fullmatch(columns[0]))


@dataclass
class _Open:
    """A sentence as far as it has been read.

    Attributes:
        begun: the line it begins on.
        range: the last multiword token, its first and last word and its line; zeros before there is one.
        empty: empty nodes since the last word.
    """

    begun: int
    name: str | None = None
    words: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    size: int = 0
    range: tuple[int, int, int] = (0, 0, 0)
    empty: int = 0


def read_conllu(lines: NumberedLines) -> Iterator[GivenSentence]:
    """Yield sentences with their ``sent_id`` and their lines as they stand.

    Raises:
        InputError: a line of the wrong form, with its number, a multiword token or an empty node where none
            can be, or a sentence of more than a MiB.
    """
    read = _Open(1)
    for number, line in lines:
        if not read.rows:
            read = _Open(number)
        if not line.strip():
            if read.rows:
                yield _finished(lines, read)
            read = _Open(number)
            continue
        if line.startswith("#"):
            if read.rows and not read.rows[-1].startswith("#"):
                raise lines.problem(
                    "a comment inside a sentence", "put it before the words", read.name
                )
            match = _NAME.match(line)
            read.name = match[1].strip() if match else read.name
        else:
            _take(lines, line, number, read)
        read.rows.append(line)
        read.size += len(line) + 1
        if read.size > LONGEST:
            raise lines.problem(
                f"the sentence that begins on line {read.begun:,} has more than {LONGEST:,} characters",
                "a blank line ends a sentence",
                read.name,
            )
    if read.rows:
        yield _finished(lines, read)


def _finished(lines: NumberedLines, read: _Open) -> GivenSentence:
    if not read.words:
        raise lines.problem("a sentence without words ends here", "remove its lines")
    first, last, line = read.range
    if last > len(read.words):
        raise lines.problem(
            f"multiword token {first}-{last} of a sentence of {len(read.words)} words",
            _TWO_WORDS, read.name, line,
        )  # fmt: skip
    return GivenSentence(tuple(read.words), read.begun, read.name or None, tuple(read.rows))


def _take(lines: NumberedLines, line: str, number: int, read: _Open) -> None:
    """Take in the line of a word, a multiword token or an empty node."""
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise lines.problem(
            f"not CoNLL-U: {len(columns)} columns where {_COLUMNS} are due",
            "part ten columns by tabs; if it is something else, say what",
            read.name,
        )
    match = _ID.fullmatch(columns[0])
    if not match:
        raise lines.problem(f"not a CoNLL-U ID: {columns[0][:20]!r}", "mend it", read.name)
    first, kind, last = int(match[1]), match[2], int(match[3] or 0)
    before = len(read.words)
    # An empty node n.1 stands after word n, a multiword token n-m before it.
    if first != (before if kind == "." else before + 1) or (kind == "-" and last < first):
        raise lines.problem(
            f"ID {columns[0]} out of order, after {before} words",
            "number the words 1, 2, 3, ...",
            read.name,
        )
    written = columns[1].strip()
    if kind == "-":
        if first <= read.range[1] or first == last:
            after = "of one word" if first == last else f"after one to {read.range[1]}"
            what = f"multiword token {columns[0]} {after}"
            raise lines.problem(what, _TWO_WORDS, read.name)
        if not written:
            raise lines.problem(f"multiword token {columns[0]} without FORM", "write it", read.name)
        read.range = first, last, number
    elif kind == ".":
        read.empty += 1
        if last != read.empty:
            what = f"empty node {columns[0]} where {before}.{read.empty} is due"
            raise lines.problem(what, "number empty nodes n.1, n.2, ...", read.name)
    else:
        if not written:
            raise lines.problem("a word without FORM", "write '_' where none is known", read.name)
        read.words.append(columns[1])
        read.empty = 0


_OF_COORDINATION = frozenset({"Coord", "CoordConjuncts", "CoordLabel", "CoordProb", "CoordFrom"})


def with_coordinations(rows: Sequence[str], values: Mapping[int, Mapping[str, str]]) -> list[str]:
    """Lines of a sentence with what is said of coordinations in the MISC column of coordinators.

    Args:
        rows: the sentence's lines; nothing that they said of coordinations stays.
        values: attributes, ``Coord`` and others of ``_OF_COORDINATION``, by word index from 0.
    """
    written = []
    for row in rows:
        columns = row.split("\t")
        if columns[0].isdecimal():
            new = values.get(int(columns[0]) - 1, {})
            old = [] if columns[-1].strip() in ("", "_") else columns[-1].split("|")
            kept = [part for part in old if part.split("=")[0] not in _OF_COORDINATION]
            columns[-1] = (
                "|".join([*kept, *(f"{key}={value}" for key, value in new.items())]) or "_"
            )
        written.append("\t".join(columns))
    return written


def with_comments(rows: Sequence[str], name: str, texts: Sequence[str]) -> list[str]:
    """Lines of a sentence with comments ``# name = text`` before the words, instead of older ones."""
    older = re.compile(rf"#\s*{re.escape(name)}\s*=")
    kept = [row for row in rows if not older.match(row)]
    begin = sum(row.startswith("#") for row in kept)
    return [*kept[:begin], *(f"# {name} = {text}" for text in texts), *kept[begin:]]


JOINS_NOTHING = "none"
"""The value of ``Coord`` by which somebody says that a coordinator joins nothing."""

_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_HOW = "write it as `conjoin predict --output conllu` does: Coord=3-7|CoordConjuncts=3-4,6-7"


def _attributes(row: str) -> tuple[int, dict[str, str]] | None:
    """The index of a word, from 0, and what MISC says of it; None: the line is that of no word."""
    columns = row.split("\t")
    if not columns[0].isdecimal():
        return None
    parts = (part.partition("=") for part in columns[-1].split("|"))
    return int(columns[0]) - 1, {name: value for name, _, value in parts}


def joining_nothing(sentence: GivenSentence) -> set[int]:
    """The words of which MISC says ``Coord=none``, by index from 0."""
    found = filter(None, map(_attributes, sentence.rows))
    return {k for k, values in found if values.get("Coord") == JOINS_NOTHING}


def structures_in_misc(
    lines: NumberedLines, sentence: GivenSentence
) -> list[tuple[Coordination, int]]:
    """The coordinations in MISC of a sentence that was read from CoNLL-U, each with its line.

    ``Coord=3-7`` are the first and last word; of several, parted by commas, the first counts. Where
    ``CoordConjuncts`` is missing there are two conjuncts, one on either side of the coordinator. A word
    that is ``joining_nothing`` has no structure.

    Raises:
        InputError: no words of the sentence, the two disagree, or the label is none.
    """
    found = []
    count, words = len(sentence.words), sentence.words
    for number, row in enumerate(sentence.rows, sentence.line):
        k, values = _attributes(row) or (0, {})
        if not values.keys() & {"Coord", "CoordConjuncts"}:
            continue
        if values.get("Coord") == JOINS_NOTHING and "CoordConjuncts" not in values:
            continue

        def spans(name: str, values: dict[str, str] = values, number: int = number) -> list[Span]:
            made = []
            for text in values[name].split(",") if name in values else ():
                match = _RANGE.fullmatch(text)
                if not match or not 0 < int(match[1]) <= int(match[2]) <= count:
                    what = f"{name}={values[name][:40]} of {count} words"
                    raise lines.problem(what, _HOW, sentence.name, number)
                made.append(Span(int(match[1]) - 1, int(match[2])))
            return made

        extent, conjuncts = spans("Coord")[:1], spans("CoordConjuncts")
        if extent and conjuncts and extent[0] != Span(conjuncts[0].start, conjuncts[-1].end):
            what = f"Coord={values['Coord'][:40]} and CoordConjuncts={values['CoordConjuncts'][:40]} differ"
            raise lines.problem(what, "correct both", sentence.name, number)
        if extent and not conjuncts:
            if not extent[0].start < k < extent[0].end - 1:
                what = f"Coord={values['Coord'][:40]} does not reach both sides of word {k + 1}"
                raise lines.problem(what, _HOW, sentence.name, number)
            conjuncts = list(as_conjuncts(words, k, extent[0]))
        label = values.get("CoordLabel", UNLABELLED)
        if not is_label(label):
            raise lines.problem(f"no label: {label[:40]!r}", _HOW, sentence.name, number)
        found.append((Coordination(k, words[k], label, tuple(conjuncts)), number))
    return found
