"""How the clauses of event pairs are written in a question."""

from collections.abc import Iterable, Sequence

from pipeline.tasks.questions.pairs import EventPair
from pipeline.text.natural import join_words

_BEFORE_CAUSE = {"so": "because", "therefore": "because"}
"""Connectives that stand before the effect, and what stands before the cause instead."""


class Wording:
    """Writes clauses alike, wherever in their sentence they stood.

    Else a capital letter would tell which choice stood at the beginning of one. So the first word of a clause
    loses its own, unless it has it within clauses, too, and is there never without.

    Args:
        pairs: all there are.
    """

    def __init__(self, pairs: Iterable[EventPair]) -> None:
        within = {
            word for pair in pairs for side in (pair.former, pair.latter) for word in side[1:]
        }
        self._names = {word for word in within if word.lower() not in within} | {"I"}

    def clause(self, words: Sequence[str]) -> str:
        """A clause as natural text."""
        first = words[0]
        if first[:1].isupper() and first[1:] == first[1:].lower() and first not in self._names:
            words = [first.lower(), *words[1:]]
        return join_words(words).text

    def context(self, pair: EventPair) -> str:
        """The former clause with the connective before it: ``because it rained``, ``if it rains``."""
        connective = pair.connective.lower()
        return f"{_BEFORE_CAUSE.get(connective, connective)} {self.clause(pair.former)}"
