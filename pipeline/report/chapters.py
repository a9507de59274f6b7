"""The contents of a report: a function for each chapter, and :data:`CONTENTS`, which orders them.

A section is what stands under one heading: a table, with words and pictures. To add a table, write a
function that yields its section and name it in that mapping. Where there is nothing to show it yields a
fact that says why, or nothing: ``comparisons`` are missing with the gains of ``accuracy`` and
``filtering`` with the audit of ``annotations``, which say so; without differences ``from_paper`` is empty.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.corpora import COORDINATION
from pipeline.core.runs import Run
from pipeline.report import accuracy_figures as figures
from pipeline.report import audit as audits
from pipeline.report import provenance, training_curves
from pipeline.report.audit import Audit
from pipeline.report.charts import Panel
from pipeline.report.comparisons import across_table, caveat, comparisons_table
from pipeline.report.differences import differences
from pipeline.report.findings import findings
from pipeline.report.generations import unfinished_folders
from pipeline.report.language_models import LanguageModel, model_tables, unkept
from pipeline.report.markdown import Table
from pipeline.report.paper_tables import (
    ablation_table,
    accuracy_table,
    criteria_table,
    sizes_table,
)
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics
from pipeline.report.sections import ExampleList, Part, Section


@dataclass(frozen=True, slots=True)
class ReportMaterial:
    """What a report is made from: everything read of one corpus folder.

    ``audit`` is None where there is none, and ``no_audit`` says why. ``generated`` are examples of each
    folder of candidates, ``examples`` those that systems accepted and rejected; ``judging`` is said above the
    latter; ``withheld`` says of how many of either the text must not be handed on; ``unshown`` says which
    examples and judgements there could not be, and ``unanswered`` which ``answers``.
    """

    corpus: Path
    metrics: Metrics
    runs: Sequence[Run]
    audit: Audit | None
    no_audit: Fact | None
    models: Sequence[LanguageModel]
    examples: Sequence[ExampleList]
    generated: Sequence[ExampleList]
    withheld: Fact | None
    seed: int
    judging: Sequence[Fact]
    unshown: Sequence[Fact]
    answers: Section | None
    unanswered: Sequence[Fact]

    @property
    def size(self) -> int:
        """The |L| that the report is about."""
        return self.metrics.main

    @property
    def about(self) -> str:
        """That |L| as it is called within a sentence."""
        return self.metrics.phrase(self.size)


def accuracy(found: ReportMaterial) -> Iterator[Part]:
    """The findings, Table 2, and accuracies, gains and their intervals as a picture."""
    metrics, block = found.metrics, found.metrics.block(found.size)
    gains = metrics.gains(block)
    name = found.metrics.words.name
    panels = [*figures.accuracy_dots(block, figure=name), *figures.gain_dots(gains)]
    words = [Fact("findings.paragraph", found=findings(metrics, found.runs))]
    yield _of(accuracy_table(metrics, found.size), panels, name="accuracy", words=words)
    if not gains and any(result.system.has_candidates for result in block):
        yield Fact("missing.gains", parsers=metrics.words.parsers)


def ablation(found: ReportMaterial) -> Iterator[Part]:
    """Table 3 at every |L|, that of the report first, with what each variation changes."""
    name = "ablation"
    for size in sorted(found.metrics.sizes, key=lambda size: (size != found.size, size)):
        if table := ablation_table(found.metrics, size):
            yield _of(table, figures.ablation_dots(found.metrics.ablations(size)), name=name)
            name = ""
    if name:
        yield Fact("missing.ablation")


def sizes(found: ReportMaterial) -> Iterator[Part]:
    """Figure 4 and its numbers: accuracy and gain over |L|."""
    metrics = found.metrics
    if table := sizes_table(metrics):
        panels = [*figures.accuracy_over_sizes(metrics), *figures.gain_over_sizes(metrics)]
        single = figures.curves_over_sizes(metrics)[1]
        note = Fact("notes.one_size", systems=single) if single and panels else None
        yield _of(table, panels, note=note, name="figure-4")
        if not panels:
            yield Fact("missing.curves", unit=metrics.words.unit)
    else:
        yield Fact("missing.sizes", size=metrics.label(found.size), unit=metrics.words.unit)


def comparisons(found: ReportMaterial) -> Iterator[Part]:
    """Every comparison, and whether it is more than noise."""
    if table := comparisons_table(found.metrics):
        doubt = caveat(found.metrics)
        yield Section(table.title, [doubt] if doubt else [], tables=[table])
    if table := across_table(found.metrics):
        yield Section(table.title, tables=[table])


def criteria(found: ReportMaterial) -> Iterator[Part]:
    """The field's four criteria."""
    if not found.metrics.words.criteria:
        return
    table = criteria_table(found.metrics, found.size)
    yield Section(table.title, tables=[table], named=list(found.metrics.words.criteria.items()))


def training(found: ReportMaterial) -> Iterator[Part]:
    """Acceptance, candidates read and learning curves."""
    figure = found.metrics.words.name
    return training_curves.training(found.runs, found.size, found.about, found.corpus, figure)


def annotations(found: ReportMaterial) -> Iterator[Part]:
    """The audit of generation: shares of right annotations."""
    if not found.audit:
        if found.no_audit:
            yield found.no_audit
    elif not found.audit.generation:
        yield Fact("missing.audited_candidates")
    else:
        yield Section(
            "Are the annotations right?",
            [Fact("examples.judge", judge=found.audit.judge)],
            tables=[
                audits.annotation_table(found.audit),
                audits.label_table(found.audit),
                audits.length_table(found.audit),
            ],
        )


def filtering(found: ReportMaterial) -> Iterator[Part]:
    """The audit of the filter: what it accepted against what it rejected."""
    if not found.audit:
        return
    tables = [
        audits.filter_table(found.audit, found.metrics),
        audits.filter_label_table(found.audit, found.size, found.about),
    ]
    if any(tables):
        title = "Does the filter keep the right ones?"
        yield Section(title, tables=[table for table in tables if table])
    else:
        yield Fact("missing.filter_audit")


def generated(found: ReportMaterial) -> Iterator[Part]:
    """Candidates of each generation as they were made, with nobody's choice among them, and what for."""
    if table := provenance.confusions_table(found.corpus):
        yield _of(table)
    if found.generated:
        words = [Fact("examples.of_generations", seed=found.seed, task=found.metrics.task)]
        yield Section("What each generation made", words, examples=found.generated)
    if found.withheld:
        yield found.withheld
    for folder in unfinished_folders(found.corpus):
        yield Fact("missing.unfinished", folder=folder)


def examples(found: ReportMaterial) -> Iterator[Part]:
    """What each system accepted and rejected, for people to judge."""
    if found.examples:
        words = [Fact("examples.of_systems", seed=found.seed), *found.judging]
        yield Section("What was accepted, and what rejected", words, examples=found.examples)
    yield from found.unshown


def answers(found: ReportMaterial) -> Iterator[Part]:
    """What two systems said of drawn instances."""
    if found.answers:
        yield found.answers
    yield from found.unanswered


def language_models(found: ReportMaterial) -> Iterator[Part]:
    """What each language model is and read, how well it fills, and what its training took."""
    if found.models:
        yield Section("Language models", tables=model_tables(found.models))
        yield from unkept(found.models)
    else:
        yield Fact("missing.models")


def from_paper(found: ReportMaterial) -> Iterator[Part]:
    """Differences from the paper."""
    if facts := differences(found.corpus, found.runs):
        yield Section("What differs from the paper", facts=facts)


def times(found: ReportMaterial) -> Iterator[Part]:
    """Run times."""
    if table := provenance.times_table(found.corpus):
        yield _of(table)
    else:
        yield Fact("missing.times")


def counts(found: ReportMaterial) -> Iterator[Part]:
    """Counts of the corpus and of generation, the settings, and all runs."""
    own = found.metrics.task == COORDINATION
    generation = provenance.generation_table(found.corpus, found.metrics.task)
    for table in (provenance.corpus_table(found.corpus), generation):
        if table:
            yield _of(table)
    if chosen := provenance.selections(found.corpus):
        yield Section("How candidates were chosen", named=chosen)
    if made := provenance.made(found.corpus, found.runs):
        yield Section("How it was made", named=made)
    if runs := provenance.runs_table(found.runs):
        yield Section(runs.title, tables=[runs])
    for name in ("ingest.json", "preparse.json") if own else ("ingest.json",):
        if not (found.corpus / name).is_file():
            yield Fact("missing.card", file=name)


CONTENTS: Mapping[str, Callable[[ReportMaterial], Iterable[Part]]] = {
    "Accuracy": accuracy,
    "Ablation": ablation,
    "Sizes of L": sizes,
    "Comparisons": comparisons,
    "Criteria": criteria,
    "Training": training,
    "Annotations": annotations,
    "Filter": filtering,
    "Generated": generated,
    "Accepted, rejected": examples,
    "Answers": answers,
    "Language models": language_models,
    "The paper": from_paper,
    "Times": times,
    "Corpus and settings": counts,
}
"""The chapters of a report in their order: what the page's contents call each → what makes it."""


def _of(
    table: Table,
    panels: Sequence[Panel] = (),
    note: Fact | None = None,
    name: str = "",
    words: Sequence[Fact] = (),
) -> Section:
    """A section of one table, which gives it its title, and of what is drawn and said of it."""
    return Section(table.title, words, panels, note, tables=[table], wide=True, name=name)
