"""Where the trees of a file are, and what stands there that is no tree: malformed ones hide no others.

A tree that is never closed would swallow all that follows. The next one is taken to begin at the next
bracket at the beginning of a line, where treebanks begin their trees; so one bad tree costs one tree.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 1 << 20
"""Characters of a tree; beyond them it counts as never closed."""

UNCLOSED = "a tree that is never closed"
TOO_MANY = "a ')' too many"
OUTSIDE = "text outside brackets"
COMMENT = "comment line outside brackets"

_COMMENTS = "#*%;"  # what such lines begin with: CoNLL's, the Penn Treebank's and NEGRA's headers
_BRACKET = re.compile(r"[()]")
_BEGINNING = re.compile(r"^\(", re.MULTILINE)
_NO_BLANK = re.compile(r"\S")
_ROOT = re.compile(r"\((ROOT|TOP|S1|)\s*(?=\()", re.IGNORECASE)
_MOST_SEARCHES = 20  # for the end of a tree that has none: each may read as far as a tree is long

_RAW = (
    (re.compile(r"\(-LRB- \(\)"), "(-LRB- -LRB-)"),
    (re.compile(r"\(-RRB- \)\)"), "(-RRB- -RRB-)"),
)
"""Brackets that a treebank left as they are where they are words."""


@dataclass(frozen=True, slots=True)
class Bracketing:
    """A balanced bracketing, or what stands where one should.

    Attributes:
        line: 1-based, where it begins.
        text: from its first to its last bracket; of what is no tree the beginning.
        fault: why it is none; empty if it may be one.
    """

    line: int
    text: str
    fault: str = ""


def bracketings(text: str) -> Iterator[Bracketing]:
    """Yield what stands in the text of a file, in its order: nothing but blanks is passed over.

    Several trees may stand on a line, and a tree on several; ``fault`` is one of the constants of this
    module.
    """
    for pattern, word in _RAW:
        text = pattern.sub(word, text)
    place, line, counted, searches = 0, 1, 0, 0
    while found := _NO_BLANK.search(text, place):
        begin = found.start()
        line += text.count("\n", counted, begin)
        counted = begin
        if text[begin] == "(":
            limit = _next_beginning(text, begin) if searches >= _MOST_SEARCHES else len(text)
            place, fault = _end(text, begin, limit)
            searches += fault == UNCLOSED
        elif text[begin] == ")":
            place, fault = begin + 1, TOO_MANY
        else:
            of_line = not text[text.rfind("\n", 0, begin) + 1 : begin].strip()
            comment = of_line and text[begin] in _COMMENTS
            place, fault = _outside(text, begin, comment), COMMENT if comment else OUTSIDE
        # Of what is no tree a message shows the beginning.
        yield Bracketing(line, text[begin : min(place, begin + 80) if fault else place], fault)


def _end(text: str, begin: int, limit: int) -> tuple[int, str]:
    """Where the tree ends that begins at a bracket, or what comes after it, and what is wrong with it."""
    root = _ROOT.match(text, begin)
    depth = 0
    for bracket in _BRACKET.finditer(text, begin, limit):
        place = bracket.start()
        if bracket[0] == "(":
            if root and depth and text[place - 1] == "\n" and _same_root(text, place, root):
                return place, UNCLOSED
            depth += 1
        else:
            depth -= 1
            if not depth:
                return _after_extra(text, place + 1)
        if place - begin > LONGEST:
            break
    return _next_beginning(text, begin), UNCLOSED


def _same_root(text: str, place: int, root: re.Match[str]) -> bool:
    """Whether the root of another tree begins here, which no tree has inside."""
    other = _ROOT.match(text, place)
    return other is not None and other[1] == root[1]


def _after_extra(text: str, place: int) -> tuple[int, str]:
    fault = ""
    while (found := _NO_BLANK.search(text, place)) and found[0] == ")":
        place, fault = found.end(), TOO_MANY
    return place, fault


def _next_beginning(text: str, begin: int) -> int:
    found = _BEGINNING.search(text, begin + 1)
    return found.start() if found else len(text)


def _outside(text: str, begin: int, comment: bool) -> int:
    """The end of what is no tree: that of its line, or the bracket where one begins."""
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    bracket = _BRACKET.search(text, begin, end)
    return bracket.start() if bracket and not comment else end
