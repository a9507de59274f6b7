"""A task's figure has one name: runs, the warning of a drought and reports use it."""

import pytest
from torch import nn

from pipeline.report.figure_words import words_of
from pipeline.tasks.known import TASKS
from pipeline.train.optimizer import Schedule
from pipeline.train.selection import SELECTIONS
from pipeline.train.validation import Validation


@pytest.mark.parametrize("name", TASKS)
def test_reports_call_it_as_runs_do(name: str) -> None:
    """``accuracy`` of coordination, ``macro-F1`` of relations."""
    assert words_of(name).name == TASKS[name].evaluation.figure


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_was_chosen_is_said_by_it(name: str) -> None:
    """Whatever the rule."""
    rule = SELECTIONS[name](Schedule(10, 0, 0.01, 0.01, 1.0, 10, 10, 0, 1.0))
    rule.look(10, Validation(0.5, 1.0), nn.Linear(1, 1))
    assert "validation macro-F1 0.5000" in rule.describe("macro-F1")
