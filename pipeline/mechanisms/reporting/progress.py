"""The chapter on how training went: acceptance, candidates read, learning curves, loss."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.mechanisms.reporting import acceptances, curves
from pipeline.mechanisms.reporting.acceptancetable import acceptance_table
from pipeline.mechanisms.reporting.drawing import key_of
from pipeline.mechanisms.reporting.runs import BY_LENGTH, Run
from pipeline.mechanisms.reporting.sections import Chapter, Gallery, Section
from pipeline.mechanisms.reporting.systems import system_key

__all__ = ["progress"]


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
    panels = curves.reuse(block)
    note = (
        "Means over seeds. Share of the corpus: of the candidates that generation made, those examined "
        "at least once. Examined before: of all examinations so far, those that were not a candidate’s "
        "first."
    )
    return [Gallery(panels, note=note, wide=True)] if panels else []


def _learning(block: Sequence[Run]) -> list[Gallery]:
    """Validation accuracy over updates, and the loss."""
    galleries = []
    if drawn := curves.learning_curves(block):
        note = (
            "Thin: one seed each; thick: their mean, as far as all of them went; grey: the mean of the "
            "baseline. The dashed upright marks where candidates join."
        )
        galleries.append(Gallery(drawn, note=note))
    if lost := curves.losses(block):
        note = (
            "Mean over seeds of the loss since the validation before. A system’s loss is on its own "
            "batches: a lower one is not a better system."
        )
        galleries.append(Gallery(lost, note=note, wide=True))
    return galleries
