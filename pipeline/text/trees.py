"""Phrase-structure trees in PTB brackets: reading with line numbers, leaves, constituents.

The tree itself is nltk's; added here are the line of an error, half-open word spans, the treebank's
escapes, and what the two Penn Treebank readers share: trees without empty elements, and their words,
tags and bracketing.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.errors import InputError
from pipeline.core.types import Span

_LONGEST = 1 << 20  # characters of a tree

_ESCAPES = (
    ("-LRB-", "("),
    ("-RRB-", ")"),
    ("-LSB-", "["),
    ("-RSB-", "]"),
    ("-LCB-", "{"),
    ("-RCB-", "}"),
    ("\\/", "/"),
    ("\\*", "*"),
)


def unescape(leaf: str) -> str:
    r"""Treebank leaf to surface characters: ``-LRB-`` is ``(``, ``1\/2`` is ``1/2``."""
    for escaped, plain in _ESCAPES:
        leaf = leaf.replace(escaped, plain)
    return leaf


def escape(word: str) -> str:
    """Surface characters to a leaf that can stand inside brackets (only what must be escaped)."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


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
        InputError: the brackets do not balance or the tree has no words.
    """
    try:
        tree = Tree.fromstring(text)
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


def read_trees(path: Path) -> Iterator[tuple[int, Tree]]:
    """Yield ``(line, tree)`` for each bracketing in a file, which may span lines.

    ``line`` is the 1-based line where the tree begins.

    Raises:
        InputError: brackets do not balance, stray text, or the file is empty or not UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path=path, remedy="convert the file") from error
    found = False
    for pair in trees_of(enumerate(lines, 1), path):
        found = True
        yield pair
    if not found:
        raise InputError("the file holds no tree", path=path, remedy="check the source folder")


def trees_of(lines: Iterable[tuple[int, str]], path: Path | str) -> Iterator[tuple[int, Tree]]:
    """Yield ``(line, tree)`` as soon as its last line is there; no tree is longer than a MiB.

    Args:
        lines: the lines of a file with their numbers.
        path: the file's name in messages.

    Raises:
        InputError: brackets do not balance, or stray text.
    """
    depth, begun, size, buffer = 0, 0, 0, []
    for number, line in lines:
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
        if depth and size > _LONGEST:
            break  # without its ')' a tree would swallow all that follows
        if depth == 0:
            yield begun, parse_tree("\n".join(buffer), path=path, line=begun)
            buffer = []
    if depth:
        what = "the tree that begins here is never closed"
        raise InputError(what, path=path, line=begun, remedy="add the missing ')'")


def leaves(tree: Tree) -> list[str]:
    """The words of a tree, unescaped."""
    return [unescape(leaf) for leaf in tree.leaves()]


def constituents(tree: Tree) -> list[Constituent]:
    """Every non-terminal above the tags, in pre-order (so the topmost of a unary chain is first)."""
    return [
        Constituent(base_label(node.label()), Span(spans[0].start, spans[-1].end))
        for node, spans in constituents_of(tree)
    ]


def one_line(tree: Tree) -> str:
    """The bracketing on one line, as stored in the ``tree`` columns."""
    return str(tree.pformat(margin=10**9))


_ROOTS = frozenset({"S1", "TOP", "ROOT", ""})


def is_tag(node: Tree) -> bool:
    """Whether a node is a part-of-speech tag over one word."""
    return len(node) == 1 and not isinstance(node[0], Tree)


def constituents_of(tree: Tree) -> Iterator[tuple[Tree, list[Span]]]:
    """Each constituent above the tags in pre-order, with the spans of its children (at least one)."""

    def walk(node: Tree, start: int) -> Iterator[tuple[Tree, list[Span]]]:
        if is_tag(node) or not len(node):
            return
        spans = []
        for child in node:
            spans.append(Span(start, start + len(child.leaves())))
            start = spans[-1].end
        yield node, spans
        for child, span in zip(node, spans, strict=True):
            yield from walk(child, span.start)

    yield from walk(tree, 0)


def without_empty(tree: Tree, path: Path, line: int) -> Tree | None:
    """A copy without ``-NONE-`` leaves and the constituents they leave empty; None if nothing is left.

    Labels are kept as they are, function tags and marks included.

    Raises:
        InputError: a word stands beside other nodes instead of under a tag of its own.
    """
    if is_tag(tree):
        return None if tree.label() == "-NONE-" else Tree(tree.label(), [tree[0]])
    kept = []
    for child in tree:
        if not isinstance(child, Tree):
            raise InputError(
                f"the word {child!r} has no tag", path=path, line=line, remedy="mend the tree"
            )
        cleaned = without_empty(child, path, line)
        if cleaned is not None:
            kept.append(cleaned)
    return Tree(tree.label(), kept) if kept else None


def read_off(tree: Tree) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Words, tags and one-line bracketing with base labels and ``S1`` around it.

    Args:
        tree: a tree without empty elements.
    """
    words = tuple(leaves(tree))
    plain = _plain(tree)
    root = Tree("S1", list(plain) if plain.label() in _ROOTS else [plain])
    return words, tuple(tag for _, tag in root.pos()), one_line(root)


def _plain(node: Tree) -> Tree:
    if is_tag(node):
        # Only what cannot stand inside brackets stays escaped: one way of writing for all corpora.
        return Tree(base_label(node.label()), [escape(leaves(node)[0])])
    return Tree(base_label(node.label()), [_plain(child) for child in node])
