"""From rows of predictions to the entries of ``metrics.json``: figures of a run, and means over seeds."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from pipeline.core.annotation import Annotation, as_json, described, from_json
from pipeline.core.comparison import mean_sd
from pipeline.core.runs import System
from pipeline.core.types import CATEGORIES, CRITERIA
from pipeline.evaluate.instances import Instance, Row, predicted
from pipeline.tasks.coordination.figures import accuracy, accuracy_by_category, judge

COLUMNS = [*CATEGORIES, "overall"]

COUNTS = ("best_step", "steps", "seen", "accepted")
"""Numbers of a run that its entry repeats from its card."""

Scored = tuple[dict[str, Any], list[bool]]
"""A run's entry in ``metrics.json``, and for every instance whether it got the boundary right."""


def entry(
    system: System,
    card: Mapping[str, Any],
    annotation: Annotation,
    instances: Sequence[Instance],
    rows: Sequence[Row],
) -> Scored:
    """What the rows of a run come to.

    Args:
        system: whose run it is.
        card: of its predictor; of a parser alone its ``labelled``, ``draw`` and ``seed``.
        annotation: its record.
        instances: what was asked.
        rows: the answers, in the same order.
    """
    verdicts = [
        judge(instance.gold, predicted(row)) for instance, row in zip(instances, rows, strict=True)
    ]
    labels = [instance.gold.label for instance in instances]
    right = [verdict["whole"] for verdict in verdicts]
    return {
        **system.as_row(),
        **{key: card[key] for key in ("labelled", "seed")},
        "draw": str(card.get("draw", card["labelled"])),
        "annotation": as_json(annotation),
        "accuracy": accuracy_by_category(labels, right),
        "criteria": {c: accuracy([v[c] for v in verdicts]) for c in CRITERIA},
        "validation_accuracy": card.get("best_validation_accuracy"),
        **{key: card.get(key, 0) for key in COUNTS},
        "unscored": sum(not row["predicted"] for row in rows),
    }, right


def summary(runs: Sequence[dict[str, Any]], corpus: str) -> list[dict[str, Any]]:
    """Mean and sample standard deviation over seeds, by system and |L|.

    Args:
        runs: their entries.
        corpus: the name of their corpus.
    """

    def key(each: dict[str, Any]) -> tuple[int, str]:
        return each["labelled"], each["system"]

    found = []
    for (labelled, system), group in groupby(sorted(runs, key=lambda m: (*key(m), m["seed"])), key):
        members = list(group)
        columns = {name: mean_sd([m["accuracy"][name] for m in members]) for name in COLUMNS}
        criteria = {name: mean_sd([m["criteria"][name] for m in members]) for name in CRITERIA}
        texts = [described(from_json(m["annotation"]), corpus) for m in members]
        found.append(
            {
                "system": system,
                "labelled": labelled,
                "draw": members[0]["draw"],
                "seeds": [m["seed"] for m in members],
                "annotated": " or ".join(dict.fromkeys(texts)),
                "mean": {name: value[0] for name, value in columns.items()},
                "sd": {name: value[1] for name, value in columns.items()},
                "criteria": {
                    name: {"mean": mean, "sd": sd} for name, (mean, sd) in criteria.items()
                },
            }
        )
    return found
