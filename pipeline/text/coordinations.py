"""Coordinations in trees: a heuristic for plain Penn Treebank brackets, and a rule for any treebank.

``conjunct_children`` finds the conjuncts among the children of a coordinated constituent, in any
treebank. ``ptb_coordinations`` is for plain brackets, which mark no conjuncts (PTB.ext has them
annotated). Like the GENIA rule, it takes a constituent with a direct child tagged CC for a coordinate
structure if, on both sides of the last CC that is not both, either or neither, it has

- constituents of its own category (in UCP any constituent), or else
- children of the kind that follows the coordinator directly: the same category, or for bare words
  the same class of tag ("(NP the [cat] and [dog])", "(VP [cut] and [ran])").

Conjuncts are then taken segment by segment, as for GENIA.
"""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from nltk.tree import Tree

from pipeline.core.structures import PRECONJUNCTION_OF
from pipeline.core.types import COORDINATORS, Coordination, Span
from pipeline.text.trees import base_label, constituents_of, escape, is_tag, leaves, unescape

PRECONJUNCTIONS = frozenset(PRECONJUNCTION_OF.values())
"""Words tagged CC that open a coordination and do not coordinate (lower case)."""


def conjunct_children(
    count: int,
    separators: AbstractSet[int],
    coordinator: int,
    tiers: Sequence[AbstractSet[int]],
) -> list[int]:
    """The child of each segment that is a conjunct, as increasing indices.

    Separators cut the children into segments. In a segment the first tier that has a member there
    decides, and of several the one nearest to the coordinator is the conjunct: children farther
    out are shared ("the receptors [alpha] and [beta]", "[M7] and [TMD] cases").

    Args:
        count: number of children.
        separators: indices of coordinators, CONJP, commas and colons.
        coordinator: index of the coordinator; one of the separators.
        tiers: sets of eligible indices, the best first.
    """
    found: list[int] = []
    segment: list[int] = []
    for index in range(count + 1):
        if index < count and index not in separators:
            segment.append(index)
            continue
        for tier in tiers:
            eligible = [i for i in segment if i in tier]
            if eligible:
                found.append(eligible[-1] if index <= coordinator else eligible[0])
                break
        segment = []
    return found


_SEPARATORS = frozenset({"CC", "CONJP", ",", ":"})
_PUNCTUATION = frozenset({",", ":", ".", "``", "''", "-LRB-", "-RRB-"})
_NO_CONJUNCTS = _PUNCTUATION | {"CC"}
_CLASSES = ("NN", "VB", "JJ", "RB")
"""Tags that begin alike are of one class: NN, NNS, NNP and NNPS are."""


def ptb_coordinations(tree: Tree) -> list[Coordination]:
    """The coordinate structures of one tree, in the order of their coordinators.

    Args:
        tree: a tree without empty elements; function tags may be there.
    """
    found = [_coordination(node, spans) for node, spans in constituents_of(tree)]
    return sorted((c for c in found if c is not None), key=lambda c: c.coordinator)


ONE_SIDED = "coordinator without conjuncts on both sides (counts coordinators)"
"""Why a coordinator is in no structure: a sentence may begin with it."""

UNLIKE = "coordinator between phrases that are not alike (counts coordinators)"
"""Why one is in none with something on either side: plain brackets do not say what its conjuncts are."""


def uncoordinated(tree: Tree) -> Counter[str]:
    """The coordinators of one tree that ``ptb_coordinations`` finds no structure for, by reason.

    Args:
        tree: as there.
    """
    found = Counter[str]()
    for node, spans in constituents_of(tree):
        structure = _coordination(node, spans)
        for place in _coordinators(node):
            if structure is not None and structure.start < spans[place].start:
                continue
            sides = ((_kind(child) for child in side) for side in (node[:place], node[place + 1 :]))
            both = all(any(kind not in _NO_CONJUNCTS for kind in side) for side in sides)
            found[UNLIKE if both else ONE_SIDED] += 1
    return found


def _coordinators(node: Tree) -> list[int]:
    """Which children of a constituent are coordinators."""
    return [
        i
        for i, child in enumerate(node)
        if (word := _cc(child)) is not None and word not in PRECONJUNCTIONS
    ]


def _cc(child: Tree) -> str | None:
    """The word of a child tagged CC, in lower case."""
    return child[0].lower() if is_tag(child) and _kind(child) == "CC" else None


def _opened(node: Tree, coordinators: Sequence[int]) -> int:
    """The preconjunction of a structure, before which no conjunct stands; 0 where it has none."""
    wanted = PRECONJUNCTION_OF.get(unescape(node[coordinators[-1]][0]).lower())
    before = enumerate(node[: coordinators[0]])
    return next((i for i, child in before if wanted is not None and _cc(child) == wanted), 0)


def _kind(child: Tree) -> str:
    label = base_label(child.label())
    if is_tag(child):
        return next((f"{name}*" for name in _CLASSES if label.startswith(name)), label)
    return label


def _coordination(node: Tree, spans: list[Span]) -> Coordination | None:
    category = base_label(node.label())
    kinds = [_kind(child) for child in node]
    coordinators = _coordinators(node)
    if not coordinators:
        return None
    coordinator = coordinators[-1]
    phrases = {
        i for i, child in enumerate(node) if not is_tag(child) and kinds[i] not in _SEPARATORS
    }
    following = next((k for k in kinds[coordinator + 1 :] if k not in _PUNCTUATION), None)
    opened = _opened(node, coordinators)
    for tier in (
        phrases if category == "UCP" else {i for i in phrases if kinds[i] == category},
        {i for i, kind in enumerate(kinds) if kind == following and kind not in _SEPARATORS},
    ):
        eligible = {i for i in tier if i >= opened}
        if min(eligible, default=coordinator) < coordinator < max(eligible, default=coordinator):
            break
    else:
        return None
    separators = {i for i, kind in enumerate(kinds) if kind in _SEPARATORS}
    chosen = conjunct_children(len(kinds), separators, coordinator, [eligible])
    return Coordination(
        coordinator=spans[coordinator].start,
        word=unescape(node[coordinator][0]),
        label=category,
        conjuncts=tuple(spans[i] for i in chosen),
    )


UNWORDED = "a conjunct is only punctuation"
"""What is wrong with a structure that has one that is not ``is_worded``."""


def is_worded(words: Sequence[str]) -> bool:
    """Whether there is a letter or digit in some words."""
    return any(character.isalnum() for word in words for character in word)


WITHHELD = "sentence with underscores for its words"
"""What is wrong with one that ``is_withheld``."""


def is_withheld(words: Sequence[str]) -> bool:
    """Whether underscores stand for the words, as where a treebank may not give away its text.

    GUM's own repository has its documents from Reddit so.
    """
    return not is_worded(words) and any(word and not word.strip("_") for word in words)


UNBALANCED = "brackets or quotes of a conjunct do not balance"
"""What is wrong with a structure that has one that is not ``is_balanced``."""

_OPENED_BY = {")": "(", "]": "[", "}": "{"}
QUOTES = frozenset({"``", "''", '"', "\u201c", "\u201d"})
"""Double quotes, which way they may turn."""


def is_balanced(words: Sequence[str]) -> bool:
    """Whether each bracket in some words is closed or was opened there, and double quotes come in pairs.

    A single quote may be an apostrophe, and is not looked at.
    """
    quotes, opened = 0, list[str]()
    for word in words:
        for sign in [word] if word in QUOTES else word:
            quotes += sign in QUOTES
            if sign in _OPENED_BY.values():
                opened.append(sign)
            elif sign in _OPENED_BY and (not opened or opened.pop() != _OPENED_BY[sign]):
                return False
    return not opened and quotes % 2 == 0


UNTAGGED = "XX"
"""The tag of every word in the trees of a parser that was given none (``preparse.tags: none``)."""

_CLEAR = {
    **dict.fromkeys((",", "``", "''"), None),
    **dict.fromkeys((".", "?", "!"), "."),
    **dict.fromkeys((":", ";", "-", "--", "..."), ":"),
    **dict.fromkeys(("(", "[", "{"), "-LRB-"),
    **dict.fromkeys((")", "]", "}"), "-RRB-"),
}
"""Words whose tag needs no tagger; None: the tag is the word itself."""


READING = 2  # 2: a parser's *both* stands before the first conjunct
"""Raise it when other coordinations are read from the same tree of a parser: what is kept of its structures,
and models of twins, are then made again; rows of harvest by the stage's own ``ALGORITHM``."""


def as_read(tree: Tree, coordinators: AbstractSet[str] = COORDINATORS) -> Tree:
    """A copy of a parser's tree as the rule for plain brackets should read it.

    Untagged coordinators and punctuation have the tag that only they can have, for the rule finds
    coordinators by it; other words may stay untagged. A *both*, *either* or *neither* with which a first
    conjunct begins, and which goes with its coordinator, stands before the conjunct: parsers put it into
    the nearest phrase, treebanks before the structure.
    """
    made = _with_clear_tags(tree, coordinators)
    if PRECONJUNCTIONS.isdisjoint(leaf.lower() for leaf in made.leaves()):  # as in nearly all
        return made
    inside = [
        (node, place)
        for node, spans in constituents_of(made)
        if (place := _begins_with_preconjunction(node, spans)) is not None
    ]
    for node, place in inside:
        node.insert(place, _cut_first(node[place]))
    return made


def _begins_with_preconjunction(node: Tree, spans: list[Span]) -> int | None:
    """The child that is the first conjunct of a node's structure, where it begins with its preconjunction."""
    structure = _coordination(node, spans)
    if structure is None or len(structure.conjuncts[0]) == 1:
        return None
    place = spans.index(structure.conjuncts[0])
    (first, tag), *others = node[place].pos()
    coordinator = structure.word.lower()
    if tag != "CC" or first.lower() != PRECONJUNCTION_OF.get(coordinator):
        return None
    # *Both fragments bind it, and one …*: a determiner, for *both … and* joins no clauses.
    if first.lower() == "both" and _begins_with_subject(node[place]):
        return None
    # What it opens may be a structure within the conjunct.
    return None if coordinator in (word.lower() for word, _ in others) else place


def _begins_with_subject(tree: Tree) -> bool:
    """Whether a constituent begins with a clause that begins with a noun phrase."""
    while not is_tag(tree):
        if base_label(tree.label()) == "S" and base_label(tree[0].label()) == "NP":
            return True
        tree = tree[0]
    return False


def _cut_first(tree: Tree) -> Tree:
    """Take the first of several words out of a constituent, with what holds nothing else; the word."""
    while len(tree[0].leaves()) > 1:
        tree = tree[0]
    cut: Tree = tree.pop(0)
    while not is_tag(cut):
        cut = cut[0]
    return cut


def _with_clear_tags(tree: Tree, coordinators: AbstractSet[str]) -> Tree:
    if is_tag(tree):
        word = leaves(tree)[0]
        return Tree(clear_tag(word, coordinators), [tree[0]]) if tree.label() == UNTAGGED else tree
    return Tree(tree.label(), [_with_clear_tags(child, coordinators) for child in tree])


def clear_tag(word: str, coordinators: AbstractSet[str] = COORDINATORS) -> str:
    """The tag that a word can only have, if it is a coordinator or punctuation; else ``UNTAGGED``."""
    if word.lower() in coordinators or word.lower() in PRECONJUNCTIONS:
        return "CC"
    if word in _CLEAR:
        return _CLEAR[word] or escape(word)
    return UNTAGGED
