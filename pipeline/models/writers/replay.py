"""Completions of an earlier run, without its server."""

from collections.abc import Sequence

from pipeline.core.errors import InputError
from pipeline.models.writers.kept import EarlierAnswers
from pipeline.models.writers.protocol import (
    Prompt,
    Sampling,
    TextScore,
    WrittenAnswer,
    measured,
    question_of,
    text_question_of,
)


class ReplayWriter:
    """What a model once answered to these very prompts.

    Args:
        kept: its answers.
        model: the name under which it answered.
        sampling: as of then.
    """

    def __init__(self, kept: EarlierAnswers, model: str, sampling: Sampling) -> None:
        self._kept, self._model, self._sampling = kept, model, sampling

    def begin_unit(self, name: str) -> None:
        """See ``EarlierAnswers``."""
        self._kept.begin_unit(name)

    def complete(self, prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
        """See ``Writer``.

        Raises:
            InputError: one was never asked.
        """
        found = []
        for prompt in prompts:
            answer = self._kept.answer(question_of(self._model, self._sampling, prompt))
            if answer is None:
                raise _unknown("completion")
            found.append(measured(prompt, answer))
        return found

    def scored(self, texts: Sequence[str]) -> list[TextScore | None]:
        """The score of each text, in their order; None where none came.

        Raises:
            InputError: one was never asked for.
        """
        questions = [text_question_of(self._model, text) for text in texts]
        if not all(question in self._kept for question in questions):
            raise _unknown("score of a text")
        return [self._kept.score(question) for question in questions]


def _unknown(what: str) -> InputError:
    return InputError(
        f"a {what} is needed that is not among those kept",
        remedy="give all the settings that the run had which kept them, or ask a model instead of --replay",
    )
