"""A coordination put into a dependency tree, as Universal Dependencies have it (v2).

The head of each fill hangs on that of the reference as ``conj``, coordinator and commas on the head of the
conjunct behind them. All else is as it was in the source and in the donors: lemmas, features, what hangs on
what, the spaces, multiword tokens.

The enhanced layer, where the source and all donors have one, is what English EWT has most often, counted on
its 7,972 pairs of first and later conjuncts in train and dev:

- The fill has ``conj:and`` from the reference's head, and the relation that this one has to its head: with
  the fill's own case in its name, if both have one and the treebank has such a name. Not propagated are
  ``root``, ``conj``, ``parataxis``, ``list`` and relations of function words.
- A subject on the left of the reference is the fill's, too, if that has none: ``nsubj:pass`` of a passive.
  So is that of a controlled verb (``nsubj:xsubj``), and the noun of a relative clause. Auxiliaries, markers,
  determiners and what else stands on the left are the first conjunct's alone.
- A relative clause beside another has the other's noun for its own.

What comes out is held against the candidate: ``require_read_back``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pipeline.core.structures import COMMA
from pipeline.core.types import Coordination, Span
from pipeline.text.coordinations import PRECONJUNCTIONS
from pipeline.text.dependencies import (
    ABSENT,
    DependencyTree,
    Edge,
    Empty,
    NodeNumber,
    Token,
    TreebankWord,
    deps_of,
    edges,
    glued,
    misc_of,
    with_space,
)
from pipeline.text.dependency_phrases import UNJOINED, phrases_of
from pipeline.text.splicing import OTHER_CONJUNCTS, OTHER_FILLS, OTHER_WORDS, STRANGE_WORDS, NoTree

HEADS = "a phrase of several words that hang on others"
CUT = "a multiword token that is cut by a conjunct's end"
EMPTY_NODE = "a donor with an empty node inside"
NO_NOUN = "a relative clause beside something else, without its noun"
ENHANCED = "an enhanced layer that does not fit the words"

_SUBJECTS = frozenset({"nsubj", "csubj"})
_NOT_SHARED = frozenset(
    {
        "root", "conj", "parataxis", "list", "aux", "cop", "discourse", "vocative", "dep", "orphan",
        "reparandum", "goeswith", "fixed", "punct",
    }
)  # fmt: skip
_WITH_CASE = frozenset({"obl", "nmod", "acl", "advcl"})
"""Relations whose enhanced name has the lemma of a case or marker."""


@dataclass(frozen=True, slots=True)
class Graft:
    """A conjunct: the tree of the sentence that it is from, and its words there."""

    tree: DependencyTree
    span: Span


@dataclass(frozen=True, slots=True)
class LinkingWords:
    """How a treebank has coordinators and commas: what it says most often of each, by relation and word.

    ``relations`` are the names of its enhanced relations that have a case.
    """

    _seen: dict[tuple[str, str], Counter[tuple[str, ...]]] = field(default_factory=dict)
    relations: set[str] = field(default_factory=set)
    _behind: Counter[bool] = field(default_factory=Counter)

    @property
    def hang_on_first(self) -> bool:
        """Whether most coordinators hang on a conjunct before them, as in UD's first version."""
        return self._behind[True] > self._behind[False]

    def learn(self, rows: str) -> None:
        """Take in the lines of a sentence."""
        for row in rows.split("\n"):
            columns = row.split("\t")
            self.relations.update(r for _, r in edges(columns[8]) or () if _base(r) in _WITH_CASE)
            if columns[7] in ("cc", "cc:preconj") or (
                columns[1] == COMMA and columns[7] == "punct"
            ):
                known = self._seen.setdefault((columns[7], columns[1].lower()), Counter())
                known[tuple(columns[2:6])] += 1
            if columns[7] == "cc":
                self._behind[int(columns[6]) < int(columns[0])] += 1

    def word(self, form: str, relation: str) -> TreebankWord:
        """A word of no number and head yet; one that the treebank lacks has its lemma and UPOS alone."""
        usual = (form.lower(), "PUNCT" if relation == "punct" else "CCONJ", ABSENT, ABSENT)
        known = self._seen.get((relation, form.lower()))
        if known:
            # Of two alike the first by name, so that it does not depend on the order of sentences.
            usual = min(known, key=lambda each: (-known[each], each))  # type: ignore[assignment]
        lemma, upos, xpos, feats = usual
        return TreebankWord(0, form, lemma, upos, xpos, feats, 0, relation, ABSENT, ABSENT)


def spliced_dependencies(
    source: Graft,
    fills: Sequence[Graft],
    words: Sequence[str],
    coordination: Coordination,
    linking: LinkingWords,
) -> DependencyTree:
    """The dependency tree of a candidate, without comments.

    Where the source or a donor has no enhanced layer the sentence has none, and no empty nodes.

    Args:
        source: the source sentence and the reference span in it.
        fills: of the other conjuncts, in their order.
        words: of the candidate.
        coordination: the candidate's.
        linking: how the treebank has the words that are put in.

    Raises:
        NoTree: there is none, for the reason that it says.
    """
    if len(coordination.conjuncts) != 1 + len(fills):
        raise NoTree(OTHER_FILLS)
    pieces = [_Piece(each.tree, each.span) for each in (source, *fills)]
    enhanced = all(any(w.deps != ABSENT for w in piece.tree.words) for piece in pieces)
    splice = _Splice(pieces, words, coordination, linking.relations)
    made = [*splice.kept(enhanced), *splice.linking(linking, enhanced)]
    made.sort(key=lambda word: word.number)
    if tuple(word.form for word in made) != tuple(words):
        raise NoTree(OTHER_WORDS)
    tokens, empty = splice.tokens(), splice.empty() if enhanced else ()
    tree = DependencyTree(tuple(made), tokens, empty, name=source.tree.name)
    return _spaced(tree, splice.glued())


def require_read_back(
    tree: DependencyTree, words: Sequence[str], coordination: Coordination
) -> None:
    """Check that a tree is a candidate's: its words, and conjuncts that the reader finds and can keep.

    Raises:
        NoTree: it is not.
    """
    if tree.forms != tuple(words):
        raise NoTree(OTHER_WORDS)
    found = phrases_of(tree)
    if not any(
        (each.coordinator, each.conjuncts) == (coordination.coordinator, coordination.conjuncts)
        for each in found.coordinations
    ):
        raise NoTree(OTHER_CONJUNCTS)
    if unread := [reason for reason in found.refused if reason != UNJOINED]:
        raise NoTree(unread[0])


class _Piece:
    """A span of a tree that is a conjunct: one of its words hangs on another outside it.

    Attributes:
        tree: the tree.
        first: number of its first word.
        last: of its last.
        head: the word that hangs on another, or on none.

    Raises:
        NoTree: several do, or an end of it cuts a multiword token.
    """

    def __init__(self, tree: DependencyTree, span: Span) -> None:
        self.tree, self.first, self.last = tree, span.start + 1, span.end
        heads = [w for w in tree.words[span.start : span.end] if w.head not in self]
        if len(heads) != 1:
            raise NoTree(HEADS)
        self.head = heads[0]
        for token in tree.tokens:
            inside = [n in self for n in range(token.first, token.last + 1)]
            if any(inside) and not all(inside):
                raise NoTree(CUT)

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    def holds(self, node: NodeNumber) -> bool:
        """Whether a node stands between its words: an empty one behind the last does not."""
        return node[0] in self and (node[1] == 0 or node[0] < self.last)

    def own(self, *relations: str) -> list[TreebankWord]:
        """Dependents of its head in it that have one of some relations."""
        below = self.tree.children(self.head.number)
        return [w for w in below if w.number in self and w.relation in relations]

    @property
    def case(self) -> str:
        """What the enhanced layer adds to its head's relation: ``on`` of ``obl:on``; empty: nothing."""
        begin = f"{self.head.deprel}:"
        for at, relation in _edges(self.head.deps, self.tree):
            if at == (self.head.head, 0) and relation.startswith(begin):
                return relation.removeprefix(begin)
        return ""

    @property
    def to_noun(self) -> list[Edge]:
        """Of a relative clause, what its noun outside it is to its words in the enhanced layer."""
        if not self.head.deprel.endswith(":relcl"):
            return []
        noun = self.tree.word(self.head.head)
        return [each for each in _edges(noun.deps, self.tree) if self.holds(each[0])]

    @property
    def is_passive(self) -> bool:
        """Whether its head is a passive."""
        marks = any(w.deprel == "aux:pass" for w in self.own("aux"))
        return marks or "Voice=Pass" in self.head.feats.split("|")


class _Splice:
    """Where the nodes of a source and of fills stand in a candidate."""

    def __init__(
        self,
        pieces: Sequence[_Piece],
        words: Sequence[str],
        coordination: Coordination,
        relations: Set[str],
    ) -> None:
        self._words, self._coordination, self._relations = words, coordination, relations
        self._source, *self._fills = pieces
        spans = coordination.conjuncts
        after = len(self._source.tree.words) - self._source.last
        ends = [self._source.first - 1, *(each.end for each in spans)]
        if (
            any(len(s) != p.last - p.first + 1 for s, p in zip(spans, pieces, strict=True))
            or any(end > span.start for end, span in zip(ends, spans, strict=False))
            or len(words) != ends[-1] + after
        ):
            raise NoTree(OTHER_WORDS)
        self._moved = spans[0].start + 1 - self._source.first
        self._behind = coordination.end - self._source.last
        self.heads = [
            s.start + 1 + p.head.number - p.first for s, p in zip(spans, pieces, strict=True)
        ]

    @property
    def _is_relative(self) -> bool:
        """Whether the reference is a relative clause, of a noun outside it."""
        return self._source.head.deprel.endswith(":relcl")

    def _of_source(self, node: NodeNumber) -> NodeNumber:
        """The number of a node of the source; 0 stays 0."""
        number, minor = node
        if number < self._source.first:
            return node
        return number + (self._moved if number in self._source else self._behind), minor

    def _of_fill(self, place: int, node: NodeNumber) -> NodeNumber:
        """The number of a node of a fill."""
        shift = self._coordination.conjuncts[place + 1].start + 1 - self._fills[place].first
        return node[0] + shift, node[1]

    def kept(self, enhanced: bool) -> list[TreebankWord]:
        """The words of the source and of the fills."""
        source = self._source.tree
        numbers = {(n, 0): self._of_source((n, 0)) for n in range(len(source.words) + 1)}
        numbers |= {each.node: self._of_source(each.node) for each in source.empty}
        made = []
        for each in source.words:
            word = self._reattached(each)
            deps = self._source_deps(word, numbers) if enhanced else ABSENT
            head = numbers[word.head, 0][0]
            made.append(self._moved_word(word, numbers, head, word.deprel, deps))
        for place, fill in enumerate(self._fills):
            if any(fill.holds(each.node) for each in fill.tree.empty):
                raise NoTree(EMPTY_NODE)
            own = {(n, 0): self._of_fill(place, (n, 0)) for n in range(fill.first, fill.last + 1)}
            for word in fill.tree.words[fill.first - 1 : fill.last]:
                top = word is fill.head
                deps = self._fill_deps(fill, word, own, numbers) if enhanced else ABSENT
                head = self.heads[0] if top else own[word.head, 0][0]
                made.append(self._moved_word(word, own, head, "conj" if top else word.deprel, deps))
        return made

    def _reattached(self, word: TreebankWord) -> TreebankWord:
        """A mark behind the reference that hangs on a word in it, on its head: else fills part the two."""
        top = self._source.head.number
        behind = word.number > self._source.last and word.head in self._source
        if word.relation != "punct" or not behind or word.head == top:
            return word
        deps = word.deps.replace(f"{word.head}:{word.deprel}", f"{top}:{word.deprel}")
        return replace(word, head=top, deps=deps)

    def _moved_word(
        self,
        word: TreebankWord,
        numbers: Mapping[NodeNumber, NodeNumber],
        head: int,
        deprel: str,
        deps: str,
    ) -> TreebankWord:
        """A word in its place, written as the candidate has it, if but its case differs."""
        number = numbers[word.number, 0][0]
        form = self._words[number - 1]
        if form.lower() != word.form.lower():
            raise NoTree(OTHER_WORDS)
        misc = misc_of(word.misc, numbers)
        return replace(
            word, number=number, form=form, head=head, deprel=deprel, deps=deps, misc=misc
        )

    def _source_deps(self, word: TreebankWord, numbers: Mapping[NodeNumber, NodeNumber]) -> str:
        relations = _edges(word.deps, self._source.tree)
        new = [(numbers[head], relation) for head, relation in relations]
        new += self._as_subject(word, relations)
        if self._is_relative and word.number == self._source.head.head:
            for place, fill in enumerate(self._fills):
                new += [(self._of_fill(place, at), relation) for at, relation in fill.to_noun]
        return deps_of(new)

    def _as_subject(self, word: TreebankWord, relations: Sequence[Edge]) -> list[Edge]:
        """What a word on the left is to the fills: the reference's subject is theirs, if they have none."""
        head = self._source.head
        if word.number >= self._source.first:
            return []
        found = []
        for above, relation in relations:
            shared = word.head == head.number or relation == "nsubj:xsubj"
            shared = shared or self._is_relative
            if above != (head.number, 0) or _base(relation) not in _SUBJECTS or not shared:
                continue
            for place, fill in enumerate(self._fills):
                if not fill.own("nsubj", "csubj", "expl"):
                    found.append(((self.heads[place + 1], 0), self._voiced(relation, fill)))
        return found

    def _voiced(self, relation: str, fill: _Piece) -> str:
        """A subject's relation as the fill's voice asks for it."""
        name, _, kind = relation.partition(":")
        if kind not in ("", "pass"):
            return relation
        # An auxiliary on the left is the fill's, too: "was [killed] and [eaten]".
        left = self._source.own("aux") != [
            w for w in self._source.tree.children(self._source.head.number) if w.relation == "aux"
        ]
        passive = fill.is_passive or (kind == "pass" and left)
        return f"{name}:pass" if passive else name

    def _fill_deps(
        self,
        fill: _Piece,
        word: TreebankWord,
        own: Mapping[NodeNumber, NodeNumber],
        numbers: Mapping[NodeNumber, NodeNumber],
    ) -> str:
        relations = _edges(word.deps, fill.tree)
        kept = [(own[head], relation) for head, relation in relations if head in own]
        if (
            not kept
            and word is not fill.head
            and any(relation == "ref" for _, relation in relations)
        ):
            if not self._is_relative:
                raise NoTree(NO_NOUN)
            kept = [(numbers[self._source.head.head, 0], "ref")]
        if word is fill.head:
            kept += self._of_head(fill, numbers)
        if not kept:
            raise NoTree(ENHANCED)
        return deps_of(kept)

    def _of_head(self, fill: _Piece, numbers: Mapping[NodeNumber, NodeNumber]) -> list[Edge]:
        """The relations of a fill's head: a conjunct of the reference's, and what that is to others."""
        source, head = self._source, self._source.head
        coordinator = self._words[self._coordination.coordinator]
        name = _named(coordinator)
        found: list[Edge] = [((self.heads[0], 0), f"conj:{name}" if name else "conj")]
        relations = _edges(head.deps, source.tree)
        # A word whose head was left out has an empty node's relations instead.
        basic = any(above == (head.head, 0) for above, _ in relations)
        for above, relation in relations:
            outside = above != (0, 0) and not source.holds(above)
            usual = above == (head.head, 0) or not basic
            wanted = _base(relation) not in _NOT_SHARED if usual else _base(relation) == "nsubj"
            if outside and wanted:
                found.append((numbers[above], self._cased(relation, fill)))
        return found

    def _cased(self, relation: str, fill: _Piece) -> str:
        """A relation with the fill's own case in its name, if the reference's is there and it has one."""
        # Of a relation with a subtype in the basic tree (obl:unmarked) it is no case.
        deprel, theirs = self._source.head.deprel, fill.head.deprel
        if not {deprel, theirs} <= _WITH_CASE or not fill.own("case", "mark"):
            return relation
        own = f"{deprel}:{fill.case}" if relation == f"{deprel}:{self._source.case}" else ""
        return own if own in self._relations else relation

    def linking(self, words: LinkingWords, enhanced: bool) -> list[TreebankWord]:
        """The words that were put between the conjuncts, and before the first.

        Raises:
            NoTree: one is no comma, coordinator or opener.
        """
        made = []
        spans = self._coordination.conjuncts
        at = self._source.first - 1
        for span, head in zip(spans, self.heads, strict=True):
            for place in range(at, span.start):
                form = self._words[place]
                if place == self._coordination.coordinator:
                    relation = "cc"
                elif form == COMMA:
                    relation = "punct"
                elif place < spans[0].start and form.lower() in PRECONJUNCTIONS:
                    relation = "cc:preconj"
                else:
                    raise NoTree(STRANGE_WORDS)
                above = self.heads[0] if relation == "cc" and words.hang_on_first else head
                deps = f"{above}:{relation}" if enhanced else ABSENT
                word = words.word(form, relation)
                made.append(replace(word, number=place + 1, head=above, deps=deps))
            at = span.end
        return made

    def tokens(self) -> tuple[Token, ...]:
        """The multiword tokens."""
        made = []
        for token in self._source.tree.tokens:
            first, last = (self._of_source((n, 0))[0] for n in (token.first, token.last))
            made.append(self._moved_token(token, self._source.tree, first, last))
        for place, fill in enumerate(self._fills):
            for token in fill.tree.tokens:
                if token.first in fill:
                    first, last = (
                        self._of_fill(place, (n, 0))[0] for n in (token.first, token.last)
                    )
                    made.append(self._moved_token(token, fill.tree, first, last))
        return tuple(sorted(made, key=lambda token: token.first))

    def _moved_token(self, token: Token, tree: DependencyTree, first: int, last: int) -> Token:
        # Written in other letters, the token would be, too, and how does not follow.
        if tree.forms[token.first - 1 : token.last] != tuple(self._words[first - 1 : last]):
            raise NoTree(OTHER_WORDS)
        return Token(first, last, (*token.columns[:-1], misc_of(token.misc, {})))

    def empty(self) -> tuple[Empty, ...]:
        """The empty nodes: all are the source's."""
        source = self._source.tree
        numbers = {(n, 0): self._of_source((n, 0)) for n in range(len(source.words) + 1)}
        numbers |= {each.node: self._of_source(each.node) for each in source.empty}
        made = []
        for each in source.empty:
            relations = _edges(each.columns[-2], source)
            deps = deps_of([(numbers[head], relation) for head, relation in relations])
            misc = misc_of(each.columns[-1], numbers)
            made.append(Empty(numbers[each.node], (*each.columns[:-2], deps, misc)))
        return tuple(made)

    def glued(self) -> dict[int, bool]:
        """Of the units whose last words have these numbers, whether no space follows."""
        spans = self._coordination.conjuncts
        found = {place + 1: False for place in range(self._source.first - 1, spans[0].start)}
        for one, other in pairwise(spans):
            found[one.end] = self._words[one.end] == COMMA
            for place in range(one.end, other.start):
                together = self._words[place + 1] == COMMA and place + 1 < other.start
                found[place + 1] = together
        source = self._source
        misc = next((t.misc for t in source.tree.tokens if t.last == source.last), None)
        found[spans[-1].end] = glued(misc or source.tree.word(source.last).misc)
        return found


def _spaced(tree: DependencyTree, glued_: Mapping[int, bool]) -> DependencyTree:
    """A tree whose units are followed by spaces as is said of some of them."""
    inside = {n for token in tree.tokens for n in range(token.first, token.last + 1)}
    words = tuple(
        replace(w, misc=with_space(w.misc, glued_[w.number]))
        if w.number in glued_ and w.number not in inside
        else w
        for w in tree.words
    )
    tokens = tuple(
        replace(t, columns=(*t.columns[:-1], with_space(t.misc, glued_[t.last])))
        if t.last in glued_
        else t
        for t in tree.tokens
    )
    return replace(tree, words=words, tokens=tokens)


def _edges(deps: str, tree: DependencyTree) -> list[Edge]:
    """The relations of a DEPS column.

    Raises:
        NoTree: it has none that can be read, or names a node that is not there.
    """
    relations = edges(deps)
    nodes = {each.node for each in tree.empty}
    if not relations or any(
        head not in nodes if head[1] else head[0] > len(tree.words) for head, _ in relations
    ):
        raise NoTree(ENHANCED)
    return relations


def _base(relation: str) -> str:
    return relation.partition(":")[0]


def _named(lemma: str) -> str:
    """A lemma as it stands in the name of a relation: letters, and ``_`` for what is none."""
    return re.sub(r"[\W\d_]+", "_", lemma.lower()).strip("_")


def learned_linking(rows: Iterable[str]) -> LinkingWords:
    """How some sentences, by their lines, have coordinators and commas."""
    found = LinkingWords()
    for each in rows:
        found.learn(each)
    return found
