"""How training went: what the filter accepted, the candidates read, and learning curves.

Small line charts over updates, a table, and the histories of all runs as CSV, for ``dvc plots`` and for
spreadsheets. What ``dvc plots`` draws from the CSV (loss, acceptance by label and by length of the fill)
is not drawn here again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import task_name
from pipeline.core.markdown import number, percent
from pipeline.core.runs import BY_LABEL, BY_LENGTH, Run, System, candidates_at_hand
from pipeline.report.charts import Line, Panel, Points, key_of, line_chart, mean_of
from pipeline.report.examples import fill_statistics
from pipeline.report.markdown import Table, TableRow, csv_text
from pipeline.report.prose import Fact
from pipeline.report.results import baseline_of, short_name, system_key, system_name
from pipeline.report.sections import Part, Section

_INSPECTING = {"filter", "self-train"}
_BIN = 50  # candidates seen, below which validations are pooled into one point


def training(
    runs: Sequence[Run], size: int, about: str, corpus: Path, figure: str = "accuracy"
) -> Iterator[Part]:
    """How training went at one |L|, called ``about``: acceptance, candidates read, learning curves.

    ``figure`` is what the task's is called.

    Raises:
        InputError: a shard of the runs' candidates is damaged.
    """
    if not runs:
        yield Fact("missing.runs")
        return
    block = [run for run in runs if run.labelled == size]
    accepted, table = acceptance(block), acceptance_table(block, corpus)
    if table:
        title = f"Acceptance over training, {about}"
        yield Section(title, panels=accepted, tables=[table], wide=True, name="acceptance")
    if not accepted:
        inspecting = any(run.mode in _INSPECTING for run in block)
        yield Fact("missing.acceptance", size=about, inspecting=inspecting)
    elif not any(BY_LENGTH in record for run in block for record in run.history):
        yield Fact("missing.acceptance_by_length", size=about)
    if read := reuse(block):
        title = f"Candidates read in training, {about}"
        note = Fact("notes.candidates_read")
        yield Section(title, panels=read, note=note, wide=True, name="candidates-read")
    if learned := learning_curves(block, figure):
        title, note = f"Learning curves, {about}", Fact("notes.learning_curves")
        yield Section(title, panels=learned, note=note, name="learning-curves")
    else:
        yield Fact("missing.learning_curves", size=about)


def acceptance(runs: Sequence[Run]) -> list[Panel]:
    """Share of examined candidates that were accepted, over updates: all systems with a threshold.

    Seeds are pooled. Empty where no run inspects candidates (baselines, and δ = 0).
    """
    inspecting = [run for run in runs if run.mode in _INSPECTING]
    curves = {system: _pooled(of) for system, of in _by_system(inspecting).items()}
    curves = {system: points for system, points in curves.items() if points}
    if not curves:
        return []
    lines = [Line(points, key_of(system, list(curves))) for system, points in curves.items()]
    span = (
        min(run.warm_steps for run in inspecting),
        max(record["step"] for run in inspecting for record in run.history),
    )
    ends = "; ".join(f"{system_name(s)} ends at {c[-1][1]:.0f} %" for s, c in curves.items())
    svg = line_chart(lines, "accepted, %", span, (0, 100), name="acceptance", named=True)
    return [
        Panel("Accepted of those examined, seeds pooled", f"acceptance over updates: {ends}", svg)
    ]


def _pooled(runs: Sequence[Run]) -> Points:
    """Acceptance in per cent over steps, all runs together, in bins of at least ``_BIN`` seen."""
    steps: dict[int, Counter[str]] = defaultdict(Counter)
    for record in (record for run in runs for record in run.history):
        for accepted, seen in record.get(BY_LABEL, {}).values():
            steps[record["step"]].update(accepted=accepted, seen=seen)
    points, waiting = [], Counter[str]()
    for step, counts in sorted(steps.items()):
        waiting.update(counts)
        if waiting["seen"] >= _BIN:
            points.append((float(step), 100 * waiting["accepted"] / waiting["seen"]))
            waiting = Counter()
    return points


def acceptance_table(runs: Sequence[Run], corpus: Path) -> Table | None:
    """A row for each system with a threshold, its seeds together; None without such runs.

    Candidates that are not at hand leave their columns empty.

    Raises:
        InputError: a shard of candidates is damaged.
    """
    inspecting = _by_system(run for run in runs if run.mode in _INSPECTING)
    if not inspecting:
        return None
    fills = task_name(corpus) == COORDINATION  # of other tasks candidates are none
    return Table(
        "Examined and accepted",
        ("Model", "runs", "candidates", "examined", "different", "accepted", "of examined, %",
         *(("distinct fills, %", "words per fill") if fills else ())),
        tuple(_row(system, of, corpus if fills else None) for system, of in inspecting.items()),
        note=Fact("notes.acceptance", learned_from_l_alone=_learned_from_l_alone(runs)),
    )  # fmt: skip


def _learned_from_l_alone(runs: Sequence[Run]) -> list[tuple[System, int, int]]:
    """Systems with runs whose predictor no candidate has reached: (system, of how many, of all)."""
    counted = Counter(run.system for run in runs if run.source)
    alone = Counter(run.system for run in runs if run.is_warm_alone)
    return [(system, alone[system], counted[system]) for system in sorted(alone, key=system_key)]


def _row(system: System, runs: Sequence[Run], corpus: Path | None) -> TableRow:
    """Of a system; with the fills of its candidates where they are some, and lie in ``corpus``."""
    keys = ("candidates", "seen", "distinct", "accepted")
    pool, seen, distinct, accepted = (_sum(runs, key) for key in keys)
    cells = (
        short_name(system), f"{len(runs)}", *map(number, (pool, seen, distinct, accepted)),
        percent(accepted / seen if seen and accepted is not None else None, digits=1),
    )  # fmt: skip
    if corpus is None:
        return TableRow(cells)
    folders = sorted({folder for run in runs if (folder := candidates_at_hand(run, corpus))})
    fills = fill_statistics(folders)
    return TableRow((
        *cells,
        percent(fills.distinct / fills.candidates if fills.candidates else None, digits=1),
        number(fills.fill_words if fills.candidates else None),
    ))  # fmt: skip


def _sum(runs: Sequence[Run], key: str) -> int | None:
    """Over all runs; None where one did not record it."""
    values = [run.card.get(key) for run in runs]
    known = [value for value in values if isinstance(value, int)]
    return sum(known) if len(known) == len(values) else None


def _by_system(runs: Iterable[Run]) -> dict[System, list[Run]]:
    """The runs of each system, in the order of the tables."""
    found: dict[System, list[Run]] = {}
    for run in sorted(runs, key=lambda run: system_key(run.system)):
        found.setdefault(run.system, []).append(run)
    return found


def learning_curves(runs: Sequence[Run], figure: str = "accuracy") -> list[Panel]:
    """The validation figure over updates: a panel per system, a thin line per seed, their mean thick.

    The baseline's mean stands in every panel, to compare with; all panels share their axes. The
    mean ends where the first seed ends. Runs are of one |L|; those without history are left out.
    """
    trained = _by_system(run for run in runs if run.history)
    curves = {
        system: [[(r["step"], 100 * r["validation_accuracy"]) for r in run.history] for run in of]
        for system, of in trained.items()
    }
    points = [point for of in curves.values() for curve in of for point in curve]
    if not points:
        return []
    limits, last = _limits([value for _, value in points]), max(step for step, _ in points)
    means = {system: mean_of(of) for system, of in curves.items()}
    baseline = baseline_of(curves)
    panels = []
    for system, own in curves.items():
        key = replace(key_of(system, list(curves)), dash="")  # titled, and dashes hide small steps
        lines = [Line(curve, key, thin=True) for curve in own]
        begins = 0
        if system != baseline:
            begins = trained[system][0].warm_steps
            if baseline is not None:
                lines.append(Line(means[baseline], key_of(baseline)))
        lines.append(Line(means[system], key))
        y_label = f"validation {figure}, %"
        svg = line_chart(lines, y_label, (0, last), limits, name=system, mark=begins)
        alt = (
            f"{system_name(system)}: validation {figure} over {int(means[system][-1][0])} updates, "
            f"at the end {means[system][-1][1]:.0f} % on average of {len(own)} runs"
        )
        panels.append(Panel(short_name(system), alt, svg))
    return panels


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Whole tens around the values, at least ten apart, within 0 and 100."""
    low = max(0.0, -(-min(values) // 10) * 10 - 10)
    return low, max(low + 10, -(-max(values) // 10) * 10)


def reuse(runs: Sequence[Run]) -> list[Panel]:
    """How far training went through its candidates, and how many of those it examined came again.

    Two panels, systems' means over seeds: the share of the corpus examined so far, and the share of
    all examinations that were not the candidate's first. Empty for runs of before ``distinct`` was kept.
    """
    return [
        *_means("Share of the corpus examined", "different candidates, %", runs, examined),
        *_means("Examined before", "of those examined so far, %", runs, _before),
    ]


def examined(run: Run, record: dict[str, Any]) -> float | None:
    """Of the candidates there are, the share examined so far; None where that was not kept."""
    pool, distinct = run.card.get("candidates"), record.get("distinct")
    return distinct / pool if pool and distinct is not None else None


def _before(_: Run, record: dict[str, Any]) -> float | None:
    """Of all examinations so far, the share that were not the candidate's first."""
    seen, distinct = record.get("seen"), record.get("distinct")
    return 1 - distinct / seen if seen and distinct is not None else None


def _means(
    title: str,
    y_label: str,
    runs: Sequence[Run],
    share: Callable[[Run, dict[str, Any]], float | None],
) -> list[Panel]:
    """One panel with a line for each system, the mean over its seeds in per cent, from 0 up."""
    means = {}
    for system, of in _by_system(runs).items():
        curves = [
            [(r["step"], 100 * value) for r in run.history if (value := share(run, r)) is not None]
            for run in of
        ]
        if any(curves):
            means[system] = mean_of([curve for curve in curves if curve])
    if not means:
        return []
    lines = [Line(points, key_of(system, list(means))) for system, points in means.items()]
    steps, values = zip(*(point for points in means.values() for point in points), strict=True)
    limits = (0, max(steps)), (0, 1.05 * max(values) or 1)
    svg = line_chart(lines, y_label, *limits, name=title, named=True)
    ends = "; ".join(f"{system_name(s)} ends at {p[-1][1]:.2f}" for s, p in means.items())
    return [Panel(title, f"{title} over updates: {ends}", svg)]


_RUN = ("system", "labelled", "draw", "seed", "step")
_HISTORY = (*_RUN, "loss", "validation_accuracy", "validation_loss", "seen", "accepted", "distinct",
            "acceptance", "corpus_examined", "examined_before")  # fmt: skip


def history_files(runs: Sequence[Run]) -> dict[str, str]:
    """Name → CSV text. Shares are fractions; a cell is empty where a run did not record the figure.

    ``history.csv`` has a row for each validation of each run; its ``acceptance`` is since the
    validation before, ``corpus_examined`` is distinct / candidates and ``examined_before`` is
    1 - distinct / seen. ``acceptance-by-label.csv`` and ``acceptance-by-length.csv`` have a row for
    each label, or number of words in the fill, that was examined since the validation before.
    ``draw`` is the name of the draw of L: its size, which is also ``labelled``, or ``full``.
    """
    figures = ("accepted", "seen", "acceptance")
    return {
        "history.csv": csv_text(_HISTORY, (row for run in runs for row in _validations(run)))
    } | {
        f"acceptance-by-{what}.csv": csv_text(
            (*_RUN, name, *figures), (row for run in runs for row in _parts(run, field, name))
        )
        for what, field, name in (("label", BY_LABEL, "label"), ("length", BY_LENGTH, "words"))
    }


def _validations(run: Run) -> Iterator[dict[str, Any]]:
    for record in run.history:
        recent = record.get(BY_LABEL, {}).values()
        accepted, seen = (sum(pair[side] for pair in recent) for side in (0, 1))
        yield (
            record
            | _of(run, record)
            | {
                "acceptance": accepted / seen if seen else None,
                "corpus_examined": examined(run, record),
                "examined_before": _before(run, record),
            }
        )


def _parts(run: Run, field: str, name: str) -> Iterator[dict[str, Any]]:
    for record in run.history:
        for part, (accepted, seen) in record.get(field, {}).items():
            share = accepted / seen if seen else None
            about = {name: part, "accepted": accepted, "seen": seen, "acceptance": share}
            yield _of(run, record) | about


def _of(run: Run, record: dict[str, Any]) -> dict[str, Any]:
    return {
        "system": run.system, "labelled": run.labelled, "draw": run.draw, "seed": run.seed,
        "step": record["step"],
    }  # fmt: skip
