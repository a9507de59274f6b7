"""Clauses whose verb can be left out, in constituency trees: "Mary won gold and Peter ~~won~~ bronze".

The rule is that of ``ellipsis/gap/rules.py`` for dependency trees, as far as Penn trees with tags tell it: a
subject, one group of verbs, and something that stays besides. Whoever pairs two such clauses holds their
subjects against each other (``same_subject``).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nltk.tree import Tree

from pipeline.core.types import NEGATIONS, Span
from pipeline.text.heads import FORMS_OF_BE
from pipeline.text.trees import base_label, constituents_of, is_tag

CLAUSE = "S"
"""The label of a clause."""

OTHER_PARTS = "not just a subject and a verb phrase"
NO_VERB = "no finite verb, or words among the verbs"
COPULA = "a form of be alone"
PASSIVE = "passive"
NEGATED = "negated"
CLAUSE_BELOW = "a clause below it"
TOO_LITTLE = "nothing would stay beside the subject"
PRONOUN = "a pronoun would stay as object"
QUESTION = "a question or relative word"
THERE = "there as subject"

_VERBS = ("VB", "MD", "TO")
_FINITE = frozenset({"MD", "VBD", "VBP", "VBZ"})
_CLAUSES = frozenset({"S", "SBAR", "SBARQ", "SINV", "SQ", "VP"})
_STAYING = frozenset({"NP", "PP", "ADVP", "ADJP", "QP"})


@dataclass(frozen=True, slots=True)
class GappableClause:
    """A clause whose verb can be left out: words of the sentence it stands in.

    Attributes:
        span: all of it.
        verbs: auxiliaries, verb and particle, behind the subject and before what stays.
        staying: labels of what stays behind them. Where a clause lacks its verb, English wants them to be
            those of the clause before.
    """

    span: Span
    verbs: Span
    staying: tuple[str, ...]


def clauses_in(tree: Tree) -> Iterator[tuple[Span, GappableClause | str]]:
    """Each constituent ``S`` of a tree with tags, with the reason where its verb must stay."""
    for node, spans in constituents_of(tree):
        if base_label(node.label()) == CLAUSE:
            span = Span(spans[0].start, spans[-1].end)
            yield span, _clause(node, spans)


def same_subject(one: Sequence[str], other: Sequence[str], subject: int) -> bool:
    """Whether two clauses begin with the same words but for case, of which English drops the second.

    Args:
        one: words of the first clause.
        other: words of the second.
        subject: how many of these are its subject.
    """
    return [w.lower() for w in one[:subject]] == [w.lower() for w in other[:subject]]


def _clause(node: Tree, spans: Sequence[Span]) -> GappableClause | str:
    """The clause that a constituent is, or why it is none."""
    if [base_label(child.label()) for child in node] != ["NP", "VP"]:
        return OTHER_PARTS
    parts = _Parts(node)
    if reason := next((why for why, holds in _REASONS if holds(parts)), None):
        return reason
    start = spans[1].start
    verbs = Span(start, start + len(parts.verbs) + len(parts.particle))
    staying = tuple(base_label(child.label()) for child in parts.rest)
    return GappableClause(Span(spans[0].start, spans[-1].end), verbs, staying)


class _Parts:
    """A subject and a verb phrase, taken apart: verbs, particle, and what stays."""

    def __init__(self, node: Tree) -> None:
        _, phrase = node
        words, tags = zip(*node.pos(), strict=True)
        self.words: tuple[str, ...] = words
        self.tags: tuple[str, ...] = tags
        self.verbs, self.rest = _verbs(phrase)
        self.particle: list[str] = []  # of a verb such as "give up"
        if self.rest and base_label(self.rest[0].label()) == "PRT":
            self.particle = self.rest.pop(0).leaves()

    def question(self) -> bool:
        return any(tag.startswith("W") for tag in self.tags)

    def there(self) -> bool:
        return self.tags[0] == "EX"

    def negated(self) -> bool:
        return not NEGATIONS.isdisjoint(word.lower() for word in self.words)

    def no_verb(self) -> bool:
        return not self.verbs or self.verbs[0][1] not in _FINITE or self.verbs[-1][1] == "MD"

    def copula(self) -> bool:
        return self.verbs[-1][0].lower() in FORMS_OF_BE

    def passive(self) -> bool:
        *auxiliaries, (_, tag) = self.verbs
        return tag == "VBN" and any(word.lower() in FORMS_OF_BE for word, _ in auxiliaries)

    def clause_below(self) -> bool:
        return any(base_label(c.label()) in _CLAUSES for part in self.rest for c in part.subtrees())

    def too_little(self) -> bool:
        return not self.rest

    def other_parts(self) -> bool:
        return any(base_label(child.label()) not in _STAYING for child in self.rest)

    def pronoun(self) -> bool:
        return any([tag for _, tag in child.pos()] == ["PRP"] for child in self.rest)


_REASONS: tuple[tuple[str, Callable[[_Parts], bool]], ...] = (
    (QUESTION, _Parts.question),
    (THERE, _Parts.there),
    (NEGATED, _Parts.negated),
    (NO_VERB, _Parts.no_verb),
    (COPULA, _Parts.copula),
    (PASSIVE, _Parts.passive),
    (CLAUSE_BELOW, _Parts.clause_below),
    (TOO_LITTLE, _Parts.too_little),
    (OTHER_PARTS, _Parts.other_parts),
    (PRONOUN, _Parts.pronoun),
)
"""Reasons why a verb stays, in the order in which they are asked; the first that holds is given."""


def _verbs(phrase: Tree) -> tuple[list[tuple[str, str]], list[Tree]]:
    """The verbs at the beginning of a verb phrase, through those within, and what follows the last."""
    found: list[tuple[str, str]] = []
    while True:
        children = list(phrase)
        while children and is_tag(children[0]) and children[0].label().startswith(_VERBS):
            verb = children.pop(0)
            found.append((verb[0], verb.label()))
        if len(children) != 1 or base_label(children[0].label()) != "VP":
            return found, children
        phrase = children[0]
