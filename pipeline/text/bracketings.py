"""Where the trees of a file are, and what stands there that is no tree: malformed ones hide no others.

A tree that is never closed would swallow all that follows. The next one is taken to begin at the next
bracket at the beginning of a line, where treebanks begin their trees; so one bad tree costs one tree.

A file may be one line, so nothing looks for the end or the beginning of its line again for each tree.
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
_BRACKET_OR_END = re.compile(r"[()\n]")
_LABEL = re.compile(r"^\([^\s()]*", re.MULTILINE)
_WORD = re.compile(r"\([^\s()]+\s+[^\s()]+\)")
_NO_BLANK = re.compile(r"\S")
_ROOT = re.compile(r"\((ROOT|TOP|S1|)\s*(?=\()", re.IGNORECASE)
_MOST_SEARCHES = 20  # for the end of a tree that has none: each may read as far as a tree is long

_RAW = (
    (re.compile(r"\(-LRB- \\?\(\)"), "(-LRB- -LRB-)"),
    (re.compile(r"\(-RRB- \\?\)\)"), "(-RRB- -RRB-)"),
)
"""Brackets that a treebank left as they are where they are words, or put a backslash before."""


@dataclass(frozen=True, slots=True)
class Bracketing:
    """A balanced bracketing, or what stands where one should.

    Attributes:
        line: 1-based, where it begins.
        text: from its first to its last character.
        fault: why it is none; empty if it may be one.
    """

    line: int
    text: str
    fault: str = ""


def with_bracket_names(text: str) -> str:
    """The text with ``-LRB-`` and ``-RRB-`` where brackets are words."""
    for pattern, word in _RAW:
        text = pattern.sub(word, text)
    return text


def bracketings(text: str, line: int = 1, *, apart: bool = False) -> Iterator[Bracketing]:
    """Yield what stands in the text of a file, in its order: nothing but blanks is passed over.

    Several trees may stand on a line, and a tree on several; ``fault`` is one of the constants of this
    module.

    Args:
        text: the content.
        line: number of its first line.
        apart: no tree goes on where a line begins with a bracket. So trees are separated that were taken
            for one, because a bracket that one lacks another has too many.
    """
    text = with_bracket_names(text)
    place, counted, searches, next_line = 0, 0, 0, -1
    while found := _NO_BLANK.search(text, place):
        begin = found.start()
        line += text.count("\n", counted, begin)
        counted = begin
        if text[begin] == "(":
            limit = len(text)
            if apart or searches >= _MOST_SEARCHES:
                if next_line <= begin:  # else it was found for a tree before
                    next_line = _next_beginning(text, begin)
                limit = next_line
            place, fault = _end(text, begin, limit)
            searches += fault == UNCLOSED
        elif text[begin] == ")":
            place, fault = begin + 1, TOO_MANY
        else:
            # From the last piece to here are only blanks.
            of_line = not place or "\n" in text[place - 1 : begin]
            comment = of_line and text[begin] in _COMMENTS
            place, fault = _outside(text, begin, comment), COMMENT if comment else OUTSIDE
        yield Bracketing(line, text[begin:place].rstrip(), fault)


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
                if following := _roots_alike(text, begin, place):
                    return following, UNCLOSED
                return _after_extra(text, place + 1)
        if place - begin > LONGEST:
            break
    return _next_beginning(text, begin), UNCLOSED


def _same_root(text: str, place: int, root: re.Match[str]) -> bool:
    """Whether the root of another tree begins here, which no tree has inside."""
    other = _ROOT.match(text, place)
    return other is not None and other[1] == root[1]


def _roots_alike(text: str, begin: int, end: int) -> int:
    """Where the second tree begins, if what was taken for one is a tree a line, and the first is not closed.

    Each line then begins with the label of the first, after which words stand. 0 if it is one tree.
    """
    second = text.find("\n(", begin, end) + 1
    if not second or not _WORD.search(text, begin, second):
        return 0
    labels = {found[0] for found in _LABEL.finditer(text, begin, end)}
    return second if len(labels) == 1 else 0


def _after_extra(text: str, place: int) -> tuple[int, str]:
    fault = ""
    while (found := _NO_BLANK.search(text, place)) and found[0] == ")":
        place, fault = found.end(), TOO_MANY
    return place, fault


def _next_beginning(text: str, begin: int) -> int:
    return text.find("\n(", begin) + 1 or len(text)


def _outside(text: str, begin: int, comment: bool) -> int:
    """The end of what is no tree: that of its line, or the bracket where one begins."""
    if comment:
        end = text.find("\n", begin)
        return len(text) if end < 0 else end
    found = _BRACKET_OR_END.search(text, begin)
    return found.start() if found else len(text)
