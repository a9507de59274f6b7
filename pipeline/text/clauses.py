"""How the clauses that a connective joins are written, wherever in their sentence they stood."""

from collections.abc import Iterable, Sequence

from pipeline.text.natural import join_words

_BEFORE_CAUSE = {"so": "because", "therefore": "because"}
"""Connectives that stand before the effect, and what stands before the cause instead."""


def clause_text(words: Sequence[str], *, lowered: bool) -> str:
    """A clause as natural text.

    Args:
        words: its own, at least one.
        lowered: whether the first of them loses its capital.
    """
    first, *rest = words
    return join_words([first.lower() if lowered else first, *rest]).text


def context_text(connective: str, clause: str) -> str:
    """A clause that is a cause or condition with its connective: ``because it rained``, ``if it rains``."""
    known = connective.lower()
    return f"{_BEFORE_CAUSE.get(known, known)} {clause}"


class ClauseWording:
    """Writes clauses alike.

    Else a capital letter would tell which choice stood at the beginning of a sentence. So the first word of a
    clause loses its own, unless it has it within clauses, too, and is there never without.

    Args:
        clauses: the words of all there are.
    """

    def __init__(self, clauses: Iterable[Sequence[str]]) -> None:
        within = {word for clause in clauses for word in clause[1:]}
        self._names = {word for word in within if word.lower() not in within} | {"I"}

    def lowers(self, words: Sequence[str]) -> bool:
        """Whether the first word of a clause loses its capital."""
        first = words[0]
        capital = first[:1].isupper() and first[1:] == first[1:].lower()
        return capital and first not in self._names

    def clause(self, words: Sequence[str]) -> str:
        """A clause as natural text."""
        return clause_text(words, lowered=self.lowers(words))
