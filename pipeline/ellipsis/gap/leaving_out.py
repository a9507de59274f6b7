"""A sentence without one of its verbs: the basic tree, the enhanced layer, tokens, spaces and numbers.

The promoted word takes the verb's place in the tree, with coordinator and punctuation, and the
other dependents become its orphans. In the enhanced layer, where the sentence has one, the verb's
place is taken by an empty node that is a copy of the first verb, and each dependent keeps its
relation to it (https://universaldependencies.org/u/overview/enhanced-syntax.html#ellipsis).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pipeline.ellipsis.gap.rules import GappedVerb
from pipeline.text.dependencies import (
    ABSENT,
    DependencyTree,
    Edge,
    Empty,
    NodeNumber,
    deps_of,
    edges,
    glued,
    misc_of,
    shown,
    with_space,
)

ORPHAN = "orphan"

CUT = "a multiword token would be cut into"
GLUED = "a part of a written word would stay"
ALONE = "punctuation would stand alone"
ENHANCED = "an enhanced layer that does not fit the words"


class Unfit(ValueError):  # noqa: N818 - it says what a sentence is, and is no failure
    """A sentence that cannot be written without the verb; the reason is its text."""


def left_out(tree: DependencyTree, gap: GappedVerb) -> DependencyTree:
    """The sentence without a verb; its comments are those of the whole one.

    Raises:
        Unfit: no sentence that can be written comes of it.
    """
    tree = _without_spaces(tree, gap)
    numbers = _numbers(tree, gap)
    enhanced = _enhanced(tree, gap, numbers)
    # What was a copy of the verb is one of the verb before then.
    copied = {**numbers, (gap.verb, 0): numbers[gap.first, 0]}
    words, verb = [], tree.word(gap.verb)
    for word in tree.words:
        if word.number in gap.gone:
            continue
        head, deprel = word.head, word.deprel
        if word.number == gap.promoted:
            head, deprel = verb.head, verb.deprel
        elif word.number in gap.orphans:
            head, deprel = gap.promoted, ORPHAN
        elif word.head == gap.verb:
            head = gap.promoted
        words.append(
            replace(
                word, number=numbers[word.number, 0][0], head=numbers[head, 0][0],
                deprel=deprel, deps=enhanced.get((word.number, 0), ABSENT),
                misc=misc_of(word.misc, copied),
            )
        )  # fmt: skip
    tokens = [
        replace(
            token, first=numbers[token.first, 0][0], last=numbers[token.last, 0][0],
            columns=(*token.columns[:-1], misc_of(token.misc, copied)),
        )
        for token in tree.tokens
    ]  # fmt: skip
    empty = [
        Empty(
            numbers[each.node],
            (*each.columns[:-2], enhanced[each.node], misc_of(each.columns[-1], copied)),
        )
        for each in tree.empty
    ]
    if enhanced:
        empty.append(_copy(tree, gap, numbers, enhanced))
    empty.sort(key=lambda each: each.node)
    return replace(tree, words=tuple(words), tokens=tuple(tokens), empty=tuple(empty))


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is written in one: a word, or a multiword token; ``word`` is the only one that stays of it."""

    first: int
    last: int
    glued: bool
    goes: bool


def _units(tree: DependencyTree, gap: GappedVerb) -> Iterator[_Unit]:
    """What is written in one, in its order.

    Raises:
        Unfit: of a multiword token stays what cannot stand alone: several words, another than its first,
            or one that is written in another way there.
    """
    tokens = {token.first: token for token in tree.tokens}
    number = 1
    while number <= len(tree.words):
        token = tokens.get(number)
        last = token.last if token else number
        stay = [n for n in range(number, last + 1) if n not in gap.gone]
        if token and 0 < len(stay) <= last - number:
            written = "".join(tree.word(n).form for n in range(number, last + 1))
            if stay != [number] or written != token.form:
                raise Unfit(CUT)
        misc = token.misc if token else tree.word(number).misc
        yield _Unit(number, last, glued(misc), not stay)
        number = last + 1


def _without_spaces(tree: DependencyTree, gap: GappedVerb) -> DependencyTree:
    """The tree with tokens and spaces as they are without the words that go.

    Raises:
        Unfit: as ``_units``; or a part of a written word would stay, or punctuation around nothing.
    """
    units = list(_units(tree, gap))
    spaces: dict[int, bool] = {}
    left: _Unit | None = None
    run: _Unit | None = None  # the last of those that go since ``left``
    for unit in units:
        if unit.goes:
            run = unit
            continue
        if left and run:
            spaces[left.first] = _closed_up(tree, left, run, unit)
        left, run = unit, None
    if left and run:
        spaces[left.first] = run.glued
    for unit in units:
        if not unit.goes:
            spaces.setdefault(unit.first, unit.glued)
    tokens = [t for t in tree.tokens if gap.gone.isdisjoint(range(t.first, t.last + 1))]
    inside = {n for token in tokens for n in range(token.first, token.last + 1)}
    return replace(
        tree,
        words=tuple(
            word if word.number in inside or word.number not in spaces
            else replace(word, misc=with_space(word.misc, spaces[word.number]))
            for word in tree.words
        ),
        tokens=tuple(
            replace(token, columns=(*token.columns[:-1], with_space(token.misc, spaces[token.first])))
            for token in tokens
        ),
    )  # fmt: skip


def _closed_up(tree: DependencyTree, left: _Unit, run: _Unit, right: _Unit) -> bool:
    """Whether two units are written together where those between them go."""
    before, after = tree.word(left.last), tree.word(right.first)
    marks = before.upos == "PUNCT", after.upos == "PUNCT"
    if all(marks) and before.form not in _CLOSING:
        raise Unfit(ALONE)
    if (run.glued and not marks[1]) or (left.glued and before.xpos == "HYPH"):
        raise Unfit(GLUED)
    return (left.glued and marks[0]) or run.glued


_CLOSING = frozenset({")", "]", "}", "''", "”", "’", ".", "!", "?", "...", "…"})


def _numbers(tree: DependencyTree, gap: GappedVerb) -> dict[NodeNumber, NodeNumber]:
    """The new number of each node that stays, and of the verb that of its copy; 0 stays 0."""
    empty: dict[int, list[NodeNumber]] = {}
    for each in tree.empty:
        empty.setdefault(each.node[0], []).append(each.node)
    found: dict[NodeNumber, NodeNumber] = {(0, 0): (0, 0)}
    at: NodeNumber = (0, 0)
    for number in range(len(tree.words) + 1):
        if number == gap.verb:
            at = (at[0], at[1] + 1)
            found[number, 0] = at
        elif number and number not in gap.gone:
            at = (at[0] + 1, 0)
            found[number, 0] = at
        for node in empty.get(number, ()):
            at = (at[0], at[1] + 1)
            found[node] = at
    return found


def _enhanced(
    tree: DependencyTree, gap: GappedVerb, numbers: Mapping[NodeNumber, NodeNumber]
) -> dict[NodeNumber, str]:
    """The DEPS of each node that stays, by its old number; empty where the sentence has none.

    Raises:
        Unfit: they name a node that is not there, or one that goes and no other.
    """
    columns = {(word.number, 0): word.deps for word in tree.words}
    columns |= {each.node: each.columns[-2] for each in tree.empty}
    if set(columns.values()) == {ABSENT}:
        return {}
    punctuation = {word.number for word in tree.children(gap.verb) if word.relation == "punct"}
    made = {}
    for node, column in columns.items():
        if node[1] == 0 and node[0] in gap.gone and node[0] != gap.verb:
            continue
        relations = edges(column)
        if relations is None or any(
            head == node or (head not in columns and head != (0, 0)) for head, _ in relations
        ):
            raise Unfit(ENHANCED)
        kept: list[Edge] = []
        for head, relation in relations:
            if head == (gap.verb, 0) and node[0] in punctuation:
                kept.append((numbers[gap.promoted, 0], relation))
            elif head in numbers:
                kept.append((numbers[head], relation))
        if not kept:
            raise Unfit(ENHANCED)
        made[node] = deps_of(kept)
    return made


def _copy(
    tree: DependencyTree,
    gap: GappedVerb,
    numbers: Mapping[NodeNumber, NodeNumber],
    enhanced: Mapping[NodeNumber, str],
) -> Empty:
    """The empty node in the verb's place: what the reader understands, the first verb."""
    first = tree.word(gap.first)
    columns = (
        first.form, first.lemma, first.upos, first.xpos, first.feats, ABSENT, ABSENT,
        enhanced[gap.verb, 0], f"CopyOf={shown(numbers[gap.first, 0])}",
    )  # fmt: skip
    return Empty(numbers[gap.verb, 0], columns)
