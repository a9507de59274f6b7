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


def agreement_marks(tree: DependencyTree) -> list[str]:
    """Of each word how far away its head is, its UPOS and what conjuncts agree in: ``-2 NOUN Case=Gen``.

    The root's head is 0 words away.
    """
    marks = []
    for word in tree.words:
        features = () if word.feats == ABSENT else word.feats.split("|")
        agreeing = _AGREEING.get(word.upos, ())
        own = (each for each in features if each.partition("=")[0] in agreeing)
        away = word.head - word.number if word.head else 0
        marks.append(" ".join([str(away), word.upos, *own]))
    return marks


def agreement(marks: Sequence[str]) -> str:
    """The part of speech and features of a constituent's head: its first word whose head is none of it.

    Args:
        marks: of its words, as of ``agreement_marks``; not empty.
    """
    for place, mark in enumerate(marks):
        away, _, own = mark.partition(" ")
        above = place + int(away)
        if above == place or not 0 <= above < len(marks):
            return own
    return marks[0].partition(" ")[2]  # no tree has it
