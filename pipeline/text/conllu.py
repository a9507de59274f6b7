"""CoNLL-U: sentences read line by line, and predictions written into the MISC column.

The format is that of https://universaldependencies.org/format.html: a word per line in ten columns
parted by tabs, comments before the words, a blank line after them. The words of a sentence are the
lines with an integer ID; multiword tokens (``3-4``) and empty nodes (``3.1``) only pass through.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from pipeline.text.lines import GivenSentence, NumberedLines

_ID = re.compile(r"([0-9]{1,9})(?:([-.])([0-9]{1,9}))?")
_NAME = re.compile(r"#\s*sent_id\s*=\s*(.*)")
_COLUMNS = 10
LONGEST = 1 << 20
"""Characters that the lines of a sentence may have, as a tree may."""


def looks_like_conllu(line: str) -> bool:
    """Whether a line is that of a word, a multiword token or an empty node."""
    columns = line.split("\t")
    return len(columns) == _COLUMNS and bool(_ID.fullmatch(columns[0]))


def read_conllu(lines: NumberedLines) -> Iterator[GivenSentence]:
    """Yield sentences with their ``sent_id`` and their lines as they stand.

    Raises:
        InputError: a line of the wrong form, with its number, or a sentence of more than a MiB.
    """
    words: list[str] = []
    rows: list[str] = []
    name, begun, size = None, 0, 0
    for number, line in lines:
        if not rows:
            begun, size = number, 0
        if not line.strip():
            if rows:
                yield _finished(lines, begun, name, words, rows)
            words, rows, name = [], [], None
            continue
        if line.startswith("#"):
            if rows and not rows[-1].startswith("#"):
                raise lines.problem("a comment inside a sentence", "put it before the words", name)
            match = _NAME.match(line)
            name = match[1].strip() if match else name
        else:
            words += _word(lines, line, len(words), name)
        rows.append(line)
        size += len(line) + 1
        if size > LONGEST:
            raise lines.problem(
                f"the sentence that begins on line {begun:,} has more than {LONGEST:,} characters",
                "a blank line ends a sentence",
                name,
            )
    if rows:
        yield _finished(lines, begun, name, words, rows)


def _finished(
    lines: NumberedLines, begun: int, name: str | None, words: Sequence[str], rows: Sequence[str]
) -> GivenSentence:
    if not words:
        raise lines.problem("a sentence without words ends here", "remove its lines")
    return GivenSentence(tuple(words), begun, name or None, tuple(rows))


def _word(lines: NumberedLines, line: str, before: int, name: str | None) -> list[str]:
    """The word of a line, if it is one, after ``before`` others of the sentence of that name."""
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise lines.problem(
            f"not CoNLL-U: {len(columns)} columns where {_COLUMNS} are due",
            "part ten columns by tabs; if it is something else, say what",
            name,
        )
    match = _ID.fullmatch(columns[0])
    if not match:
        raise lines.problem(f"not a CoNLL-U ID: {columns[0][:20]!r}", "mend it", name)
    first, kind, last = int(match[1]), match[2], match[3]
    # An empty node n.1 stands after word n, a multiword token n-m before it.
    due = before if kind == "." else before + 1
    if first != due or (kind == "-" and int(last) < first):
        raise lines.problem(
            f"ID {columns[0]} out of order, after {before} words",
            "number the words 1, 2, 3, ...",
            name,
        )
    if kind:
        return []
    if not columns[1].strip():
        raise lines.problem("a word without FORM", "write '_' where none is known", name)
    return [columns[1]]


def with_misc(
    rows: Sequence[str], names: Sequence[str], values: Mapping[int, Mapping[str, str]]
) -> list[str]:
    """Lines of a sentence with attributes in the MISC column of some words.

    Args:
        rows: the sentence's lines.
        names: attributes that ``values`` may have; none of them stays from before.
        values: attributes by word index from 0.
    """
    written = []
    for row in rows:
        columns = row.split("\t")
        if columns[0].isdecimal():
            new = values.get(int(columns[0]) - 1, {})
            old = [] if columns[-1] == "_" else columns[-1].split("|")
            kept = [part for part in old if part.split("=")[0] not in names]
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
