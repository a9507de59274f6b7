"""``conjoin report``: Markdown and one self-contained HTML page from everything a corpus produced.

What is missing is said in the report; only ``evaluation/metrics.json`` must be there. The bytes
depend on the inputs alone (the seconds shown are those that training and ``repro`` recorded).
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.core import console
from pipeline.core.errors import InputError
from pipeline.core.files import read_json, write_text
from pipeline.core.markdown import code_span
from pipeline.core.runs import System, read_runs
from pipeline.report import chapters
from pipeline.report.audit import read_audit
from pipeline.report.charts import PALETTE
from pipeline.report.example_lists import example_lists, offer_sheet
from pipeline.report.findings import findings
from pipeline.report.judgements import Judgements, read_judgements
from pipeline.report.language_models import language_models, model_curves, read_models
from pipeline.report.markdown import Table, markdown, plain
from pipeline.report.paper_tables import accuracy_table
from pipeline.report.results import Metrics
from pipeline.report.sections import Section, sheet
from pipeline.report.settings import Report
from pipeline.report.training_curves import history_files, progress

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
    runs = read_runs(corpus)
    systems = {run.system for run in runs}
    metrics = _metrics(corpus, systems)
    found, why = read_audit(corpus, systems)
    accuracy = accuracy_table(metrics, metrics.main)
    points = findings(metrics)
    before = [
        chapters.results(metrics, accuracy),
        progress(runs, metrics.main, metrics.phrase(metrics.main), corpus),
        chapters.audit(found, why, metrics),
    ]
    judgements, unjudged = _judgements(settings)
    examples, unshown = example_lists(
        metrics, runs, corpus, count=settings.examples, seed=settings.seed, judgements=judgements
    )
    models = read_models(corpus)
    after = [language_models(models), chapters.origin(corpus, metrics, runs, found)]
    out = corpus / "report"
    judging = offer_sheet(
        out / "judgements.csv", examples, judgements, given=settings.judgements, seed=settings.seed
    )
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
        "judging": judging,
        "sensible": judgements.sensible,
        "notes": judgements.notes,
        "after": [section for sections, _ in after for section in sections],
        "missing": [
            *(text for _, missing in before for text in missing),
            *unshown,
            *unjudged,
            *(text for _, missing in after for text in missing),
        ],
    }
    for name in ("report.md", "report.html"):
        write_text(out / name, _render(name, context))
    for name, text in history_files(runs).items():
        write_text(out / name, text)
    write_text(out / "language-models.csv", model_curves(models))
    named = [section for sections, _ in (*before, *after) for section in sections if section.name]
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


def _metrics(corpus: Path, systems: Iterable[System]) -> Metrics:
    path = corpus / "evaluation" / "metrics.json"
    document = read_json(path, remedy="run `conjoin evaluate` first")
    try:
        metrics = Metrics.parse(document, systems)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"not what `conjoin evaluate` writes: {error!r}", path=path, remedy="run it again"
        ) from error
    if not metrics.results:
        raise InputError("has no result", path=path, remedy="run `conjoin evaluate` again")
    return metrics


def _judgements(settings: Report) -> tuple[Judgements, list[str]]:
    """The verdicts of people, if there are any, and a line where the file named is not there."""
    if settings.judgements is None:
        return Judgements(), []
    if not settings.judgements.is_file():
        text = f"No judgements by hand: {settings.judgements} is not there."
        console.say(text)
        return Judgements(), [text]
    return read_judgements(settings.judgements), []
