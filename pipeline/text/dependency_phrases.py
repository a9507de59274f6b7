"""Phrases and coordinations of a dependency tree, as a treebank of constituents has them.

Universal Dependencies attach all conjuncts to the first (``conj``), a coordinator to the conjunct behind it
(``cc``), and what conjuncts share to the first. So a later conjunct is its word with all below it, and the
first one is what is below its word, without the others, and without what is shared:

- What the enhanced layer gives to another conjunct as well is shared. Where it says nothing, a dependent on
  the left is shared if no other conjunct has one of its *kind*: a subject (without one of its own the second
  of "he [ran] and [jumped]" has the first's), an auxiliary, a marker, a case ("in [France] and [Spain]"), or
  what a noun has before it ("the [men] and [women]"; but "[the men] and [their wives]"). All else on the left
  (adverbs, what is fronted) is the first's own, unless it stands outside something shared.
- A conjunct that is a finite verb or has a subject shares no auxiliary and nothing that a noun has before it:
  "it [was tasty] and [came late]", "[you are a person] and [you left]". A marker it shares: "because [it
  rained] and [she slept]". A clause whose verb is left out has a subject, too: "[Mary won gold] and [Peter
  bronze]".
- What stands behind the other conjuncts is shared.

A conjunct with words in between that are not its own is none, and the structure is counted under a reason.

Labels come from the word at the head and what depends on it: see ``label_of``. They are the treebanks' of
constituents, so that references, fills and columns of tables know them.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.core.types import Coordination, Span
from pipeline.text.coordinations import UNTAGGED, clear_tag, is_balanced
from pipeline.text.dependencies import ABSENT, DependencyTree, TreebankWord, edges
from pipeline.text.trees import escape

READING = 2
"""Raise it when other phrases are read off the same trees; 2: conjuncts keep auxiliaries and brackets."""

UNJOINED = "conjuncts without a coordinator"
SPLIT = "a conjunct with other words in between"
SEVERAL = "a coordinator of several words"
APART = "a coordinator that is not between its conjuncts"

_NOMINAL = frozenset({"NOUN", "PROPN", "PRON", "NUM", "SYM", "DET"})
_VERBAL = frozenset({"VERB", "AUX"})
_SUBJECTS = frozenset({"nsubj", "csubj", "expl"})
_KINDS = {
    **dict.fromkeys(_SUBJECTS, "subject"),
    **dict.fromkeys(("aux", "cop"), "auxiliary"),
    "mark": "marker",
    "case": "case",
    **dict.fromkeys(("det", "amod", "nummod", "nmod", "compound", "clf"), "before a noun"),
}
"""Relations on the left that conjuncts may share, and what kind each is of."""


@dataclass(frozen=True, slots=True)
class DependencyPhrases:
    """What a tree says as constituents.

    Attributes:
        coordinations: in the order of their coordinators.
        tags: of the words: XPOS, or UPOS of a sentence without; CC of coordinators.
        bracketing: on one line, of all phrases that are one piece.
        refused: structures that are none of these, by reason.
    """

    coordinations: tuple[Coordination, ...]
    tags: tuple[str, ...]
    bracketing: str
    refused: Counter[str]


def phrases_of(tree: DependencyTree) -> DependencyPhrases:
    """The coordinations and constituents of a sentence."""
    found: list[Coordination] = []
    refused = Counter[str]()
    for head in tree.words:
        later = [each for each in tree.children(head.number) if each.relation == "conj"]
        if not later:
            continue
        structure = _structure(tree, head, later)
        if isinstance(structure, str):
            refused[structure] += 1
        else:
            found.append(structure)
    found.sort(key=lambda each: each.coordinator)
    tags = _tags(tree, found)
    return DependencyPhrases(tuple(found), tags, _bracketing(tree, found, tags), refused)


def _structure(
    tree: DependencyTree, head: TreebankWord, later: Sequence[TreebankWord]
) -> Coordination | str:
    """The structure of a word and its conjuncts, or why there is none."""
    coordinators = _coordinators_before(tree, head, later)
    at = max((n for n, own in enumerate(coordinators) if own), default=None)
    if at is None:
        return UNJOINED
    coordinator = coordinators[at][-1]
    if len(coordinators[at]) > 1 or any(
        each.relation == "fixed" for each in tree.children(coordinator.number)
    ):
        return SEVERAL
    own = _own_words(tree, head, later)
    first = _piece(tree, own)
    others = [_piece(tree, _below(tree, each)) for each in later]
    conjuncts = [first, *others]
    if any(each is None for each in conjuncts):
        return SPLIT
    spans = tuple(each for each in conjuncts if each is not None)
    place = coordinator.number - 1
    if any(one.end > other.start for one, other in pairwise(spans)):
        return SPLIT
    if not spans[0].end <= place < spans[-1].start or any(s.start <= place < s.end for s in spans):
        return APART
    return Coordination(place, coordinator.form, label_of(tree, head, own), spans)


def _coordinators_before(
    tree: DependencyTree, head: TreebankWord, later: Sequence[TreebankWord]
) -> list[list[TreebankWord]]:
    """Of each later conjunct the coordinators before it.

    They hang on it; in some treebanks, as once in all, on the first conjunct.
    """
    found = []
    before = head.number
    for one in later:
        of_first = [each for each in _coordinating(tree, head) if before < each.number < one.number]
        own = [
            each
            for each in _coordinating(tree, one)
            if each.deprel == "cc" and each.number < one.number
        ]
        found.append(own or [each for each in of_first if each.deprel == "cc"])
        before = one.number
    return found


def _coordinating(tree: DependencyTree, word: TreebankWord) -> list[TreebankWord]:
    """The coordinators that hang on a word, *both* and *either* too."""
    return [each for each in tree.children(word.number) if each.relation == "cc"]


def _below(tree: DependencyTree, word: TreebankWord) -> set[int]:
    """Numbers of a word and all below it, but for the coordinators before it."""
    linking = (tree.subtree(each.number) for each in _coordinating(tree, word))
    return tree.subtree(word.number).difference(*linking)


def _own_words(tree: DependencyTree, head: TreebankWord, later: Sequence[TreebankWord]) -> set[int]:
    """Numbers of the words of a first conjunct."""
    others = {number for each in later for number in tree.subtree(each.number)}
    edge = 0  # the last word that is shared on the left
    behind = min(each.number for each in later)
    for each in tree.children(head.number):
        if each.relation in ("conj", "cc"):
            continue
        if each.number < head.number and _is_shared(tree, each, later):
            edge = max(edge, *tree.subtree(each.number))
    own = {head.number}
    for each in tree.children(head.number):
        if each.relation in ("conj", "cc") or edge >= each.number or each.number > behind:
            continue
        own |= tree.subtree(each.number)
    return {number for number in own - others if number > edge}


def _is_shared(tree: DependencyTree, word: TreebankWord, later: Sequence[TreebankWord]) -> bool:
    """Whether a dependent of the first conjunct, on its left, is the others' as well."""
    heads = {head for (head, minor), _ in edges(word.deps) or () if not minor}
    if heads & {each.number for each in later}:
        return True
    kind = _KINDS.get(word.relation)
    theirs = {kind for one in later for kind in _kinds_before(tree, one)}
    if kind is None or kind in theirs:
        return False
    head = tree.word(word.head)
    before = {
        _KINDS.get(each.relation)
        for each in tree.children(head.number)
        if each.number < word.number
    }
    clauses = "subject" in theirs
    if kind in ("subject", "marker"):  # behind its subject a marker is a verb's own
        return not (clauses and "subject" in before)
    clauses |= any(_is_finite(one) and not _is_finite(head) for one in later)
    if kind == "case":  # "of [the fact] and [that we left]"; but "[they are at home] and [we left]"
        clauses &= not before.isdisjoint({"subject", "auxiliary"})
    return not clauses


def _kinds_before(tree: DependencyTree, one: TreebankWord) -> set[str | None]:
    """The kinds of what a later conjunct has of its own on its left."""
    before = [each for each in tree.children(one.number) if each.number < one.number]
    kinds = {_KINDS.get(each.relation) for each in before}
    return kinds | {"subject"} if _stands_for_a_subject(tree, one) else kinds


def _stands_for_a_subject(tree: DependencyTree, one: TreebankWord) -> bool:
    """Whether a conjunct is a clause without its verb that begins with the subject ("and [Peter bronze]").

    The word in the verb's place has *orphans*. The enhanced layer says what it is of the empty node that
    stands for the verb; without one, a noun with no case that stands before them is the subject.
    """
    orphans = [each for each in tree.children(one.number) if each.relation == "orphan"]
    if not orphans:
        return False
    of_verb = [
        relation.partition(":")[0]
        for each in (one, *orphans)
        for (_, minor), relation in edges(each.deps) or ()
        if minor
    ]
    if of_verb:
        return not _SUBJECTS.isdisjoint(of_verb)
    cased = any(each.relation == "case" for each in tree.children(one.number))
    return one.upos in _NOMINAL and not cased and one.number < orphans[0].number


def _is_finite(word: TreebankWord) -> bool:
    """Whether a word is a verb that needs no auxiliary, by its features, or by the Penn tag without any."""
    if word.feats != ABSENT:
        return "VerbForm=Fin" in word.feats.split("|")
    return word.xpos in ("VBZ", "VBD", "VBP")


def _piece(tree: DependencyTree, numbers: set[int]) -> Span | None:
    """Words as a span, without marks at its ends; None: there are others in between.

    A bracket or quote whose partner is inside stays.
    """
    ordered = sorted(numbers)
    if all(_is_mark(tree.word(number)) for number in ordered):
        return None
    while stripped := _stripped(tree, ordered):
        ordered = stripped
    if ordered[-1] - ordered[0] + 1 != len(ordered):
        return None
    return Span(ordered[0] - 1, ordered[-1])


def _stripped(tree: DependencyTree, ordered: list[int]) -> list[int]:
    """Words without the mark at an end, or without those at both; empty: none is to go."""
    first, last = (_is_mark(tree.word(number)) for number in (ordered[0], ordered[-1]))
    ways = ((last, ordered[:-1]), (first, ordered[1:]), (first and last, ordered[1:-1]))
    unbalanced = not _is_closed(tree, ordered)
    return next((left for may, left in ways if may and (unbalanced or _is_closed(tree, left))), [])


def _is_closed(tree: DependencyTree, numbers: Sequence[int]) -> bool:
    """Whether brackets and quotes in some words balance."""
    return is_balanced([tree.word(number).form for number in numbers])


def _is_mark(word: TreebankWord) -> bool:
    return word.upos == "PUNCT" or word.relation == "punct"


def label_of(tree: DependencyTree, head: TreebankWord, own: Collection[int]) -> str:
    """The label of the phrase of a word, as of a constituent, by those of its dependents that are in it.

    A marker makes a clause SBAR, a subject S, a verb without either VP; a copula makes a clause, too. A case
    makes a PP of anything else. Then the word's UPOS decides: NP of nouns, pronouns and numbers, ADJP,
    ADVP; X of the rest.

    Args:
        tree: the sentence.
        head: the word.
        own: numbers of the words of the phrase.
    """
    relations = {each.relation for each in tree.children(head.number) if each.number in own}
    verbal = head.upos in _VERBAL or "cop" in relations
    if verbal and "mark" in relations and relations & _SUBJECTS:
        return "SBAR"
    if verbal:
        return "S" if relations & _SUBJECTS else "VP"
    if "case" in relations:
        return "PP"
    if head.upos in _NOMINAL:
        return "NP"
    return {"ADJ": "ADJP", "ADV": "ADVP"}.get(head.upos, "X")


def _bracketing(
    tree: DependencyTree, coordinations: Sequence[Coordination], tags: Sequence[str]
) -> str:
    """A sentence's constituents on one line: all phrases that are one piece.

    A coordination is a phrase of its conjuncts, of one label, as treebanks have it, with CC for the
    coordinator. Else a phrase is a word with all below it. Inside a PP there is an NP without the case,
    inside an SBAR an S without the marker, inside an S a VP without the subject and what stands before it. A
    sentence whose words cross has only those of its phrases that are one piece. A word alone has a phrase if
    its label is none of a verb.
    """
    kept: dict[Span, str] = {}
    for structure in coordinations:
        for span in (Span(structure.start, structure.end), *structure.conjuncts):
            _keep(kept, span, structure.label)
    for head in tree.words:
        if _is_mark(head) or head.relation in _FUNCTIONAL:
            continue
        own = _below(tree, head) if head.relation == "conj" else tree.subtree(head.number)
        whole = _piece(tree, own)
        if whole is None or len(own) != max(own) - min(own) + 1:
            continue
        label = label_of(tree, head, own)
        if len(whole) > 1 or label not in ("VP", "S", "SBAR"):
            _keep(kept, whole, label)
        for span, inner in _inside(tree, head, whole, label):
            _keep(kept, span, inner)
    return f"(ROOT {_bracketed(tree, kept, tags)})"


_FUNCTIONAL = frozenset({"cc", "case", "mark", "aux", "cop", "det", "fixed", "punct"})
"""Relations of words that have no phrase of their own."""


def _keep(kept: dict[Span, str], span: Span, label: str) -> None:
    """Take a phrase in, unless it crosses one that is there, or is one."""
    crosses = any(
        one.start < span.start < one.end < span.end or span.start < one.start < span.end < one.end
        for one in kept
    )
    if not crosses:
        kept.setdefault(span, label)


def _inside(
    tree: DependencyTree, head: TreebankWord, whole: Span, label: str
) -> Iterator[tuple[Span, str]]:
    """Phrases inside that of a word: without its case, its marker, its subject."""
    left = [each for each in tree.children(head.number) if each.number < head.number]
    for relations, of, made in (
        ({"case"}, ("PP",), "NP"),
        ({"mark"}, ("SBAR",), "S"),
        (_SUBJECTS, ("S", "SBAR"), "VP"),
    ):
        ends = [max(tree.subtree(each.number)) for each in left if each.relation in relations]
        if label in of and ends and whole.start < max(ends) < whole.end:
            yield Span(max(ends), whole.end), made


def _tags(tree: DependencyTree, coordinations: Sequence[Coordination]) -> tuple[str, ...]:
    """XPOS, or UPOS of a sentence without; as brackets have them of coordinators and marks."""
    tagged = all(word.xpos != ABSENT for word in tree.words)
    linking = {structure.coordinator for structure in coordinations}
    found = []
    for place, word in enumerate(tree.words):
        clear = "CC" if place in linking else UNTAGGED
        if _is_mark(word):
            clear = clear_tag(word.form)
        found.append(escape(word.xpos if tagged else word.upos) if clear == UNTAGGED else clear)
    return tuple(found)


def _bracketed(tree: DependencyTree, kept: Mapping[Span, str], tags: Sequence[str]) -> str:
    """The words from left to right, each with the brackets that open before it and close behind it."""
    opened: dict[int, list[str]] = {}
    closed = Counter[int]()
    for span in sorted(kept, key=lambda span: (span.start, -span.end)):
        opened.setdefault(span.start, []).append(f"({kept[span]} ")
        closed[span.end] += 1
    parts = [
        f"{''.join(opened.get(place, ()))}({tag} {escape(form)}){')' * closed[place + 1]}"
        for place, (tag, form) in enumerate(zip(tags, tree.forms, strict=True))
    ]
    return " ".join(parts)
