"""Small line charts of training: learning curves, losses, and how often candidates came again.

The chapter on how training went: acceptance, candidates read, learning curves, loss.

The histories of all runs as flat tables, for ``dvc plots`` and for spreadsheets.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.core.runs import BY_LABEL, BY_LENGTH, Run, System
from pipeline.report import acceptance as acceptances
from pipeline.report.acceptance import acceptance_table
from pipeline.report.charts import Line, Panel, Points, key_of, line_chart, mean_of
from pipeline.report.results import baseline_of, short_name, system_key, system_name
from pipeline.report.sections import Chapter, Gallery, Section


def learning_curves(runs: Sequence[Run]) -> list[Panel]:
    """Validation accuracy over updates: a panel per system, a thin line per seed, their mean thick.

    The baseline's mean stands in every panel, to compare with; all panels share their axes. The
    mean ends where the first seed ends. Runs are of one |L|; those without history are left out.
    """
    told = [run for run in runs if _accuracies(run)]
    systems = sorted({run.system for run in told}, key=system_key)
    points = [point for run in told for point in _accuracies(run)]
    if not points:
        return []
    limits = _limits([value for _, value in points])
    last = max(step for step, _ in points)
    means = {s: mean_of([_accuracies(run) for run in told if run.system == s]) for s in systems}
    baseline = baseline_of(systems)
    panels = []
    for system in systems:
        own = [run for run in told if run.system == system]
        key = replace(key_of(system, systems), dash="")  # titled, and dashes hide small steps
        lines = [Line(_accuracies(run), key, thin=True) for run in own]
        if baseline is not None and system != baseline:
            lines.append(Line(means[baseline], key_of(baseline)))
        lines.append(Line(means[system], key))
        begins = own[0].warm_steps if system != baseline else 0
        svg = line_chart(
            lines, "validation accuracy, %", (0, last), limits, name=system, mark=begins
        )
        alt = (
            f"{system_name(system)}: validation accuracy over {int(means[system][-1][0])} updates, "
            f"at the end {means[system][-1][1]:.0f} % on average of {len(own)} runs"
        )
        panels.append(Panel(short_name(system), alt, svg))
    return panels


def losses(runs: Sequence[Run]) -> list[Panel]:
    """The loss of training over updates, each system's mean over its seeds; empty without any."""
    return _shared("Training loss", "loss", runs, lambda run, record: record.get("loss"))


def reuse(runs: Sequence[Run]) -> list[Panel]:
    """How far training went through its candidates, and how many of those it examined came again.

    Two panels, systems' means over seeds: the share of the corpus examined so far, and the share of
    all examinations that were not the candidate's first. Empty for runs of before ``distinct`` was kept.
    """

    def used(run: Run, record: dict[str, Any]) -> float | None:
        pool = run.card.get("candidates")
        return 100 * record["distinct"] / pool if pool and "distinct" in record else None

    def again(_: Run, record: dict[str, Any]) -> float | None:
        if not record.get("seen") or "distinct" not in record:
            return None
        return 100 * (1 - float(record["distinct"]) / float(record["seen"]))

    return [
        *_shared("Share of the corpus examined", "different candidates, %", runs, used),
        *_shared("Examined before", "of those examined so far, %", runs, again),
    ]


def _shared(
    title: str,
    y_label: str,
    runs: Sequence[Run],
    value: Callable[[Run, dict[str, Any]], float | None],
) -> list[Panel]:
    """One panel with a line for each system, the mean over its seeds, from 0 up."""
    curves: dict[System, list[Points]] = {}
    for run in sorted(runs, key=lambda run: system_key(run.system)):
        points = [(r["step"], v) for r in run.history if (v := value(run, r)) is not None]
        if points:
            curves.setdefault(run.system, []).append(points)
    if not curves:
        return []
    means = {system: mean_of(points) for system, points in curves.items()}
    lines = [Line(points, key_of(system, list(means))) for system, points in means.items()]
    every = [point for line in lines for point in line.points]
    top = max(value for _, value in every)
    last = max(step for step, _ in every)
    svg = line_chart(lines, y_label, (0, last), (0, 1.05 * top or 1), name=title, named=True)
    ends = "; ".join(f"{system_name(s)} ends at {p[-1][1]:.2f}" for s, p in means.items())
    return [Panel(title, f"{title} over updates: {ends}", svg)]


def _accuracies(run: Run) -> list[tuple[float, float]]:
    return [(r["step"], 100 * r["validation_accuracy"]) for r in run.history]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Whole tens around the values, at least ten apart, within 0 and 100."""
    low = max(0.0, -(-min(values) // 10) * 10 - 10)
    return low, max(low + 10, -(-max(values) // 10) * 10)


def progress(runs: Sequence[Run], size: int, about: str, corpus: Path) -> Chapter:
    """How training went at one |L|, called ``about``: acceptance, reuse, learning curves and loss.

    Raises:
        InputError: a shard of the runs' candidates is damaged.
    """
    if not runs:
        return [], ["No learning curves, acceptance figures or examples: no run folders here."]
    block = [run for run in runs if run.labelled == size]
    accepted, learned = _accepting(block), _learning(block)
    counted = acceptance_table(block, corpus)
    sections = [
        Section(f"{title}, {about}", galleries=galleries, tables=tables, name=name)
        for title, galleries, tables, name in (
            ("Acceptance over training", accepted, [counted] if counted else [], "acceptance"),
            ("Candidates read in training", _reading(block), [], "candidates-read"),
            ("Learning curves", learned, [], "learning-curves"),
        )
        if galleries or tables
    ]
    missing = []
    if not learned:
        missing.append(f"No learning curves for {about}: no run has a history.jsonl.")
    if not accepted:
        why = (
            "no validation happened after candidates joined, or too few were examined"
            if any(run.mode in {"filter", "self-train"} for run in block)
            else "only runs that inspect no candidates (baseline or δ = 0)"
        )
        missing.append(f"No acceptance figures for {about}: {why}.")
    elif not any(BY_LENGTH in record for run in block for record in run.history):
        missing.append(
            f"No acceptance by length of the fill for {about}: these runs are of a version that did "
            "not record it."
        )
    return sections, missing


def _accepting(block: Sequence[Run]) -> list[Gallery]:
    """Acceptance over updates: of all candidates and by label, and by length of the fill."""
    systems = sorted({run.system for run in block}, key=system_key)
    modes = {run.system: run.mode for run in block}
    filtering = [key_of(s, systems) for s in systems if modes[s] == "filter"]
    inspecting = [key_of(s, systems) for s in systems if modes[s] in {"filter", "self-train"}]
    overall = acceptances.acceptance(block)
    if not overall:
        return []
    labels, rare = acceptances.acceptance_by_label(block)
    lengths, few = acceptances.acceptance_by_length(block)
    note = (
        "Share of the candidates examined that were accepted, seeds pooled. By label, and by length, "
        f"only for systems that keep generation’s boundaries.{_rare(rare)}"
    )
    galleries = [Gallery([*overall, *labels], inspecting, note)]
    if lengths:
        galleries.append(
            Gallery(lengths, filtering, _rare(few).strip(), title="By length of the fill")
        )
    return galleries


def _rare(counts: dict[str, int]) -> str:
    named = ", ".join(f"{name} ({count:,} seen)" for name, count in counts.items())
    return f" Too rare to draw: {named}." if named else ""


def _reading(block: Sequence[Run]) -> list[Gallery]:
    """How much of their candidates the runs examined, and how often again."""
    panels = reuse(block)
    note = (
        "Means over seeds. Share of the corpus: of the candidates that generation made, those examined "
        "at least once. Examined before: of all examinations so far, those that were not a candidate’s "
        "first."
    )
    return [Gallery(panels, note=note, wide=True)] if panels else []


def _learning(block: Sequence[Run]) -> list[Gallery]:
    """Validation accuracy over updates, and the loss."""
    galleries = []
    if drawn := learning_curves(block):
        note = (
            "Thin: one seed each; thick: their mean, as far as all of them went; grey: the mean of the "
            "baseline. The dashed upright marks where candidates join."
        )
        galleries.append(Gallery(drawn, note=note))
    if lost := losses(block):
        note = (
            "Mean over seeds of the loss since the validation before. A system’s loss is on its own "
            "batches: a lower one is not a better system."
        )
        galleries.append(Gallery(lost, note=note, wide=True))
    return galleries


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
