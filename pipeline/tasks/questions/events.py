"""Events: what a clause says happens or holds, as its predicate with its arguments (thesis, §2.3.1, §2.3.2).

An event is read off a clause of a phrase-structure tree with tags. The thesis has KNP's predicate-argument
structures of Japanese; here cases are the subject, the object, and the prepositions.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nltk.tree import Tree

from pipeline.core.types import NEGATIONS
from pipeline.text.heads import FORMS_OF_BE
from pipeline.text.stems import stem
from pipeline.text.trees import base_label, is_tag, leaves, unescape

SUBJECT, OBJECT = "subject", "object"

_GET = frozenset({"get", "gets", "got", "getting", "gotten"})
_SEMI_MODAL = frozenset({"going", "gon", "have", "has", "had", "having", "used", "ought"})
"""Verbs that say of an infinitive when, or that it must be: *is going to rain* is about raining."""

_TIMES = frozenset(
    {"today", "yesterday", "tomorrow", "day", "night", "morning", "week", "month", "year", "time", "times"}
)  # fmt: skip
"""Heads of noun phrases behind an object that say when."""

_VERBS = ("VB", "MD", "TO")
_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS", "PRP", "CD", "EX", "FW", "VBG"})
_ADJECTIVES = frozenset({"JJ", "JJR", "JJS", "VBN", "VBG", "VBD"})
_ELLIPTIC = frozenset({"do", "want", "like", "wish"})
"""Verbs without an object where what is done, or wanted, stands in the clause before."""


@dataclass(frozen=True, slots=True)
class EventArgument:
    """A word in a role: ``subject``, ``object``, ``indirect``, ``complement``, a preposition, or ``to``."""

    role: str
    head: str


@dataclass(frozen=True, slots=True)
class Event:
    """A predicate with its arguments, in the order of the text.

    Attributes:
        predicate: stem of the verb, with its particle: ``break down``; of a state *be* and the stem of the
            adjective or noun: ``be hungri``.
        negated: whether a word of the clause denies it.
        passive: whether the verb is in the passive voice.
        arguments: heads in lower case, but for names and *I*.
    """

    predicate: str
    negated: bool
    passive: bool
    arguments: tuple[EventArgument, ...]


Predicates = tuple[str, bool, str, bool]


def predicates_of(former: Event, latter: Event) -> Predicates:
    """What two pairs of events have alike if one can contain the other: predicates, and whether negated."""
    return former.predicate, former.negated, latter.predicate, latter.negated


def event_text(event: Event) -> str:
    """An event as a person reads it: ``not break(subject glass, on impact)``."""
    marks = ("not " if event.negated else "") + ("passive " if event.passive else "")
    inside = ", ".join(f"{each.role} {each.head}" for each in event.arguments)
    return f"{marks}{event.predicate}({inside})"


_SHOWN = re.compile(r"(not )?(passive )?([^()]+)\(([^()]*)\)")


def event_from(text: str) -> Event | None:
    """The event that ``event_text`` wrote so; None: it wrote nothing so that can be read again."""
    found = _SHOWN.fullmatch(text)
    parts = [part.rpartition(" ") for part in found[4].split(", ") if part] if found else []
    if not found or any(not role or not head for role, _, head in parts):
        return None
    arguments = tuple(EventArgument(role, head) for role, _, head in parts)
    return Event(found[3], found[1] is not None, found[2] is not None, arguments)


def event_of(clause: Tree) -> Event | None:
    """The event of a clause.

    Args:
        clause: a constituent ``S`` with one verb phrase, whose leaves have part-of-speech tags.

    Returns:
        None: it has no verb phrase, or several that are coordinated, or a verb is left out (*if they do*).
    """
    phrases = [place for place, child in enumerate(clause) if base_label(child.label()) == "VP"]
    if len(phrases) != 1:
        return None
    chain = _verbs(clause[phrases[0]])
    if chain is None:
        return None
    verbs, rest = chain
    verb, tag = verbs[-1]
    negated = not NEGATIONS.isdisjoint(map(_plain, leaves(clause)))
    found = list(_of_clause(list(clause)[: phrases[0]]))
    if verb in FORMS_OF_BE:
        return _state(negated, found, rest)
    if tag in {"MD", "TO"}:
        return None
    passive = tag not in {"VB", "VBG"} and any(word in FORMS_OF_BE | _GET for word, _ in verbs[:-1])
    particles = "".join(f" {_plain(child.leaves()[0])}" for child in rest if child.label() == "PRT")
    found += _arguments(rest)
    if stem(verb) in _ELLIPTIC and {each.role for each in found} <= {SUBJECT}:
        return None
    return Event(stem(verb) + particles, negated, passive, tuple(found))


def _plain(word: str) -> str:
    return unescape(word).lower().replace("’", "'")


def _verbs(phrase: Tree) -> tuple[list[tuple[str, str]], list[Tree]] | None:
    """The verbs of a verb phrase and of those in it, and what else they have below them.

    None: verb phrases are coordinated, or there is no verb.
    """
    found: list[tuple[str, str]] = []
    rest: list[Tree] = []
    while True:
        inner = [child for child in phrase if base_label(child.label()) == "VP"]
        tags = [child for child in phrase if is_tag(child)]
        known = [child for child in tags if child.label().startswith(_VERBS)]
        if not known and not inner:  # the tagger took the verb for a noun: "(VP (NNS rises))"
            known = [child for child in tags if child.label() not in {"RB", "CC", ",", "RP"}][:1]
        own = [(_plain(child[0]), child.label()) for child in known]
        if len(own) > 1 and any(child.label() == "CC" for child in tags):
            return None
        found += own
        rest += [child for child in phrase if base_label(child.label()) != "VP"]
        if len(inner) > 1:
            return None
        if not inner and found and found[-1][0] in _SEMI_MODAL:
            for child in phrase:
                inner += [child[0]] if _is_infinitive(child) else []
            rest = [child for child in rest if not _is_infinitive(child)] if inner else rest
        if not inner:
            return (found, rest) if found else None
        phrase = inner[0]


def _is_infinitive(node: Tree) -> bool:
    """Whether a constituent is a clause that has nothing but an infinitive with *to*."""
    return (
        base_label(node.label()) == "S"
        and len(node) == 1
        and base_label(node[0].label()) == "VP"
        and node.pos()[0][1] == "TO"
    )


def _of_clause(before: Sequence[Tree]) -> Iterator[EventArgument]:
    """The arguments that stand before the verb phrase: prepositional ones, and the last noun phrase."""
    yield from _prepositional(before)
    subjects = [child for child in before if base_label(child.label()) == "NP"]
    if subjects:
        yield EventArgument(SUBJECT, head_of(subjects[-1]))


def _state(negated: bool, before: list[EventArgument], rest: Sequence[Tree]) -> Event | None:
    """What a form of *be* says: that something is so, or one, or is there; None: no more than *it is*."""
    found = [*before, *_prepositional(rest)]
    for child in rest:
        label = base_label(child.label())
        if label == "NP" and EventArgument(SUBJECT, "there") in before:
            there = [
                EventArgument(SUBJECT, head_of(child)) if a.head == "there" else a for a in found
            ]
            return Event("be", negated, False, tuple(there))
        if label in {"ADJP", "NP"} or label.startswith("JJ"):
            inside = _prepositional(child) if label == "ADJP" else ()
            return Event(f"be {stem(head_of(child))}", negated, False, (*found, *inside))
    return Event("be", negated, False, tuple(found)) if len(found) > 1 else None


def _arguments(rest: Sequence[Tree]) -> Iterator[EventArgument]:
    """The arguments behind a verb other than *be*."""
    nouns = [child for child in rest if base_label(child.label()) == "NP"]
    if len(nouns) > 1 and head_of(nouns[-1]).lower() in _TIMES:
        nouns.pop()
    roles = ["indirect", OBJECT] if len(nouns) > 1 else [OBJECT]
    yield from (
        EventArgument(role, head_of(noun)) for role, noun in zip(roles, nouns, strict=False)
    )
    yield from (
        EventArgument("complement", head_of(c)) for c in rest if base_label(c.label()) == "ADJP"
    )
    for child in rest:
        if _is_infinitive(child) and (chain := _verbs(child[0])):
            yield EventArgument("to", chain[0][-1][0])
    yield from _prepositional(rest)


def _prepositional(nodes: Sequence[Tree]) -> Iterator[EventArgument]:
    for node in nodes:
        if base_label(node.label()) != "PP":
            continue
        before: list[str] = []
        for part in node.subtrees(lambda each: is_tag(each) or base_label(each.label()) == "NP"):
            if base_label(part.label()) == "NP":
                if before:
                    yield EventArgument(" ".join(before), head_of(part))
                break
            if part.label() not in {"IN", "TO", "RP"}:
                break
            before.append(_plain(part[0]))


def head_of(node: Tree) -> str:
    """The head word of a noun or adjective phrase: of two in one the first, in lower case but for names."""
    while not is_tag(node):
        labels = {"ADJP"} if base_label(node.label()) == "ADJP" else {"NP", "NX"}
        inner = [child for child in node if base_label(child.label()) in labels]
        tags = [child for child in node if is_tag(child)]
        kinds = _ADJECTIVES if base_label(node.label()) == "ADJP" else _NOUNS
        known = [child for child in tags if child.label() in kinds]
        if len(known) > 1 and any(each.label() == "CC" for each in tags):
            known = known[:1]
        possessor = bool(inner) and inner[0].pos()[-1][1] == "POS"
        if known and (possessor or not inner or base_label(node.label()) == "ADJP"):
            node = known[-1]
        elif inner:
            node = inner[-1] if possessor else inner[0]
        else:
            node = tags[-1] if tags else node[-1]
    word = unescape(node[0])
    keep = node.label().startswith("NNP") or word == "I"
    return word if keep else _plain(word)
