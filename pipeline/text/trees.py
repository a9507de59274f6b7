"""Phrase-structure trees in PTB brackets: reading with line numbers, leaves, constituents.

The tree itself is nltk's; added here are the line of an error, half-open word spans, the treebank's
escapes, and what the two Penn Treebank readers share: trees without empty elements, and their words,
tags and bracketing.

No tree has more than ``DEEPEST`` levels: nltk's methods call themselves once a level, which Python ends at
1,000 calls, and newer versions of nltk read no more than 500. What is written here does not call itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.errors import InputError
from pipeline.core.types import Span
from pipeline.text.bracketings import LONGEST, with_bracket_names
from pipeline.text.unpacking import read_whole

DEEPEST = 400
"""Levels that a tree may have below a root; those of GENIA have at most 31."""

_BRACKET = re.compile(r"[()]")
_ROOT = re.compile(r"\s*\((S1|TOP|ROOT)?\s*\(")

_ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "\\/": "/",
    "\\*": "*",
}
"""What treebanks write for characters that mean something else to them."""

_OWN_ESCAPES = {"-HYPHEN-": "-", "-BACKSLASH-": "\\"}
"""What conjoin writes besides, in words that would be read as others: ``-LRB-``, ``a\\/b``, ``C:\\``."""

_PLAIN = _ESCAPES | _OWN_ESCAPES
_ESCAPED = re.compile("|".join(map(re.escape, _PLAIN)))
_OWN_ESCAPED = re.compile("|".join(_OWN_ESCAPES))
_ALL_ESCAPED = {"(": "-LRB-", ")": "-RRB-", "-": "-HYPHEN-", "\\": "-BACKSLASH-"}

_BACKSLASH_OF_A_WORD = re.compile(r"\\(?=[()])")
"""The last character of a word, which nltk from 3.10 on takes with the bracket for one sign."""


def unescape(leaf: str) -> str:
    r"""Treebank leaf to surface characters: ``-LRB-`` is ``(``, ``1\/2`` is ``1/2``."""
    return _ESCAPED.sub(lambda found: _PLAIN[found[0]], leaf)


def escape(word: str) -> str:
    """The leaf of a word: what ``unescape`` makes this very word of, whatever is in it but blanks.

    Brackets are always escaped. Hyphens and backslashes are where the word would be read as another one, or
    where a backslash would stand before the bracket that ends the leaf.
    """
    leaf = word.replace("(", "-LRB-").replace(")", "-RRB-")
    if unescape(leaf) == word and not leaf.endswith("\\"):
        return leaf
    return "".join(_ALL_ESCAPED.get(character, character) for character in word)


def has_own_escape(leaf: str) -> bool:
    """Whether a leaf has an escape that only conjoin knows."""
    return _OWN_ESCAPED.search(leaf) is not None


@dataclass(frozen=True, slots=True)
class Constituent:
    """A non-terminal: its label without function tags, and the words it covers."""

    label: str
    span: Span


def base_label(label: str) -> str:
    """``NP-SBJ-1`` and ``NP=2`` are ``NP``; labels that begin with ``-`` are left as they are."""
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]


def parse_tree(text: str, *, path: Path | str | None = None, line: int | None = None) -> Tree:
    """Parse one bracketing; a label-less outer bracket is taken off.

    Raises:
        InputError: the brackets do not balance, or the tree has no words, too many levels or more than a
            MiB.
    """
    _require_bounded(text, path, line)
    try:
        tree = Tree.fromstring(_BACKSLASH_OF_A_WORD.sub(r"\\ ", text))
    except ValueError as error:
        first = str(error).splitlines()[0]
        raise InputError(
            f"malformed brackets: {first}", path=path, line=line, remedy="mend or remove the tree"
        ) from error
    if not tree.label() and len(tree) == 1 and isinstance(tree[0], Tree):
        tree = tree[0]
    if not tree.leaves():
        raise InputError("a tree without words", path=path, line=line, remedy="remove it")
    return tree


def _require_bounded(text: str, path: Path | str | None, line: int | None) -> None:
    """Refuse a bracketing of more levels or characters than trees have here.

    Raises:
        InputError: it has.
    """
    if len(text) > LONGEST:
        what = f"a tree of more than {LONGEST:,} characters"
        raise InputError(what, path=path, line=line, remedy="mend or remove the tree")
    if text.count("(") <= DEEPEST:
        return
    depth = -1 if _ROOT.match(text) else 0  # ``read_off`` puts one around a tree that has none
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket == "(" else -1
        if depth > DEEPEST:
            what = f"a tree of more than {DEEPEST} levels"
            raise InputError(what, path=path, line=line, remedy="mend or remove the tree")


def read_trees(path: Path) -> Iterator[tuple[int, Tree]]:
    """Yield ``(line, tree)`` for each bracketing in a file, which may span lines.

    ``line`` is the 1-based line where the tree begins.

    Raises:
        InputError: brackets do not balance, stray text, or the file is empty or no text in UTF-8.
    """
    found = False
    for pair in trees_of(enumerate(read_whole(path).splitlines(), 1), path):
        found = True
        yield pair
    if not found:
        raise InputError("the file holds no tree", path=path, remedy="check the source folder")


def trees_of(lines: Iterable[tuple[int, str]], path: Path | str) -> Iterator[tuple[int, Tree]]:
    """Yield ``(line, tree)`` as soon as the last line is there; no tree is longer than a MiB.

    Several may stand on a line, and brackets that are words as they are, as ``bracketings`` reads them.

    Args:
        lines: the lines of a file with their numbers.
        path: the file's name in messages.

    Raises:
        InputError: brackets do not balance, or stray text.
    """
    depth, begun, size, buffer = 0, 0, 0, []
    for number, given in lines:
        line = with_bracket_names(given)
        if not line.strip():
            continue
        if depth == 0:
            begun, size = number, 0
            if not line.lstrip().startswith("("):
                what = f"text outside brackets: {line.strip()[:40]!r}"
                raise InputError(what, path=path, line=number, remedy="a tree begins with '('")
        depth += line.count("(") - line.count(")")
        size += len(line)
        buffer.append(line)
        if depth < 0:
            raise InputError("a ')' too many", path=path, line=number, remedy="mend the brackets")
        if depth and size > LONGEST:
            break  # without its ')' a tree would swallow all that follows
        if depth == 0:
            for before, text in _apart("\n".join(buffer)):
                yield begun + before, parse_tree(text, path=path, line=begun + before)
            buffer = []
    if depth:
        what = "the tree that begins here is never closed"
        raise InputError(what, path=path, line=begun, remedy="add the missing ')'")


def _apart(text: str) -> Iterator[tuple[int, str]]:
    """The trees of some lines, each with how many lines are before it and with what else stands there."""
    depth, begin = 0, 0
    for bracket, following in pairwise(_BRACKET.finditer(text)):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0 and following[0] == "(":
            yield text.count("\n", 0, begin), text[begin : bracket.end()]
            begin = bracket.end()
    yield text.count("\n", 0, begin), text[begin:]


def leaves(tree: Tree) -> list[str]:
    """The words of a tree, unescaped."""
    return [unescape(leaf) for leaf in tree.leaves()]


OTHER_LEAVES = "leaves differ from words"


def tree_of_words(bracketing: str, words: Sequence[str]) -> Tree:
    """The tree of a sentence, held against its words.

    Raises:
        InputError: as ``parse_tree``, or the leaves are not these words.
    """
    tree = parse_tree(bracketing)
    if leaves(tree) != list(words):
        raise InputError(OTHER_LEAVES, remedy="mend or remove the tree")
    return tree


def fitting_tree(bracketing: str | None, words: Sequence[str]) -> Tree | None:
    """The tree of a sentence; None where there is none, or what is there is none of these words."""
    try:
        return None if bracketing is None else tree_of_words(bracketing, words)
    except InputError:
        return None


def constituents(tree: Tree) -> list[Constituent]:
    """Every non-terminal above the tags, in pre-order (so the topmost of a unary chain is first)."""
    return [
        Constituent(base_label(node.label()), Span(spans[0].start, spans[-1].end))
        for node, spans in constituents_of(tree)
    ]


def one_line(tree: Tree) -> str:
    """The bracketing on one line, as stored in the ``tree`` columns."""
    parts: list[str] = []
    todo: list[Tree | str] = [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, Tree):
            parts.append(node)
            continue
        parts.append(f"({node.label()} ")
        todo.append(")")
        for position, child in enumerate(reversed(node)):
            todo += [" ", child] if position else [child]
    return "".join(parts)


def with_tags(tree: Tree, tags: Sequence[str]) -> Tree:
    """A copy whose words have these tags, one each."""
    copied = tree.copy(deep=True)
    for place, tag in zip(copied.treepositions("leaves"), tags, strict=True):
        copied[place[:-1]].set_label(tag)
    return copied


WORDLESS = "a node without words"

_ROOTS = frozenset({"S1", "TOP", "ROOT", ""})


def is_tag(node: Tree) -> bool:
    """Whether a node is a part-of-speech tag over one word."""
    return len(node) == 1 and not isinstance(node[0], Tree)


def constituents_of(tree: Tree) -> Iterator[tuple[Tree, list[Span]]]:
    """Each constituent above the tags in pre-order, with the spans of its children (at least one)."""
    counts = _word_counts(tree)
    todo = [(tree, 0)]
    while todo:
        node, start = todo.pop()
        if is_tag(node) or not len(node):
            continue
        spans = []
        for child in node:
            spans.append(Span(start, start + counts[id(child)]))
            start = spans[-1].end
        yield node, spans
        todo += [(child, span.start) for child, span in zip(node, spans, strict=True)][::-1]


def place_of(tree: Tree, span: Span, label: str) -> tuple[int, ...] | None:
    """Where in a tree the topmost constituent of a label over just some words stands; None: nowhere.

    Args:
        tree: any tree.
        span: the words.
        label: without function tags; those of the constituent make no difference.

    Returns:
        The numbers of the children on the way, as nltk's trees are indexed.
    """
    counts = _word_counts(tree)
    node, start, way = tree, 0, list[int]()
    while not is_tag(node):
        fits = (start, start + counts[id(node)]) == (span.start, span.end)
        if fits and base_label(node.label()) == label:
            return tuple(way)
        for number, child in enumerate(node):
            size = counts[id(child)] if isinstance(child, Tree) else 1
            if start + size > span.start:
                way.append(number)
                break
            start += size
        if len(way) == 0 or not isinstance(child, Tree) or start + size < span.end:
            return None
        node = child
    return None


def rooted(tree: Tree, root: str = "S1") -> Tree:
    """The tree below one root of this name, whatever its own is called."""
    return Tree(root, list(tree) if tree.label() in _ROOTS else [tree])


def _word_counts(tree: Tree) -> dict[int, int]:
    """How many words each node of a tree covers, by ``id``: counted once, not anew on every level."""
    order = [tree]
    for node in order:  # grows as it is walked: a node comes before those in it
        order += [child for child in node if isinstance(child, Tree)]
    counts: dict[int, int] = {}
    for node in reversed(order):
        counts[id(node)] = sum(
            counts[id(child)] if isinstance(child, Tree) else 1 for child in node
        )
    return counts


def without_empty(tree: Tree, path: Path | str, line: int) -> Tree | None:
    """A copy without ``-NONE-`` leaves and the constituents they leave empty; None if nothing is left.

    Labels are kept as they are, function tags and marks included.

    Raises:
        InputError: a word stands beside other nodes instead of under a tag of its own, or a node has neither
            words nor nodes: ``(HYPH )`` has lost its word.
    """
    top = Tree("", [])
    todo = [(tree, top)]  # nodes of the tree, and where what is kept of them goes
    order = [top]
    while todo:
        node, above = todo.pop()
        if is_tag(node):
            if node.label() != "-NONE-":
                above.append(Tree(node.label(), [node[0]]))
            continue
        if not len(node):
            what = f"{WORDLESS}: ({node.label()} )"
            raise InputError(what, path=path, line=line, remedy="mend or remove the tree")
        kept = Tree(node.label(), [])
        above.append(kept)
        order.append(kept)
        for child in node:
            if not isinstance(child, Tree):
                raise InputError(
                    f"the word {child!r} has no tag", path=path, line=line, remedy="mend the tree"
                )
        todo += [(child, kept) for child in reversed(node)]
    for kept in reversed(order):  # those in a constituent go before it
        kept[:] = [each for each in kept if len(each)]
    return top[0] if len(top) else None


def read_off(tree: Tree) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Words, tags and one-line bracketing with base labels and ``S1`` around it.

    Args:
        tree: a tree without empty elements.

    Raises:
        InputError: what is written would be read as a tree of other words.
    """
    words = tuple(leaves(tree))
    plain = _plain(tree)
    root = Tree("S1", list(plain) if plain.label() in _ROOTS else [plain])
    text = one_line(root)
    tree_of_words(text, words)
    return words, tuple(tag for _, tag in root.pos()), text


def _plain(tree: Tree) -> Tree:
    """A copy with base labels and leaves as they are stored."""
    top = Tree("", [])
    todo = [(tree, top)]
    while todo:
        node, above = todo.pop()
        copied = Tree(base_label(node.label()), [])
        above.append(copied)
        if is_tag(node):
            # Only what cannot stand inside brackets stays escaped: one way of writing for all corpora.
            copied.append(escape(unescape(node[0])))
        else:
            todo += [(child, copied) for child in reversed(node)]
    plain: Tree = top[0]
    return plain
