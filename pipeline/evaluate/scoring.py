"""From rows of predictions to the entries of ``metrics.json``: figures of a run, and means over seeds."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.annotation import Annotation, as_json, described, from_json, of_seeds
from pipeline.core.cards.evaluation import EvaluatedRun, SummaryRow
from pipeline.core.comparison import mean_sd
from pipeline.core.runs import System
from pipeline.tasks.protocol import JudgedRows

COUNTS = ("best_step", "steps", "seen", "accepted")
"""Numbers of a run that its entry repeats from its card."""

Scored = tuple[EvaluatedRun, npt.NDArray[np.int64]]
"""A run's entry in ``metrics.json``, and of every instance what was right, said and there."""


def entry(
    system: System,
    card: Mapping[str, Any],
    annotation: Annotation,
    judged: JudgedRows,
) -> Scored:
    """What the rows of a run come to.

    Args:
        system: whose run it is.
        card: of its predictor; of a parser alone its ``labelled``, ``draw`` and ``seed``.
        annotation: its record.
        judged: what the rows come to.
    """
    return {
        **system.as_row(),
        "labelled": card["labelled"],
        "seed": card["seed"],
        "draw": str(card.get("draw", card["labelled"])),
        "annotation": as_json(annotation),
        "accuracy": dict(judged.figures),
        "criteria": dict(judged.criteria),
        "validation_accuracy": card.get("best_validation_accuracy"),
        "best_step": card.get("best_step", 0),
        "steps": card.get("steps", 0),
        "seen": card.get("seen", 0),
        "accepted": card.get("accepted", 0),
        "unscored": judged.unscored,
    }, judged.counts


def summary(runs: Sequence[EvaluatedRun], corpus: str) -> list[SummaryRow]:
    """Mean and sample standard deviation over seeds, by system and |L|.

    Args:
        runs: their entries.
        corpus: the name of their corpus.
    """

    def key(each: EvaluatedRun) -> tuple[int, str]:
        return each["labelled"], each["system"]

    found: list[SummaryRow] = []
    for (labelled, system), group in groupby(sorted(runs, key=lambda m: (*key(m), m["seed"])), key):
        members = list(group)
        columns = _means([m["accuracy"] for m in members])
        criteria = _means([m["criteria"] for m in members])
        texts = [described(from_json(m["annotation"]), corpus) for m in members]
        found.append(
            {
                "system": system,
                "labelled": labelled,
                "draw": members[0]["draw"],
                "seeds": [m["seed"] for m in members],
                "annotated": of_seeds(texts),
                "mean": {name: value[0] for name, value in columns.items()},
                "sd": {name: value[1] for name, value in columns.items()},
                "criteria": {
                    name: {"mean": mean, "sd": sd} for name, (mean, sd) in criteria.items()
                },
            }
        )
    return found


def _means(
    members: Sequence[Mapping[str, float | None]],
) -> dict[str, tuple[float | None, float | None]]:
    """Mean and sample standard deviation of each figure over seeds."""
    return {name: mean_sd([member[name] for member in members]) for name in members[0]}
