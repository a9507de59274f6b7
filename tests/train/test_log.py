"""The record of the candidates that a run examined."""

import math
from typing import Any

import tiny

from pipeline.core.types import Span
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.train.algorithm1 import Trial, Verdict
from pipeline.train.learner import AcceptanceLog


def trial(score: float, *, accepted: bool = False, size: int = 2, **verdict: Any) -> Trial:
    drawn = tiny.drawn_of(f"c{score}", "NP", ("a", "and", "b"), 1, Span(0, 3), size)
    return Trial(drawn, Verdict(drawn.example, score, **verdict), accepted, 0)


def log() -> AcceptanceLog:
    return AcceptanceLog(CoordinationTask.answer_columns)


def test_lengths_of_ten_words_and_more_are_counted_together() -> None:
    """By number, accepted of seen; the next count begins anew."""
    found = log()
    for size in (10, 9, 25, 2):
        found.record(1, [trial(0.5, accepted=size > 9, size=size), trial(0.5, size=size)])
    counts = found.acceptance()["acceptance_by_length"]
    assert list(counts.items()) == [("2", [0, 2]), ("9", [0, 2]), ("10+", [2, 4])]
    assert found.acceptance() == {"acceptance": {}, "acceptance_by_length": {}}


def test_a_drought_lasts_until_a_candidate_is_accepted() -> None:
    """Its highest probability is of all its steps and of no step before; steps without trials are none."""
    found = log()
    seen = []
    for trials in (
        [trial(0.3), trial(0.6)], [trial(0.2)], [], [trial(0.9, accepted=True)], [trial(0.1)],
    ):  # fmt: skip
        found.record(1, trials)
        seen.append((found.barren, found.highest))
    assert seen == [(1, 0.6), (2, 0.6), (2, 0.6), (0, 0.0), (1, 0.1)]


def test_what_cannot_be_scored_is_refused_with_its_reason() -> None:
    """Its probability is 0; that of one that nobody asked about is null."""
    found = log()
    found.record(4, [trial(-math.inf, reason="too long"), trial(math.nan, accepted=True)])
    assert found.tally.to_dict() == {"seen": 2, "kept": 1, "refused": {"too long": 1}}
    assert (found.seen, found.accepted, found.distinct) == (2, 1, 2)
    assert found.table().column("probability").to_pylist() == [0, None]
