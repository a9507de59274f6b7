"""Two clauses that a causal or conditional connective joins, and nothing else in the sentence (§2.3.2).

The condition *Reliable*: where a sentence has only two clauses, it is unambiguous which ones a connective
joins. Of Japanese sentences with more the thesis takes the last two; English has no such order, so that they
are refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nltk.tree import Tree

from pipeline.tasks.questions.events import SUBJECT, Event, event_of
from pipeline.text.coordinations import UNTAGGED, is_worded
from pipeline.text.heads import FORMS_OF_BE
from pipeline.text.trees import base_label, is_tag, leaves, unescape

_CAUSES = frozenset({"because", "since", "if", "when"})
"""Connectives before the clause that is the cause or condition."""

_RESULTS = frozenset({"so", "therefore"})
"""Connectives before the clause that follows from the other."""

CONNECTIVES = _CAUSES | _RESULTS

LONGEST = 16
"""Words of a clause that is short."""

NO_TREE = "no tree"
NO_TAGS = "a tree without part-of-speech tags"
NO_STATEMENT = "a question, or no whole sentence"
NOT_JOINED = "no connective that joins two clauses"
MODIFIED = "a connective that says something else: even if, only when, so that"
OBJECT_CLAUSE = "a clause that is an object, or stands after be"
TEMPORAL = "a since that says since when"
MORE = "more than two clauses"
TOO_LONG = f"a clause of more than {LONGEST} words"
DEMONSTRATIVE = "a demonstrative in it"
NO_WORDS = "a number, a sign, a foreign word or a filler in it"
NO_EVENT = "a clause without a subject or a verb"

_DEMONSTRATIVES = frozenset({"this", "that", "these", "those", "here", "there", "such"})
_OPENERS = frozenset(
    {
        "however", "thus", "hence", "moreover", "also", "now", "then", "well", "so", "therefore",
        "furthermore", "similarly", "likewise", "finally", "still", "for example", "for instance",
        "in fact", "in addition", "in general", "in other words", "of course", "consequently",
        "conversely", "indeed", "additionally", "first", "second", "again", "instead",
    }
)  # fmt: skip
"""What links a sentence to the one before, and has no part in either clause."""

_THINKING = frozenset(
    {
        "ask", "asked", "asks", "wonder", "wondered", "know", "knows", "knew", "known", "see", "saw", "sees",
        "check", "tell", "told", "find", "found", "determine", "decide", "decided", "say", "said",
        "remember", "forget", "understand", "test", "care", "mind", "doubt", "guess", "explain", "show",
        "shows", "learn", "consider", "predict", "matter", "matters",
    }
)  # fmt: skip
"""Verbs whose object *if* or *when* may begin."""

_MARKS = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})
_NO_TAGS = frozenset(
    {UNTAGGED, "S", "SBAR", "SINV", "SQ", "VP", "NP", "NX", "PP", "ADJP", "ADVP", "PRT", "WHADVP"}
)
_CLAUSES = frozenset({"S", "SBAR", "SBARQ", "SINV", "SQ", "PRN", "FRAG", "RRC"})
_FINITE = frozenset({"MD", "VBD", "VBP", "VBZ"})
_WORDLESS = frozenset(
    {"CD", "FW", "UH", "SYM", "LS", "$", "#", "ADD", "``", "''", "-LRB-", "-RRB-", ":"}
)


@dataclass(frozen=True, slots=True)
class JoinedClauses:
    """Two clauses without the connective between them, the cause or condition first, with their events."""

    connective: str
    former: tuple[str, ...]
    latter: tuple[str, ...]
    former_event: Event
    latter_event: Event


class _NoPairError(Exception):
    """Why a sentence gives no pair."""


def joined_clauses(tree: Tree | None) -> JoinedClauses | str:
    """The two clauses of a sentence, or the reason why they are refused."""
    if tree is None:
        return NO_TREE
    if any(tag in _NO_TAGS for _, tag in tree.pos()):
        return NO_TAGS
    try:
        top = _statement(tree.copy(deep=True))
        connective, former, latter = _coordinated(top) or _subordinate(top)
        (words1, event1), (words2, event2) = _side(former), _side(latter)
    except _NoPairError as refused:
        return str(refused)
    return JoinedClauses(connective, words1, words2, event1, event2)


def _statement(tree: Tree) -> Tree:
    """The clause that is the whole sentence, without what stands at its edges."""
    top = tree
    while len(top) == 1 and not is_tag(top) and base_label(top.label()) != "S":
        top = top[0]
    if base_label(top.label()) != "S" or is_tag(top) or top.leaves()[-1] == "?":
        raise _NoPairError(NO_STATEMENT)
    _open(top)
    return top


_Found = tuple[str, Tree, Tree]
"""A connective, and the clauses, the cause or condition first."""


def first_connective(words: Sequence[str]) -> str | None:
    """The first connective of a sentence; a *since* only at its beginning, where it is mostly causal."""
    for place, word in enumerate(words):
        lower = word.lower()
        if lower in CONNECTIVES and (lower != "since" or place < _BEGINNING):
            return lower
    return None


_BEGINNING = 2  # words


def _open(top: Tree) -> None:
    """Take off what stands at the edges and belongs to no clause: linking words, and marks."""
    while len(top) > 1 and (
        _is_mark(top[0]) or top[0].label() in {"CC", "UH", "INTJ"} or _opens(top[0])
    ):
        del top[0]
    while len(top) > 1 and _is_mark(top[-1]):
        del top[-1]


def _opens(node: Tree) -> bool:
    return base_label(node.label()) in {"ADVP", "RB", "PP", "IN"} and _text(node) in _OPENERS


def _is_mark(node: Tree) -> bool:
    return is_tag(node) and (node.label() in _MARKS or not is_worded((node[0],)))


def _text(node: Tree) -> str:
    return " ".join(leaves(node)).lower()


def _coordinated(top: Tree) -> _Found | None:
    """Two clauses side by side, the second with *so* or *therefore*; None: it is no such sentence."""
    parts = [child for child in top if not _is_mark(child)]
    if len(parts) < 2 or base_label(parts[0].label()) != "S":
        return None
    former, *between, latter = parts
    said = {_text(each) for each in between} - {"and"}
    if base_label(latter.label()) == "SBAR" and not said and len(latter) > 1:
        if _text(latter[0]) not in _RESULTS:
            return None  # the clause before it stands in one of its own
        said, latter = {_text(each) for each in latter[:-1]}, latter[-1]
    elif not said and len(latter) > 1 and _text(latter[0]) in _RESULTS:
        said = {_text(latter[0])}
        del latter[0]
    if len(said) != 1 or not said <= _RESULTS or base_label(latter.label()) != "S":
        clauses = sum(base_label(each.label()) in _CLAUSES for each in parts)
        raise _NoPairError(MORE if clauses > 2 else NOT_JOINED)
    return said.pop(), former, latter


def _subordinate(top: Tree) -> _Found:
    """A clause, and one that a connective makes a part of it, at its beginning or end."""
    places = _subordinates(top)
    if len(places) != 1:
        raise _NoPairError(MORE if places else NOT_JOINED)
    parent, place = places[0]
    part = parent[place]
    *before, clause = part
    connective = _text(before[-1])
    inside = {id(each) for each in part.subtrees(is_tag)}
    order = [id(each) in inside for each in top.subtrees(is_tag) if not _is_mark(each)]
    last, result = order[-1], connective in _RESULTS
    within = sum(one != other for one, other in pairwise(order)) != 1
    # A since at the end mostly says since when; and what a so at the beginning follows from was said before.
    if within or (connective == "since" if last else result):
        raise _NoPairError(NOT_JOINED)
    if len(before) > 1 or (result and _is_purpose(clause)):
        raise _NoPairError(MODIFIED)
    if base_label(clause.label()) != "S":
        raise _NoPairError(NO_EVENT)
    if last and place and _is_object(parent[place - 1], connective):
        raise _NoPairError(OBJECT_CLAUSE)
    del parent[place]
    _open(top)
    main = top[0] if len(top) == 1 and base_label(top[0].label()) == "S" else top
    if connective == "since" and _is_perfect(main):
        raise _NoPairError(TEMPORAL)
    return (connective, main, clause) if result else (connective, clause, main)


def _subordinates(top: Tree) -> list[tuple[Tree, int]]:
    """Where clauses with a connective stand on the way from the sentence down to its main verb."""
    found, node = list[tuple[Tree, int]](), top
    while True:
        for place, child in enumerate(node):
            begins = (
                [_text(each) for each in child[:-1]] if base_label(child.label()) == "SBAR" else []
            )
            if not CONNECTIVES.isdisjoint(begins):
                found.append((node, place))
        below = [child for child in node if base_label(child.label()) in {"VP", "S"}]
        if len(below) != 1 or (node is not top and base_label(below[0].label()) == "S"):
            return found
        node = below[0]


def _is_object(before: Tree, connective: str) -> bool:
    """Whether a clause stands right after a verb whose object it may be, or after a form of *be*."""
    verb = unescape(before[0]).lower().replace("’", "'") if is_tag(before) else ""
    return verb in FORMS_OF_BE or (connective in {"if", "when"} and verb in _THINKING)


def _is_perfect(clause: Tree) -> bool:
    words = [word.lower() for word in leaves(clause)]
    return any(word in {"has", "have", "'ve", "’ve"} for word in words) and "VBN" in _tags(clause)


def _is_purpose(clause: Tree) -> bool:
    """Whether a clause after *so* says what may be, which is mostly meant: *so he could see*."""
    return any(word.lower() in {"can", "ca", "could", "may", "might"} for word in leaves(clause))


def _tags(tree: Tree) -> list[str]:
    return [tag for _, tag in tree.pos()]


def _side(clause: Tree) -> tuple[tuple[str, ...], Event]:
    """The words and the event of a clause."""
    _open(clause)
    words = leaves(clause)
    while words and not is_worded((words[-1],)):
        words.pop()
    for reason, holds in _REASONS:
        if holds(clause):
            raise _NoPairError(reason)
    event = event_of(clause)
    if event is None or all(each.role != SUBJECT for each in event.arguments):
        raise _NoPairError(NO_EVENT)
    return tuple(words), event


def _has_clause(clause: Tree) -> bool:
    """Whether there is a further clause with a finite verb in it, or two coordinated ones."""
    for node in clause.subtrees(lambda each: not is_tag(each)):
        label = base_label(node.label())
        inner = [base_label(child.label()) for child in node]
        if label in {"VP", "S"} and (inner.count("VP") > 1 or inner.count("S") > 1):
            return True
        if label == "VP" and sum(tag in _FINITE for tag in inner) > 1:
            return True
        if node is clause or label not in _CLAUSES:
            continue
        if label != "S" or any(tag in _FINITE for tag in _tags(node)):
            return True
    return False


def _has_demonstrative(clause: Tree) -> bool:
    return any(
        word.lower() in _DEMONSTRATIVES and tag not in {"IN", "WDT", "EX"}
        for word, tag in clause.pos()
    )


def _has_no_words(clause: Tree) -> bool:
    return any(
        tag in _WORDLESS
        or any(map(str.isdigit, word))
        or (tag not in _MARKS and not is_worded((word,)))
        for word, tag in clause.pos()
        if tag not in {"HYPH", "POS"}
    )


_REASONS: tuple[tuple[str, Callable[[Tree], bool]], ...] = (
    (MORE, _has_clause),
    (TOO_LONG, lambda clause: len(clause.leaves()) > LONGEST),
    (DEMONSTRATIVE, _has_demonstrative),
    (NO_WORDS, _has_no_words),
)
"""Reasons why a clause is refused, in the order in which they are asked."""
