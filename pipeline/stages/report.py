"""``conjoin report``: Markdown and one self-contained HTML page from everything a corpus produced.

What is missing is said in the report; only ``evaluation/metrics.json`` must be there. The bytes
depend on the inputs alone (the seconds shown are those that training recorded).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.ground import console
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json, write_text
from pipeline.mechanisms.reporting import figures
from pipeline.mechanisms.reporting.examples import Example, draw_examples
from pipeline.mechanisms.reporting.findings import findings
from pipeline.mechanisms.reporting.provenance import (
    corpus_table,
    generation_table,
    made,
    runs_table,
)
from pipeline.mechanisms.reporting.results import (
    DEFINITIONS,
    Metrics,
    ablation_table,
    accuracy_table,
    criteria_table,
)
from pipeline.mechanisms.reporting.runs import Run, read_runs
from pipeline.mechanisms.reporting.systems import system_key, system_phrase
from pipeline.mechanisms.reporting.tables import Table, code_span, markdown
from pipeline.settings.report import Report

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Gallery:
    """Panels under one heading; ``keys`` explain the lines, ``note`` stands below."""

    title: str
    panels: Sequence[figures.Panel]
    keys: Sequence[figures.Key]
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Examples:
    """What one system accepted and rejected."""

    title: str
    accepted: Sequence[Example]
    rejected: Sequence[Example]


def run(settings: Report) -> None:
    """Write ``report/report.md`` and ``report/report.html`` and print Table 2.

    Raises:
        InputError: ``evaluation/metrics.json`` is missing, or a file is damaged.
    """
    metrics = _metrics(settings.corpus)
    runs = read_runs(settings.corpus)
    galleries, untold = _galleries(runs)
    points = findings(metrics)
    examples, unshown = _examples(settings, runs)
    accuracy = accuracy_table(metrics)
    results = [accuracy, ablation_table(metrics), criteria_table(metrics)]
    counts = [corpus_table(settings.corpus), generation_table(settings.corpus), runs_table(runs)]
    context = {
        "corpus": settings.corpus.resolve().name,
        "points": points,
        "results": [table for table in results if table],
        "definitions": DEFINITIONS,
        "galleries": galleries,
        "examples": examples,
        "seed": settings.seed,
        "made": made(settings.corpus, runs),
        "counts": [table for table in counts if table],
        "missing": [*untold, *unshown, *_missing(settings.corpus, results)],
    }
    out = settings.corpus / "report"
    for name in ("report.md", "report.html"):
        write_text(out / name, _render(name, context))
    _tell(accuracy)
    for text in points:
        console.say(text)
    console.say(f"report: {out / 'report.md'}, {out / 'report.html'}")


def _tell(accuracy: Table) -> None:
    """Print Table 2 in what fits 80 columns: short names, no counts of instances and seeds."""
    heads = [column.partition(" (")[0] for column in accuracy.columns[2:-1]]
    rows = []
    for row in accuracy.rows:
        name = row.cells[1].replace("generation by ", "").replace(" (no generation)", "")
        rows.append([f"{row.cells[0]} {name}", *row.cells[2:-1]])
    console.table(accuracy.title, ["|L| model", *heads], rows)


def _render(name: str, context: dict[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline", "resources/report"),
        # Corpus text is data: in HTML every value is escaped, in Markdown it stands in code spans.
        autoescape=name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(markdown=markdown, code=code_span, svg=Markup)
    text = environment.get_template(f"{name}.jinja").render(**context)
    # Absent parts leave blank lines behind.
    return re.sub(r"\n{3,}", "\n\n", text)


def _metrics(corpus: Path) -> Metrics:
    path = corpus / "evaluation" / "metrics.json"
    document = read_json(path, remedy="run `conjoin evaluate` first")
    try:
        return Metrics.parse(document)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"not what `conjoin evaluate` writes: {error!r}", path=path, remedy="run it again"
        ) from error


def _galleries(runs: Sequence[Run]) -> tuple[list[_Gallery], list[str]]:
    """The pictures, and what could not be drawn and why."""
    galleries, missing = [], []
    for labelled in sorted({run.labelled for run in runs}):
        block = [run for run in runs if run.labelled == labelled]
        systems = sorted({run.system for run in block}, key=system_key)
        inspecting = [s for s in systems if any(
            run.system == s and run.mode in {"filter", "self-train"} for run in block)]  # fmt: skip
        filtering = [s for s in inspecting if any(
            run.system == s and run.mode == "filter" for run in block)]  # fmt: skip
        about = f"{labelled} labelled sentences"
        curves = figures.learning_curves(block)
        by_label, rare = figures.acceptance_by_label(block)
        accepted = figures.acceptance(block)
        few = ", ".join(f"{label} ({count:,} seen)" for label, count in rare.items())
        for title, panels, drawn, note in (
            (f"Learning curves, {about}", curves, [],
             "Thin: one seed each; thick: their mean, as far as all of them went; grey: the mean of the "
             "baseline. The dashed upright marks where candidates join."),
            (f"Acceptance over time, {about}", [*accepted, *by_label],
             inspecting if accepted else filtering,
             "Share of the candidates examined that were accepted, seeds pooled. By label only for "
             "systems that keep generation's boundaries." + (f" Too rare to draw: {few}." if few else "")),
        ):  # fmt: skip
            if panels:
                keys = [figures.key_of(system, systems) for system in drawn]
                galleries.append(_Gallery(title, panels, keys, note))
        if not curves:
            missing.append(f"No learning curves for {about}: no run has a history.jsonl.")
        if not accepted:
            why = (
                "no validation happened after candidates joined, or too few were examined"
                if inspecting
                else "only runs that inspect no candidates (baseline or δ = 0)"
            )
            missing.append(f"No acceptance figures for {about}: {why}.")
    if not runs:
        missing.append("No learning curves, acceptance figures or examples: no run folders here.")
    return galleries, missing


def _examples(settings: Report, runs: Sequence[Run]) -> tuple[list[_Examples], list[str]]:
    """Table 4 for each system that filters, at the smallest |L|."""
    if not settings.examples:
        return [], []
    filtering = [run for run in runs if run.mode == "filter"]
    least = [run for run in filtering if run.labelled == filtering[0].labelled]
    if not least:
        return [], ["No examples: no run that filters candidates."] if runs else []
    found, missing = [], []
    for system in sorted({run.system for run in least}, key=system_key):
        sources = [
            (run.seed, run.folder / "scored.parquet", settings.corpus / candidates)
            for run in least
            if run.system == system
            and (candidates := run.card.get("settings", {}).get("candidates"))
            and (run.folder / "scored.parquet").is_file()
            and (settings.corpus / candidates).is_dir()
        ]
        if not sources:
            missing.append(f"No examples of {system_phrase(system)}: its files are not there.")
            continue
        accepted, rejected = draw_examples(sources, settings.examples, settings.seed)
        title = f"{system_phrase(system)}, {least[0].labelled} labelled sentences"
        found.append(_Examples(title, accepted, rejected))
    return found, missing


def _missing(corpus: Path, results: Sequence[Table | None]) -> list[str]:
    absent = [
        f"No {what}: {name} is not there."
        for name, what in (("ingest.json", "corpus counts"), ("preparse.json", "parser figures"))
        if not (corpus / name).is_file()
    ]
    if None in results:
        absent.append("No ablation table: no run without filtering or synchronization.")
    return absent
