"""The histories of all runs as flat tables, for ``dvc plots`` and for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.mechanisms.reporting.runs import BY_LABEL, BY_LENGTH, Run

__all__ = ["history_files"]

_RUN = ("system", "labelled", "draw", "seed", "step")
_HISTORY = (*_RUN, "loss", "validation_accuracy", "seen", "accepted", "distinct", "acceptance",
            "corpus_examined", "examined_before")  # fmt: skip


def history_files(runs: Iterable[Run]) -> dict[str, str]:
    """Name → CSV text. Shares are fractions; a cell is empty where a run did not record the figure.

    ``history.csv`` has a row for each validation of each run; its ``acceptance`` is since the
    validation before, ``corpus_examined`` is distinct / candidates and ``examined_before`` is
    1 - distinct / seen. ``acceptance-by-label.csv`` and ``acceptance-by-length.csv`` have a row for
    each label, or number of words in the fill, that was examined since the validation before.
    ``draw`` is the name of the draw of L: its size, which is also ``labelled``, or ``full``.
    """
    told = list(runs)
    return {
        "history.csv": _csv(_HISTORY, (row for run in told for row in _validations(run))),
        "acceptance-by-label.csv": _csv(
            (*_RUN, "label", "accepted", "seen", "acceptance"),
            (row for run in told for row in _parts(run, BY_LABEL, "label")),
        ),
        "acceptance-by-length.csv": _csv(
            (*_RUN, "words", "accepted", "seen", "acceptance"),
            (row for run in told for row in _parts(run, BY_LENGTH, "words")),
        ),
    }


def _validations(run: Run) -> Iterator[dict[str, Any]]:
    pool = run.card.get("candidates")
    for record in run.history:
        recent = record.get(BY_LABEL, {}).values()
        accepted, seen = (sum(pair[side] for pair in recent) for side in (0, 1))
        examined, distinct = record.get("seen"), record.get("distinct")
        yield {
            **_of(run, record),
            **{key: record.get(key) for key in ("loss", "validation_accuracy", "accepted")},
            "seen": examined,
            "distinct": distinct,
            "acceptance": accepted / seen if seen else None,
            "corpus_examined": distinct / pool if pool and distinct is not None else None,
            "examined_before": 1 - distinct / examined if examined and distinct else None,
        }


def _parts(run: Run, field: str, name: str) -> Iterator[dict[str, Any]]:
    for record in run.history:
        for part, (accepted, seen) in record.get(field, {}).items():
            share = accepted / seen if seen else None
            about = {name: part, "accepted": accepted, "seen": seen, "acceptance": share}
            yield {**_of(run, record), **about}


def _of(run: Run, record: dict[str, Any]) -> dict[str, Any]:
    return {
        "system": run.system, "labelled": run.labelled, "draw": run.draw, "seed": run.seed,
        "step": record["step"],
    }  # fmt: skip


def _csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
