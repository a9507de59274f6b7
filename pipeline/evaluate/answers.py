"""What runs said of the instances that a report shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.core.answered import AnsweredInstance, RunAnswer
from pipeline.tasks.protocol import Evaluation, Row


class Answers:
    """The instances that people can read, and the answers to them, of one run after another.

    Args:
        evaluation: the task's.
        instances: all that rows are of.
    """

    def __init__(self, evaluation: Evaluation[Any], instances: Sequence[Any]) -> None:
        self._evaluation = evaluation
        self._instances = instances
        every = map(evaluation.shown, instances)
        self._shown = {place: each for place, each in enumerate(every) if each is not None}
        self._given: dict[int, list[RunAnswer]] = {place: [] for place in self._shown}

    def add(self, system: str, card: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """The rows of a run, in the order of the instances.

        Args:
            system: whose run it is.
            card: of its predictor, or whatever else has its ``labelled`` and ``seed``.
            rows: what it says.
        """
        for place, given in self._given.items():
            text, is_right = self._evaluation.said(self._instances[place], rows[place])
            given.append(RunAnswer(str(system), card["labelled"], card["seed"], text, is_right))

    def answered(self) -> Iterator[AnsweredInstance]:
        """The instances with all answers."""
        for place, shown in self._shown.items():
            yield replace(shown, answers=tuple(self._given[place]))
