"""``conjoin report``: Markdown and one self-contained HTML page from everything a corpus produced.

What is missing is said in the report; only ``evaluation/metrics.json`` must be there. The bytes
depend on the inputs alone (the seconds shown are those that training and ``repro`` recorded).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.ground import console
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json, write_text
from pipeline.mechanisms.reporting import chapters
from pipeline.mechanisms.reporting.audits import read_audit, read_verdicts
from pipeline.mechanisms.reporting.drawing import PALETTE
from pipeline.mechanisms.reporting.examples import draw_examples
from pipeline.mechanisms.reporting.findings import better_generator, findings
from pipeline.mechanisms.reporting.histories import history_files
from pipeline.mechanisms.reporting.paper_tables import accuracy_table
from pipeline.mechanisms.reporting.pictures import sheet
from pipeline.mechanisms.reporting.progress import progress
from pipeline.mechanisms.reporting.results import Metrics
from pipeline.mechanisms.reporting.runs import Run, candidates_at_hand, not_at_hand, read_runs
from pipeline.mechanisms.reporting.sections import ExampleList, Section
from pipeline.mechanisms.reporting.systems import system_key, system_phrase
from pipeline.mechanisms.reporting.tables import Table, code_span, markdown, plain
from pipeline.settings.report import Report

__all__ = ["run"]

_VERDICTS = {
    "right": ("✓", "right"),
    "odd": ("✓", "right but odd"),
    "other": ("✗", "other conjuncts"),
    "ungrammatical": ("✗", "ungrammatical"),
}
"""The oracle's verdict as a sign and in words, for colour alone tells not everyone."""


def run(settings: Report) -> None:
    """Write ``report/`` (report.md, report.html, histories as CSV, pictures) and print Table 2.

    Raises:
        InputError: ``evaluation/metrics.json`` is missing, or a file is damaged.
    """
    corpus = settings.corpus
    metrics = _metrics(corpus)
    runs = read_runs(corpus)
    found, why = read_audit(corpus)
    accuracy = accuracy_table(metrics, metrics.main)
    points = findings(metrics)
    before = [
        chapters.results(metrics, accuracy),
        progress(runs, metrics.main, metrics.phrase(metrics.main)),
        chapters.audit(found, why, metrics),
    ]
    examples, unshown = _examples(settings, metrics, runs)
    after = chapters.origin(corpus, metrics, runs, found)
    picture = chapters.picture(metrics)
    context = {
        "corpus": corpus.resolve().name,
        "palette": PALETTE,
        "points": points,
        "picture": picture,
        "before": [section for sections, _ in before for section in sections],
        "examples": examples,
        "verdicts": _VERDICTS,
        "audited": any(e.verdict for group in examples for e in (*group.accepted, *group.rejected)),
        "seed": settings.seed,
        "after": after[0],
        "missing": [*(text for _, missing in before for text in missing), *unshown, *after[1]],
    }
    out = corpus / "report"
    for name in ("report.md", "report.html"):
        write_text(out / name, _render(name, context))
    for name, text in history_files(runs).items():
        write_text(out / name, text)
    named = [section for sections, _ in (*before, after) for section in sections if section.name]
    about = metrics.phrase(metrics.main)
    overall = Section(
        f"Accuracy and gain, {about}", galleries=[picture] if picture else [], name="accuracy"
    )
    _write_pictures(out / "pictures", [overall, *named])
    _tell(accuracy)
    for text in points:
        console.say(text)
    console.say(f"report: {out / 'report.md'}, {out / 'report.html'}")


def _write_pictures(folder: Path, sections: Sequence[Section]) -> None:
    """The pictures of sections as files, and none of an earlier report."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.svg"):
        stale.unlink()
    for section in sections:
        if section.galleries:
            write_text(folder / f"{section.name}.svg", sheet(section.title, section.galleries))


def _tell(accuracy: Table) -> None:
    """Print what fits 80 columns of Table 2: overall and the gain, not the categories."""
    count = 4 if "Gain" in accuracy.columns else 2
    rows = [
        [
            row.cells[0].replace("generation by ", "").replace(" (no generation)", ""),
            *row.cells[1:count],
        ]
        for row in accuracy.rows
    ]
    console.table(accuracy.title, list(accuracy.columns[:count]), rows)


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
    environment.filters.update(
        markdown=markdown,
        code=code_span,
        plain=plain,
        svg=Markup,
        figure=_figure,
        capfirst=_capitalized,
    )
    text = environment.get_template(f"{name}.jinja").render(**context)
    # Absent parts leave blank lines behind.
    return re.sub(r"\n{3,}", "\n\n", text)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figure(cell: str) -> Markup:
    """A cell whose deviation, or what stands in brackets, stands back behind its figure."""
    parts = re.fullmatch(r"(\S+) (± \S+|\(.*\))", cell)
    if not parts:
        return escape(cell)
    if "…" in parts[2]:  # an interval is too long to stand beside its figure
        return Markup('{} <small class="below">{}</small>').format(parts[1], parts[2])
    return Markup("{} <small>{}</small>").format(parts[1], parts[2])


def _metrics(corpus: Path) -> Metrics:
    path = corpus / "evaluation" / "metrics.json"
    document = read_json(path, remedy="run `conjoin evaluate` first")
    try:
        metrics = Metrics.parse(document)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"not what `conjoin evaluate` writes: {error!r}", path=path, remedy="run it again"
        ) from error
    if not metrics.results:
        raise InputError("has no result", path=path, remedy="run `conjoin evaluate` again")
    return metrics


def _examples(
    settings: Report, metrics: Metrics, runs: Sequence[Run]
) -> tuple[list[ExampleList], list[str]]:
    """Table 4 for each system that filters, at the main |L|: the better generator's stands open."""
    if not settings.examples:
        return [], []
    size = metrics.main
    filtering = [run for run in runs if run.mode == "filter" and run.labelled == size]
    if not filtering:
        return [], ["No examples: no run that filters candidates."] if runs else []
    verdicts = read_verdicts(settings.corpus)
    better = better_generator(metrics)
    found: list[ExampleList] = []
    sources = {run.folder: candidates_at_hand(run, settings.corpus) for run in filtering}
    lacking = not_at_hand([run for run in filtering if not sources[run.folder]])
    missing = [f"{lacking} Examples cannot show them."] if lacking else []
    order = sorted({run.system for run in filtering}, key=lambda s: (s != better, system_key(s)))
    for system in order:
        drawn = [
            (run.seed, scored, shards)
            for run in filtering
            if run.system == system
            and (shards := sources[run.folder])
            and (scored := run.folder / "scored.parquet").is_file()
        ]
        if not drawn:
            missing.append(f"No examples of {system_phrase(system)}: its files are not there.")
            continue
        lists = draw_examples(drawn, settings.examples, settings.seed, verdicts)
        title = f"{system_phrase(system)}, {metrics.phrase(size)}"
        found.append(ExampleList(title, *lists, folded=bool(found)))
    return found, missing
