"""The chapters of a report: each makes the sections of one subject, or says what is missing for it."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.mechanisms.reporting import audit_pictures, audit_tables, curves, intervals
from pipeline.mechanisms.reporting.audits import Audit
from pipeline.mechanisms.reporting.differences import differences
from pipeline.mechanisms.reporting.drawing import key_of
from pipeline.mechanisms.reporting.filtering import filter_facts
from pipeline.mechanisms.reporting.paper_tables import (
    DEFINITIONS,
    ablation_table,
    criteria_table,
    sizes_table,
)
from pipeline.mechanisms.reporting.provenance import (
    corpus_table,
    generation_table,
    made,
    runs_table,
)
from pipeline.mechanisms.reporting.results import Metrics
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.sections import Gallery, Section
from pipeline.mechanisms.reporting.systems import system_key
from pipeline.mechanisms.reporting.tables import Table
from pipeline.mechanisms.reporting.times import times_table

__all__ = ["Chapter", "audit", "origin", "picture", "progress", "results"]

Chapter = tuple[list[Section], list[str]]
"""Sections in their order, and a sentence for each thing that is not there and why."""


def picture(metrics: Metrics) -> Gallery | None:
    """The one picture: every system's accuracy at the main |L|, and its gain over the baseline."""
    block = metrics.block(metrics.main)
    panels = [intervals.accuracy_dots(block), intervals.gain_dots(metrics.gains(block))]
    shown = [panel for panel in panels if panel]
    note = (
        f"{metrics.main} labelled sentences. A boundary is right if the first word of the first conjunct "
        "and the last word of the last both are. sd: over seeds. Interval: over seeds and test instances."
    )
    return Gallery(shown, note=note, wide=True) if shown else None


def results(metrics: Metrics, accuracy: Table) -> Chapter:
    """Tables 2 and 3, the four criteria, and Figure 4."""
    size, missing = metrics.main, []
    sections = [_of(accuracy)]
    ablation = ablation_table(metrics, size)
    if ablation:
        sections.append(_of(ablation))
    else:
        missing.append("No ablation table: no run without filtering or synchronization.")
    if not metrics.gains(metrics.block(size)):
        missing.append("No gains with intervals: evaluation/metrics.json has no comparisons here.")
    by_size = sizes_table(metrics)
    if by_size:
        panels = [intervals.accuracy_over_sizes(metrics), intervals.gain_over_sizes(metrics)]
        systems = sorted({r.system for r in metrics.results}, key=system_key)
        keys = [key_of(system, systems) for system in systems]
        note = "Marks of one |L| are set a little apart, so that no interval hides another."
        gallery = Gallery([panel for panel in panels if panel], keys, note, wide=True)
        sections.append(Section(by_size.title, galleries=[gallery], tables=[_untitled(by_size)]))
    else:
        missing.append(f"No Figure 4: only one number of labelled sentences, {size}.")
    criteria = criteria_table(metrics, size)
    named = list(DEFINITIONS.items())
    sections.append(Section(criteria.title, tables=[_untitled(criteria)], named=named))
    return sections, missing


def progress(runs: Sequence[Run], size: int) -> Chapter:
    """How training went at one |L|: what the filter accepted over time, and the learning curves."""
    if not runs:
        return [], ["No learning curves, acceptance figures or examples: no run folders here."]
    sections, missing = [], []
    block = [run for run in runs if run.labelled == size]
    systems = sorted({run.system for run in block}, key=system_key)
    inspecting = [s for s in systems if any(
        run.system == s and run.mode in {"filter", "self-train"} for run in block)]  # fmt: skip
    filtering = [s for s in inspecting if any(
        run.system == s and run.mode == "filter" for run in block)]  # fmt: skip
    about = f"{size} labelled sentences"
    drawn = curves.learning_curves(block)
    by_label, rare = curves.acceptance_by_label(block)
    accepted = curves.acceptance(block)
    few = ", ".join(f"{label} ({count:,} seen)" for label, count in rare.items())
    for title, panels, named, note in (
        (f"Acceptance over training, {about}", [*accepted, *by_label],
         inspecting if accepted else filtering,
         "Share of the candidates examined that were accepted, seeds pooled. By label only for "
         "systems that keep generation’s boundaries." + (f" Too rare to draw: {few}." if few else "")),
        (f"Learning curves, {about}", drawn, [],
         "Thin: one seed each; thick: their mean, as far as all of them went; grey: the mean of the "
         "baseline. The dashed upright marks where candidates join."),
    ):  # fmt: skip
        if panels:
            keys = [key_of(system, systems) for system in named]
            sections.append(Section(title, galleries=[Gallery(panels, keys, note)]))
    if not drawn:
        missing.append(f"No learning curves for {about}: no run has a history.jsonl.")
    if not accepted:
        why = (
            "no validation happened after candidates joined, or too few were examined"
            if inspecting
            else "only runs that inspect no candidates (baseline or δ = 0)"
        )
        missing.append(f"No acceptance figures for {about}: {why}.")
    return sections, missing


def audit(found: Audit | None, why: str, size: int) -> Chapter:
    """What the grammar says of the annotations: generation's, and what the filter made of them."""
    if not found:
        return [], [f"No annotation audit: {why}."]
    words = (
        "The corpus was made by a grammar, and the grammar can tell of every generated sentence "
        "whether the annotated conjuncts stand in one of its readings. No treebank can.",
    )
    tables = [audit_tables.annotation_table(found), audit_tables.length_table(found)]
    sections = [
        Section(
            "Are the annotations right?",
            words,
            _some(audit_pictures.generation_gallery(found)),
            tables,
        )
    ]
    filtered = [audit_tables.filter_table(found), audit_tables.filter_label_table(found, size)]
    if shown := [table for table in filtered if table]:
        gallery = audit_pictures.filter_gallery(found, size)
        sections.append(Section("Does the filter keep the right ones?", (), _some(gallery), shown))
        return sections, []
    return sections, ["No audit of the filter: no run has judged candidates."]


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
