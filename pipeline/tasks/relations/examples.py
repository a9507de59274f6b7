"""Examples of relations: an argument pair with the senses that are right for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pipeline.core.pairs import Pair


@dataclass(frozen=True, slots=True)
class PairExample:
    """An argument pair: the first ``cut`` of its words are Arg1's, the others Arg2's.

    A pair of several senses is an instance for each of them. ``variant``: it was made of another example of
    its batch.
    """

    words: tuple[str, ...]
    cut: int
    senses: tuple[str, ...]
    variant: bool = False

    @property
    def instances(self) -> int:
        """Its senses."""
        return len(self.senses)

    @property
    def row(self) -> dict[str, str]:
        """Its sense, ``sense``."""
        return {"sense": self.senses[0]}

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words of either argument."""
        return self.words[: self.cut], self.words[self.cut :]

    def joined(self, others: Sequence[Self]) -> Self:
        """One example of the senses of several of the same pair."""
        every = (sense for each in (self, *others) for sense in each.senses)
        return replace(self, senses=tuple(dict.fromkeys(every)))


def example_of(pair: Pair) -> PairExample:
    """The example of a pair with all its senses."""
    return PairExample(pair.words, len(pair.words1), pair.senses)
