"""Memoised recognition with coordination: the part of the oracle that is independent of the grammar.

``ends(symbol, i)`` maps each end of a phrase that begins at word ``i`` to a bit set that says what
the phrase may be (its *signs*). Coordinating phrases intersects their signs. One coordinator can be
pinned to given conjuncts: then it coordinates these and nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, TypeAlias

from pipeline.core.types import Span

Ends: TypeAlias = dict[int, int]

_COORDINATORS = frozenset({"and", "or", "but"})
_WITH_COMMA = frozenset({"S", "SBAR"})  # of these the grammar also makes "A , and B"


@dataclass(frozen=True, eq=False, slots=True)
class Symbol:
    """A nonterminal; ``label`` says which coordinators it takes and whether a comma may precede."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Pin:
    """The coordinator at word ``coordinator`` shall link exactly ``conjuncts``."""

    coordinator: int
    conjuncts: tuple[Span, ...]


def join(ends: Ends, end: int, signs: int) -> None:
    """Add one more way to reach ``end``; without signs there is no phrase."""
    if signs:
        ends[end] = ends.get(end, 0) | signs


def union(pairs: Iterable[tuple[int, int]]) -> Ends:
    """The ends of all (end, signs), joined."""
    found: Ends = {}
    for end, signs in pairs:
        join(found, end, signs)
    return found


class Chart:
    """Recognition of one sentence.

    Args:
        words: the words, as the rules know them.
        coordinators: label → words that coordinate phrases of this label.
        pin: the coordinator with given conjuncts, if any.
    """

    rules: ClassVar[Mapping[Symbol, Callable[..., Ends]]]
    """Symbol → method that finds its uncoordinated phrases."""

    joins: ClassVar[Mapping[Symbol, Callable[..., int]]]
    """Symbol → method (coordinator, signs, signs) → signs; where absent, the intersection."""

    def __init__(
        self, words: Sequence[str], coordinators: Mapping[str, frozenset[str]], pin: Pin | None
    ) -> None:
        self.words = (*words, "", "")  # rules may look two words ahead
        self._coordinators = coordinators
        self._pin = pin
        self._pinned = pin.coordinator if pin else -1
        places = [i for i, word in enumerate(words) if word in _COORDINATORS]
        self._last = places[-1] if places else -1
        self._memo: dict[Symbol, dict[int, Ends]] = {symbol: {} for symbol in self.rules}

    def ends(self, symbol: Symbol, begin: int) -> Ends:
        """Where phrases of this kind that begin at word ``begin`` may end, with their signs."""
        memo = self._memo[symbol]
        found = memo.get(begin)
        if found is None:
            found = self.rules[symbol](self, begin)
            if found and begin < self._last:
                self._coordinate(symbol, begin, found)
            memo[begin] = found
        return found

    def _coordinate(self, symbol: Symbol, begin: int, ends: Ends) -> None:
        """Add coordinations to the phrases in ``ends``, and coordinations of those."""
        agenda = list(ends.items())
        while agenda:
            end, signs = agenda.pop()
            for further, gained in self._linked(symbol, begin, end, signs):
                new = gained & ~ends.get(further, 0)
                if new:
                    ends[further] = ends.get(further, 0) | new
                    agenda.append((further, new))

    def _linked(
        self, symbol: Symbol, begin: int, end: int, signs: int
    ) -> Iterator[tuple[int, int]]:
        """Coordinations whose first conjunct is the phrase from ``begin`` to ``end``."""
        word = self.words[end]
        if word not in _COORDINATORS and word != ",":
            return
        if self._pin and self._pin.conjuncts[0] == Span(begin, end):
            yield from self._pinned_link(symbol, signs, self._pin)
        if word != ",":
            yield from self._second(symbol, end, signs)
        elif self.words[end + 1] in _COORDINATORS:
            if symbol.label in _WITH_COMMA:
                yield from self._second(symbol, end + 1, signs)
        else:
            for middle, own in list(self.ends(symbol, end + 1).items()):
                if self.words[middle] in {"and", "or"}:
                    both = self._join(symbol, self.words[middle], signs, own)
                    yield from self._second(symbol, middle, both)

    def _second(self, symbol: Symbol, at: int, signs: int) -> Iterator[tuple[int, int]]:
        """Coordinations by the word ``at`` of phrases with ``signs`` and what comes after it."""
        word = self.words[at]
        if at != self._pinned and signs and word in self._coordinators[symbol.label]:
            for end, own in list(self.ends(symbol, at + 1).items()):
                yield end, self._join(symbol, word, signs, own)

    def _pinned_link(self, symbol: Symbol, signs: int, pin: Pin) -> Iterator[tuple[int, int]]:
        word = self.words[pin.coordinator]
        if word not in self._coordinators[symbol.label] or not self._well_separated(symbol, pin):
            return
        for span in pin.conjuncts[1:]:
            own = self.ends(symbol, span.start).get(span.end)
            signs = self._join(symbol, word, signs, own) if own else 0
            if not signs:
                return
        yield pin.conjuncts[-1].end, signs

    def _well_separated(self, symbol: Symbol, pin: Pin) -> bool:
        spans, word = pin.conjuncts, self.words[pin.coordinator]
        between = [list(self.words[a.end : b.start]) for a, b in pairwise(spans)]
        if len(spans) > 2:
            return word != "but" and between == [*[[","]] * (len(spans) - 2), [word]]
        return between[0] == [word] or (
            symbol.label in _WITH_COMMA and between[0] == [",", word]
        )  # fmt: skip

    def _join(self, symbol: Symbol, word: str, left: int, right: int) -> int:
        special = self.joins.get(symbol)
        return special(self, word, left, right) if special else left & right
