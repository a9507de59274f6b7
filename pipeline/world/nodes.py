"""Phrases under construction, and their reading-off into words, tags, brackets and coordinations.

Words, tree and spans come out of one walk over one structure, so they cannot disagree.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from pipeline.core.types import Coordination, Span

Again: TypeAlias = "Callable[[], Node]"


class Node:
    """A phrase or, with ``word``, a leaf whose label is its tag.

    Attributes:
        again: makes another phrase of the same role, class and form; None where the phrase cannot
            be coordinated.
        hidden: the phrase gets no bracket of its own unless it is coordinated (PTB is flat there).
        plural: number of a noun phrase without inner noun phrase.
        coordinated: the children are conjuncts, commas and a coordinator.
        subject: for a leaf ``was``, the phrase it agrees with.
    """

    __slots__ = ("again", "children", "coordinated", "hidden", "label", "plural", "subject", "word")

    def __init__(self, label: str, children: "list[Node]", word: str = "") -> None:
        self.label, self.children, self.word = label, children, word
        self.again: Again | None = None
        self.hidden = self.plural = self.coordinated = False
        self.subject: Node | None = None

    @property
    def is_plural(self) -> bool:
        """Number of a noun phrase: of its head, and plural when coordinated by ``and``."""
        if self.coordinated:
            return self.children[-2].word == "and" or self.children[-1].is_plural
        first = self.children[0]
        return first.is_plural if first.label == "NP" else self.plural

    def coordinate(self, word: str, others: "list[Node]", comma: bool) -> None:
        """Turn this phrase into a coordination ``self , other word other`` in its own place.

        In its own place, because parents and agreeing verbs hold on to this object.
        """
        first = Node(self.label, self.children)
        first.plural, first.coordinated = self.plural, self.coordinated
        parts = [first]
        for other in others[:-1]:
            other.again = None
            parts += [leaf(",", ","), other]
        others[-1].again = None
        parts += [leaf(",", ",")] * comma + [leaf("CC", word), others[-1]]
        for part in parts:
            part.hidden = False
        self.children, self.again = parts, None
        self.hidden, self.coordinated = False, True

    def phrases(self) -> "Iterator[tuple[Node, Again]]":
        """Every phrase that can be coordinated, with its ``again``, in pre-order."""
        if self.again is not None:
            yield self, self.again
        for child in self.children:
            if not child.word:
                yield from child.phrases()


def leaf(tag: str, word: str) -> Node:
    """A word with its tag."""
    return Node(tag, [], word)


def branch(label: str, *children: Node, again: "Again | None" = None) -> Node:
    """A phrase."""
    node = Node(label, list(children))
    node.again = again
    return node


class ReadOff:
    """A finished sentence: ``words``, ``tags``, one-line ``tree`` and ``coordinations``."""

    def __init__(self, root: Node) -> None:
        self.words: list[str] = []
        self.tags: list[str] = []
        self.coordinations: list[Coordination] = []
        self.tree = self._walk(root)
        self.coordinations.sort(key=lambda c: c.coordinator)

    def _walk(self, node: Node) -> str:
        if node.word:
            word = node.word
            if node.subject is not None and node.subject.is_plural:
                word = "were"
            if not self.words:
                word = word[0].upper() + word[1:]
            self.words.append(word)
            self.tags.append(node.label)
            return f"({node.label} {word})"
        if node.coordinated:
            return f"({node.label} {self._coordination(node)})"
        inner = " ".join([self._walk(child) for child in node.children])
        return inner if node.hidden else f"({node.label} {inner})"

    def _coordination(self, node: Node) -> str:
        conjuncts, parts, coordinator = [], [], -1
        for child in node.children:
            start = len(self.words)
            parts.append(self._walk(child))
            if not child.word:
                conjuncts.append(Span(start, len(self.words)))
            elif child.label == "CC":
                coordinator = start
        word = self.words[coordinator]
        self.coordinations.append(Coordination(coordinator, word, node.label, tuple(conjuncts)))
        return " ".join(parts)
