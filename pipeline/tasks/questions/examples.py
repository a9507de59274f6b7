"""Examples of questions: a context and choices, with the place of the right one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from pipeline.core.questions import EFFECT, Question

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionExample:
    """A question: its words are those of the context and then of each choice.

    ``ends`` has where each of these ends, ``answer`` is the place of the right choice. ``variant``: it was
    made of another example of its batch.
    """

    words: Words
    ends: tuple[int, ...]
    asks: str
    answer: int
    variant: bool = False

    @property
    def instances(self) -> int:
        """A question has one answer."""
        return 1

    @property
    def row(self) -> dict[str, int]:
        """Its answer, ``answer``."""
        return {"answer": self.answer}

    @property
    def context(self) -> Words:
        """The words of the context."""
        return self.words[: self.ends[0]]

    @property
    def choices(self) -> list[Words]:
        """The words of each choice."""
        return [self.words[start:end] for start, end in pairwise(self.ends)]

    def joined(self, others: Sequence[Self]) -> Self:
        """Itself: others of the same words have no other answer to learn from."""
        return self


def example_from(
    context: str, choices: Sequence[str], answer: int, asks: str = EFFECT
) -> QuestionExample:
    """The example of texts, whose words blanks divide."""
    words, ends = list[str](), []
    for text in (context, *choices):
        words += text.split()
        ends.append(len(words))
    return QuestionExample(tuple(words), tuple(ends), asks, answer)


def example_of(question: Question) -> QuestionExample:
    """The example of a question."""
    return example_from(question.context, question.choices, question.answer, question.asks)
