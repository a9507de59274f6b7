"""A run's predictor beside a parser: what each says of every instance, and the rows that come of it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import torch

from pipeline.core.device import best_device
from pipeline.core.runs import ELSE, TOGETHER, USUAL_TAU
from pipeline.core.types import UNLABELLED, Coordination
from pipeline.evaluate.settings import VALIDATION, EvaluateSettings
from pipeline.tasks.coordination.figures import judge
from pipeline.tasks.coordination.instances import Instance, Row, predicted, row_of
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.with_parser import BothAnswers, both_answers

TAUS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Among which ``--tau validation`` chooses."""

WAYS: Final = (ELSE, TOGETHER)
"""The rows that a run and a parser make."""

Asked = tuple[Sequence[Instance], Sequence[Row]]
"""Instances, and the rows of a parser alone of them."""


class Beside:
    """A predictor asked beside a parser, once and only if somebody wants to know.

    Args:
        folder: of the run.
        settings: the stage's.
        split: the instances of the split.
        validation: finds those of the draw's validation sentences.
    """

    def __init__(
        self,
        folder: Path,
        settings: EvaluateSettings,
        split: Asked,
        validation: Callable[[], Asked],
    ) -> None:
        self._folder, self._settings = folder, settings
        self._split, self._validation = split, validation

    def rows(self, combined: str) -> tuple[list[Row], Mapping[str, float]]:
        """The rows of ``PREDICTIONS`` of a way to combine them, and the τ of ``TOGETHER``."""
        parameters = {"tau": self._tau} if combined == TOGETHER else {}
        rows = [
            _row(instance, each, takes=each.takes_structure(combined, parameters.get("tau", 0)))
            for instance, each in zip(self._split[0], self._said, strict=True)
        ]
        return rows, parameters

    @cached_property
    def _tau(self) -> float:
        if self._settings.tau != VALIDATION:
            return float(self._settings.tau)
        instances, rows = self._validation()
        return chosen_tau(instances, self._asked(instances, rows))

    @cached_property
    def _said(self) -> list[BothAnswers]:
        return self._asked(*self._split)

    @cached_property
    def _predictor(self) -> CoordinationPredictor:
        torch.set_num_threads(self._settings.threads)
        return CoordinationPredictor.load(self._folder / "predictor").to(best_device())

    def _asked(self, instances: Sequence[Instance], rows: Sequence[Row]) -> list[BothAnswers]:
        return both_answers(
            self._predictor,
            [instance.sentence.words for instance in instances],
            [instance.gold.coordinator for instance in instances],
            [_structure(row) for row in rows],
            self._settings.batch_tokens,
        )


def _structure(row: Row) -> Coordination | None:
    """A parser's structure as its row has it, whose label no row keeps."""
    conjuncts = tuple(predicted(row))
    if not conjuncts:
        return None
    return Coordination(row["coordinator"], row["word"], UNLABELLED, conjuncts)


def _row(instance: Instance, answer: BothAnswers, *, takes: bool) -> Row:
    if takes and answer.structure is not None:
        return row_of(instance, answer.structure.conjuncts, answer.probability or 0.0)
    if answer.best is None:
        return row_of(instance, (), 0.0)
    return row_of(instance, answer.best.conjuncts, answer.best.probability)


def chosen_tau(instances: Sequence[Instance], answers: Sequence[BothAnswers]) -> float:
    """The τ of ``TAUS`` with which most outer boundaries are found.

    Of equals it is the one nearest to ``USUAL_TAU``, of two as near the smaller.

    Args:
        instances: of sentences whose annotation may choose it.
        answers: what parser and predictor say of each.
    """

    def right(tau: float) -> int:
        rows = (
            _row(instance, each, takes=each.takes_structure(TOGETHER, tau))
            for instance, each in zip(instances, answers, strict=True)
        )
        return sum(
            judge(instance.gold, predicted(row))["whole"]
            for instance, row in zip(instances, rows, strict=True)
        )

    usual = TAUS.index(USUAL_TAU)
    ordered = sorted(TAUS, key=lambda tau: (abs(TAUS.index(tau) - usual), tau))
    return max(ordered, key=right)
