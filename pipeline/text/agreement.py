"""What conjuncts agree in beside their label, as a dependency tree tells it: in any language."""

from collections.abc import Sequence

from pipeline.text.dependencies import ABSENT, DependencyTree

_NOMINAL = ("Case",)
_ADJECTIVAL = ("Case", "Gender", "Number")
_VERBAL = ("VerbForm", "Mood", "Tense", "Person", "Number")
_AGREEING = {
    "NOUN": _NOMINAL, "PROPN": _NOMINAL, "PRON": _NOMINAL, "NUM": _NOMINAL,
    "ADJ": _ADJECTIVAL, "DET": _ADJECTIVAL,
    "VERB": _VERBAL, "AUX": _VERBAL,
}  # fmt: skip
"""By part of speech, the features of Universal Dependencies that conjuncts agree in.

A noun's number and gender are not among them (*a dog and two cats*), an adjective's are, since both modify
one noun; verbs share a subject, and a participle stands beside no finite verb.
"""

_CLAUSES = ("S", "SBAR")
_OF_SUBJECT = ("Person", "Number")
"""What a clause, which has its own subject, need not agree in."""

_FORMING = ("aux", "cop")
"""Relations of the words that have a verb phrase's form in place of its head: *has* of *has seen*."""

_MARKING = "mark"
"""Relation of what tells an infinitive and a subordinate clause from others: *to* of *to sing*."""


def agreement_marks(tree: DependencyTree) -> list[str]:
    """What each word tells of constituents that it heads, or helps to form.

    Returns:
        Of each word how far away its head is (the root's 0 words), its relation, its UPOS, and what conjuncts
        agree in: ``-2 obj NOUN Case=Gen``.
    """
    marks = []
    for word in tree.words:
        features = () if word.feats == ABSENT else word.feats.split("|")
        agreeing = _AGREEING.get(word.upos, ())
        own = (each for each in features if each.partition("=")[0] in agreeing)
        away = word.head - word.number if word.head else 0
        marks.append(" ".join([str(away), word.relation, word.upos, *own]))
    return marks


def agreement(label: str, marks: Sequence[str]) -> str:
    """What the conjuncts beside a constituent must have, too: part of speech and features of its head.

    The head is its first word whose own head is none of it. What an auxiliary or copula of the head's says
    counts in place of the head's features, and whether something marks it.

    Args:
        label: of the constituent.
        marks: of its words, as of ``agreement_marks``; not empty.
    """
    words = [mark.split(" ") for mark in marks]
    above = [place + int(away) for place, (away, *_) in enumerate(words)]
    outside = (n for n, at in enumerate(above) if at == n or not 0 <= at < len(marks))
    head = next(outside, 0)
    below = [
        own for at, own in zip(above, words, strict=True) if at == head and own is not words[head]
    ]
    form = next((own for own in below if own[1] in _FORMING), words[head])
    left_out = _OF_SUBJECT if label in _CLAUSES else ()
    features = [each for each in form[3:] if each.partition("=")[0] not in left_out]
    formed = [] if form is words[head] else [form[1]]
    marked = [_MARKING] if any(own[1] == _MARKING for own in below) else []
    return " ".join([words[head][2], *formed, *marked, *features])
