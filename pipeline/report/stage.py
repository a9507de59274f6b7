"""``conjoin report``: Markdown and one self-contained HTML page from everything a corpus produced.

What is missing is said in the report; only ``evaluation/metrics.json`` must be there. The bytes
depend on the inputs alone (the seconds shown are those that training and ``repro`` recorded).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.core import console
from pipeline.core.cards.evaluation import MetricsCard
from pipeline.core.corpora import COORDINATION
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_text
from pipeline.core.markdown import points
from pipeline.core.runs import System, read_runs
from pipeline.report.answers import answers_section
from pipeline.report.audit import read_audit
from pipeline.report.chapters import CONTENTS, ReportMaterial
from pipeline.report.examples import example_lists, place_of, to_hand_on
from pipeline.report.figure_words import OF_COORDINATION
from pipeline.report.generations import generation_lists
from pipeline.report.judgements import HandJudgement, offer_sheet, read_judgements
from pipeline.report.language_models import model_curves, read_models
from pipeline.report.next_steps import next_steps
from pipeline.report.opening import (
    Headline,
    cautions,
    headline,
    is_of_variants,
    opening_panels,
    unhelpful,
    verdicts,
)
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics
from pipeline.report.sections import Chapter, Section, is_picture, picture, render
from pipeline.report.settings import ReportSettings
from pipeline.report.training_curves import history_files


def run(settings: ReportSettings) -> None:
    """Write ``report/`` (report.md, report.html, histories as CSV, pictures) and print what it opens with.

    Raises:
        InputError: ``evaluation/metrics.json`` is missing, or a file is damaged.
    """
    found, out = read_material(settings), settings.corpus / "report"
    chapters, missing = chapters_of(found)
    answers = verdicts(found.metrics)
    panels = opening_panels(found.metrics, answers)
    of_variants = is_of_variants(answers)
    title = str(Fact("opening.title", of_variants=of_variants))
    opening = Section(title, panels=panels, wide=True, name="opening")
    steps = []
    if found.metrics.task == COORDINATION:  # whose commands they name
        steps = next_steps(found.metrics, answers, found.runs, settings.corpus)
    context = {
        "corpus": console.one_line(settings.corpus.resolve().name),  # it need not be UTF-8
        "split": found.metrics.split,
        "compared": found.metrics.words.compared,
        "of_variants": of_variants,
        "headline": headline(answers, found.metrics.words.unit),
        "answers": answers,
        "notes": [*cautions(answers), *unhelpful(found.metrics, answers)],
        "opening": opening,
        "steps": steps,
        "chapters": chapters,
        "missing": missing,
    }
    files = {name: render(name, context) for name in ("report.md", "report.html")}
    files |= history_files(found.runs) | {"language-models.csv": model_curves(found.models)}
    for name, text in files.items():
        write_text(out / name, text)
    sections = [section for chapter in chapters for section in chapter.sections]
    _write_pictures(out / "pictures", [opening, *sections])
    _print(answers, found.metrics)
    console.say(f"report: {out / 'report.md'}, {out / 'report.html'}")


def chapters_of(found: ReportMaterial) -> tuple[list[Chapter], list[Fact]]:
    """The chapters that there are, and what is not there."""
    chapters, missing = [], []
    own = found.metrics.task == COORDINATION
    for name, make in CONTENTS.items():
        if name in OF_COORDINATION and not own:
            continue
        parts = list(make(found))
        sections = [part for part in parts if isinstance(part, Section)]
        missing += [part for part in parts if isinstance(part, Fact)]
        if sections:
            chapters.append(Chapter(name, sections))
    return chapters, missing


def read_material(settings: ReportSettings) -> ReportMaterial:
    """Everything that the report is made from; the sheet of examples to judge is written."""
    corpus = settings.corpus
    runs, models = read_runs(corpus), read_models(corpus)
    systems = {run.system for run in runs}
    metrics = _metrics(corpus, systems)
    answers, unanswered = answers_section(
        corpus, metrics, count=settings.examples, seed=settings.seed, own_use=settings.own_use
    )
    for fact in unanswered:
        console.say(str(fact))
    generated = generation_lists(corpus, metrics.task, count=settings.examples, seed=settings.seed)
    generated, of_generations = to_hand_on(generated, own_use=settings.own_use)
    if metrics.task != COORDINATION:  # whose candidates nobody judges
        return ReportMaterial(
            corpus, metrics, runs, None, None, models, [], generated, _withheld(of_generations),
            settings.seed, [], [], answers, unanswered,
        )  # fmt: skip
    audit, no_audit = read_audit(corpus, systems)
    judgements, unjudged = _judgements(settings.judgements)
    examples, unshown = example_lists(
        metrics, runs, corpus, count=settings.examples, seed=settings.seed, judgements=judgements
    )
    examples, of_systems = to_hand_on(examples, own_use=settings.own_use)
    withheld = _withheld(of_systems + of_generations)
    judging = offer_sheet(
        corpus / "report" / "judgements.csv", examples, judgements, given=settings.judgements,
        order=lambda name: place_of(settings.seed, name),
    )  # fmt: skip
    return ReportMaterial(
        corpus, metrics, runs, audit, no_audit, models, examples, generated, withheld,
        settings.seed, judging, [*unshown, *unjudged], answers, unanswered,
    )  # fmt: skip


def _withheld(count: int) -> Fact | None:
    """That so many drawn candidates must not be handed on, said at once, too; None where there are none."""
    if not count:
        return None
    fact = Fact("missing.withheld", count=count, what="candidates")
    console.say(str(fact))
    return fact


def _write_pictures(folder: Path, sections: Sequence[Section]) -> None:
    """The pictures of sections as files, and none of an earlier report; other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in filter(is_picture, folder.glob("*.svg")):
        stale.unlink()
    for section in sections:
        if section.name and section.panels:
            write_text(folder / f"{section.name}.svg", picture(section))


def _print(answers: Sequence[Headline], metrics: Metrics) -> None:
    """Print what the report opens with: a row for each |L| and level of annotation, then the headline."""
    rows = [
        (
            str(each.labelled), each.best.annotated if each.best else "",
            str(Fact("opening.accuracies", verdict=each)),
            points(each.gain.gain) if each.gain else "",
            str(Fact("opening.interval", gain=each.gain)) if each.gain else "",
        )
        for each in answers
    ]  # fmt: skip
    console.table(
        str(Fact("opening.figures", split=metrics.split, compared=metrics.words.compared,
                 of_variants=is_of_variants(answers))),
        ("|L|", "annotated", "without → with", "gain", "interval"), rows,
    )  # fmt: skip
    for fact in (headline(answers, metrics.words.unit), *cautions(answers)):
        console.say(str(fact))


def _metrics(corpus: Path, systems: Iterable[System]) -> Metrics:
    path = corpus / "evaluation" / "metrics.json"
    document = read_json(path, MetricsCard, remedy="run `conjoin evaluate` first")
    metrics = Metrics.parse(document, systems)
    if not metrics.results:
        raise InputError("has no result", path=path, remedy="run `conjoin evaluate` again")
    return metrics


def _judgements(path: Path | None) -> tuple[Mapping[str, HandJudgement], list[Fact]]:
    """The verdicts of people, if there are any, and that the file named is not there."""
    if path is None or path.is_file():
        return read_judgements(path) if path else {}, []
    fact = Fact("missing.judgements", path=path)
    console.say(str(fact))
    return {}, [fact]
