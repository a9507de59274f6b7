"""A coordination put into a tree: the reference's constituent becomes ``(ℓ (ℓ X) (CC and) (ℓ Y))``.

The tree of a candidate is its source's with one constituent replaced; all else is as it was. What comes
out is held against the candidate: ``require_sound``.
"""

from collections.abc import Sequence

from nltk.tree import Tree

from pipeline.core.structures import COMMA
from pipeline.core.types import Coordination, Span
from pipeline.text.coordinations import PRECONJUNCTIONS, ptb_coordinations
from pipeline.text.trees import base_label, constituents_of, escape, leaves, place_of, rooted

NO_REFERENCE = "a reference that is no constituent of its sentence's tree"
OTHER_FILLS = "more or fewer conjuncts than fills"
STRANGE_WORDS = "words between the conjuncts that are no comma, coordinator or opener"
OTHER_WORDS = "a tree of other words"
NO_CONJUNCT = "a conjunct that is no constituent of the tree"
OTHER_CONJUNCTS = "a tree in which the reader finds other conjuncts"


class NoTree(ValueError):  # noqa: N818 - it says what a candidate lacks, and is no failure
    """A candidate that has no tree; the reason is its text."""


def constituent(tree: Tree, span: Span, label: str, lacking: str) -> Tree:
    """A copy of the topmost constituent of a label over just these words.

    Args:
        tree: where it stands.
        span: its words.
        label: its category.
        lacking: the reason to give where there is none.

    Raises:
        NoTree: there is none.
    """
    place = place_of(tree, span, label)
    if place is None:
        raise NoTree(lacking)
    found: Tree = tree[place].copy(deep=True)
    return found


def spliced(
    source: Tree,
    reference: Span,
    fills: Sequence[Tree],
    words: Sequence[str],
    coordination: Coordination,
) -> Tree:
    """The tree of a candidate.

    Commas get the tag of a comma, the coordinator and *both*, *either* or *neither* before the first
    conjunct that of a conjunction, as the treebank has them.

    Args:
        source: the source sentence's tree.
        reference: the reference span in it.
        fills: constituents of the other conjuncts, in their order.
        words: of the candidate.
        coordination: the candidate's.

    Raises:
        NoTree: the reference is no constituent of the tree, other words part the conjuncts, or there are
            more or fewer conjuncts than fills.
    """
    if len(coordination.conjuncts) != 1 + len(fills):
        raise NoTree(OTHER_FILLS)
    label = coordination.label
    made = rooted(source.copy(deep=True))
    place = place_of(made, reference, label)
    if place is None:
        raise NoTree(NO_REFERENCE)
    parts: list[Tree] = []
    at = reference.start
    for span, conjunct in zip(coordination.conjuncts, (made[place], *fills), strict=True):
        parts += [_between(words[k], k, coordination) for k in range(at, span.start)]
        parts.append(conjunct)
        at = span.end
    made[place] = Tree(label, parts)
    return made


def without_words(tree: Tree, span: Span) -> Tree:
    """A copy of a tree without some of its words and the constituents that they leave empty."""
    made: Tree = tree.copy(deep=True)
    for place in reversed(made.treepositions("leaves")[span.start : span.end]):
        above = place
        while above and (above == place or not len(made[above])):
            del made[above]
            above = above[:-1]
    return made


def _between(word: str, place: int, coordination: Coordination) -> Tree:
    if place == coordination.coordinator:
        return Tree("CC", [escape(word)])
    if word == COMMA:
        return Tree(COMMA, [word])
    if place < coordination.start and word.lower() in PRECONJUNCTIONS:
        return Tree("CC", [escape(word)])
    raise NoTree(STRANGE_WORDS)


def require_sound(tree: Tree, words: Sequence[str], coordination: Coordination) -> None:
    """Check that a tree is that of a candidate: its words, its conjuncts, and what our reader makes of it.

    Raises:
        NoTree: it is not.
    """
    if leaves(tree) != list(words):
        raise NoTree(OTHER_WORDS)
    known = {Span(place, place + 1) for place in range(len(words))}  # a word is one by its tag
    for _, spans in constituents_of(tree):
        known.update(spans)
    if not known.issuperset(coordination.conjuncts):
        raise NoTree(NO_CONJUNCT)
    if coordination not in ptb_coordinations(tree):
        raise NoTree(OTHER_CONJUNCTS)


def flat_conjunct(tree: Tree, span: Span, label: str, coordinator: int) -> Tree | None:
    """A conjunct of a flat coordination, ``(NP the [cat] and [dog])``, as a constituent of its own.

    Args:
        tree: of the sentence that holds it.
        span: the conjunct's words.
        label: of the coordination, and so of the conjunct.
        coordinator: the word that is a child of the same constituent.

    Returns:
        None where they are not whole children of one constituent of this label, with the coordinator.
    """
    for node, spans in constituents_of(tree):
        if base_label(node.label()) != label or Span(coordinator, coordinator + 1) not in spans:
            continue
        inside = [n for n, s in enumerate(spans) if span.start <= s.start and s.end <= span.end]
        if inside and sum(len(spans[n]) for n in inside) == len(span):
            return Tree(label, [node[n].copy(deep=True) for n in inside])
    return None
