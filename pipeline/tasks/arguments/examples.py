"""Examples of arguments: a sentence with one of its predicates, and the words that fill its roles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pipeline.core.predicates import ROLES
from pipeline.core.types import Span
from pipeline.tasks.arguments.predicates import Clause

NONE = len(ROLES)
"""The label of a word that fills no role; those of the roles are their places in ``ROLES``."""


@dataclass(frozen=True, slots=True)
class ArgumentExample:
    """A sentence and a predicate of it.

    Attributes:
        words: of the sentence.
        predicate: number of the predicate's word.
        predicates: numbers of all predicates' words, this one's among them.
        phrase: the predicate's own bunsetsu, whose words cannot be chosen.
        fillers: of each role of ``ROLES`` the words that fill it, any of which is right.
        variant: it was made of another example of its batch, and is encoded by itself.
    """

    words: tuple[str, ...]
    predicate: int
    predicates: tuple[int, ...]
    phrase: Span
    fillers: tuple[tuple[int, ...], ...]
    variant: bool = False

    @property
    def instances(self) -> int:
        """A predicate is one term of the loss, however many words are labelled for it."""
        return 1

    @property
    def row(self) -> dict[str, int | None]:
        """The first filler of each role, by its name."""
        return {
            role.lower(): own[0] if own else None
            for role, own in zip(ROLES, self.fillers, strict=True)
        }

    @property
    def labels(self) -> list[int]:
        """The label of each word; one that fills several roles has that of the first of ``ROLES``."""
        found = [NONE] * len(self.words)
        for role in reversed(range(len(ROLES))):
            for word in self.fillers[role]:
                found[word] = role
        return found

    def joined(self, others: Sequence[Self]) -> Self:
        """One example of this and others of the very same words: the arguments that any of them has."""
        every = [self, *others]
        fillers = (
            tuple(dict.fromkeys(word for each in every for word in each.fillers[role]))
            for role in range(len(ROLES))
        )
        return replace(self, fillers=tuple(fillers))


def example_of(clause: Clause) -> ArgumentExample:
    """The example of a predicate with all its arguments."""
    own = {each.role: each.fillers for each in clause.predicate.arguments}
    return ArgumentExample(
        clause.words,
        clause.predicate.predicate,
        clause.predicates,
        clause.predicate.phrase,
        tuple(own.get(role, ()) for role in ROLES),
    )
