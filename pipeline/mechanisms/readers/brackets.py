"""What the two Penn Treebank readers share: trees without empty elements, and their reading-off."""

from collections.abc import Iterator
from pathlib import Path

from nltk.tree import Tree

from pipeline.ground.coordination import Span
from pipeline.ground.errors import InputError
from pipeline.ground.trees import base_label, escape, leaves, one_line

__all__ = ["constituents_of", "is_tag", "read_off", "without_empty"]

_ROOTS = frozenset({"S1", "TOP", "ROOT", ""})


def is_tag(node: Tree) -> bool:
    """Whether a node is a part-of-speech tag over one word."""
    return len(node) == 1 and not isinstance(node[0], Tree)


def constituents_of(tree: Tree) -> Iterator[tuple[Tree, list[Span]]]:
    """Each constituent above the tags, inner ones first, with the spans of its children."""

    def walk(node: Tree, start: int) -> Iterator[tuple[Tree, list[Span]]]:
        if is_tag(node):
            return
        spans = []
        for child in node:
            spans.append(Span(start, start + len(child.leaves())))
            yield from walk(child, start)
            start = spans[-1].end
        yield node, spans

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
