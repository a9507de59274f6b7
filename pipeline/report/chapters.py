"""The chapters of a report: each makes the sections of one subject, or says what is missing for it."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.runs import Run
from pipeline.report import accuracy_figures, audit_section
from pipeline.report.acceptance import filter_facts
from pipeline.report.audit import Audit
from pipeline.report.findings import caveat, comparisons_table, ordered, sentence
from pipeline.report.markdown import Table
from pipeline.report.paper_tables import DEFINITIONS, ablation_table, criteria_table, sizes_table
from pipeline.report.provenance import (
    corpus_table,
    differences,
    generation_table,
    made,
    runs_table,
    times_table,
)
from pipeline.report.results import Metrics, short_name
from pipeline.report.sections import Chapter, Gallery, Section


def picture(metrics: Metrics) -> Gallery | None:
    """The one picture: every system's accuracy at the main |L|, and its gain over the baseline."""
    block = metrics.block(metrics.main)
    panels = [
        accuracy_figures.accuracy_dots(block),
        accuracy_figures.gain_dots(metrics.gains(block)),
    ]
    shown = [panel for panel in panels if panel]
    about = metrics.phrase(metrics.main)
    note = (
        f"{about[:1].upper()}{about[1:]}. A boundary is right if the first word of the first conjunct "
        "and the last word of the last both are. sd: over seeds. Interval: over seeds and test instances."
    )
    return Gallery(shown, note=note, wide=True) if shown else None


def results(metrics: Metrics, accuracy: Table) -> Chapter:
    """Tables 2 and 3, Figure 4, what is more than noise, and the four criteria."""
    size, missing = metrics.main, []
    sections = [_of(accuracy)]
    ablations = [
        (table, accuracy_figures.ablation_dots(metrics.ablations(other)))
        for other in sorted(metrics.sizes, key=lambda other: (other != size, other))
        if (table := ablation_table(metrics, other))
    ]
    for number, (table, panel) in enumerate(ablations):
        gallery = Gallery([panel], wide=True) if panel else None
        name = "" if number else "ablation"  # the first is of the main |L|
        sections.append(Section(table.title, (), _some(gallery), [_untitled(table)], name=name))
    if not ablations:
        missing.append("No ablation table: no run without filtering or synchronization.")
    if not metrics.gains(metrics.block(size)):
        missing.append("No gains with intervals: evaluation/metrics.json has no comparisons here.")
    by_size = sizes_table(metrics)
    if by_size:
        gallery = figure(metrics)
        tables = [_untitled(by_size)]
        sections.append(Section(by_size.title, (), _some(gallery), tables, name="figure-4"))
        if not gallery:
            missing.append("No Figure 4: no system was run with two numbers of labelled sentences.")
    else:
        missing.append(
            f"No Figure 4: only one number of labelled sentences, {metrics.label(size)}."
        )
    sections += _noise(metrics)
    criteria = criteria_table(metrics, size)
    named = list(DEFINITIONS.items())
    sections.append(Section(criteria.title, tables=[_untitled(criteria)], named=named))
    return sections, missing


def figure(metrics: Metrics) -> Gallery | None:
    """Figure 4: accuracy and gain over |L|; None where no system was run at two of them."""
    panels = [
        accuracy_figures.accuracy_over_sizes(metrics),
        accuracy_figures.gain_over_sizes(metrics),
    ]
    shown = [panel for panel in panels if panel]
    if not shown:
        return None
    note = "Marks of one |L| are set a little apart, so that no interval hides another."
    if single := accuracy_figures.curves_over_sizes(metrics)[1]:
        names = "; ".join(short_name(system) for system in single)
        note += f" Run at one |L| only, and so in the tables alone: {names}."
    return Gallery(shown, note=note, wide=True)


def _noise(metrics: Metrics) -> list[Section]:
    """A sentence for each comparison: those of the main |L| at once, the others on demand."""
    facts = {
        size: [sentence(gain, metrics) for gain in ordered(metrics, size)] for size in metrics.sizes
    }
    table = comparisons_table(metrics)
    if not table:
        return []
    main = facts.pop(metrics.main)
    rest = [text for texts in facts.values() for text in texts]
    first = Section("More than noise?", words=[caveat(metrics)], facts=main)
    return [first, Section("All comparisons, one by one", tables=[table], facts=rest, folded=True)]


def audit(found: Audit | None, why: str, metrics: Metrics) -> Chapter:
    """What the grammar says of the annotations: generation's, and what the filter made of them."""
    if not found:
        return [], [f"No annotation audit: {why}."]
    words = (
        "The corpus was made by a grammar, and the grammar can tell of every generated sentence "
        "whether the annotated conjuncts stand in one of its readings. No treebank can.",
    )
    tables = [audit_section.annotation_table(found), audit_section.length_table(found)]
    gallery = audit_section.generation_gallery(found)
    sections, missing = [Section("Are the annotations right?", words, _some(gallery), tables)], []
    if not found.generation:
        sections, missing = [], ["No audit of generation: no candidates in the corpus folder."]
    size, about = metrics.main, metrics.phrase(metrics.main)
    filtered = [
        audit_section.filter_table(found, metrics.label),
        audit_section.filter_label_table(found, size, about),
    ]
    if shown := [table for table in filtered if table]:
        gallery = audit_section.filter_gallery(found, size, about)
        sections.append(Section("Does the filter keep the right ones?", (), _some(gallery), shown))
        return sections, missing
    return sections, [*missing, "No audit of the filter: no run has judged candidates at hand."]


def origin(corpus: Path, metrics: Metrics, runs: Sequence[Run], found: Audit | None) -> Chapter:
    """Differences from the paper, run times, how all was made, and counts."""
    sections, missing = [], []
    facts = [*differences(corpus, runs), *filter_facts(metrics, found, runs)]
    if facts:
        sections.append(
            Section("What differs from the paper, and what the filter did", facts=facts)
        )
    times = times_table(corpus)
    if times:
        sections.append(_of(times))
    else:
        missing.append("No run times: times.json beside the corpus folder has none of this corpus.")
    for table in (corpus_table(corpus), generation_table(corpus)):
        if table:
            sections.append(_of(table))
    if made_of := made(corpus, runs):
        sections.append(Section("How it was made", named=made_of))
    if one_by_one := runs_table(runs):
        sections.append(Section(one_by_one.title, tables=[_untitled(one_by_one)], folded=True))
    for name, what in (("ingest.json", "corpus counts"), ("preparse.json", "parser figures")):
        if not (corpus / name).is_file():
            missing.append(f"No {what}: {name} is not there.")
    return sections, missing


def _of(table: Table) -> Section:
    return Section(table.title, tables=[_untitled(table)])


def _untitled(table: Table) -> Table:
    """The table of a section that bears its title."""
    return Table("", table.columns, table.rows, table.names, table.note)


def _some(gallery: Gallery | None) -> list[Gallery]:
    return [gallery] if gallery else []
