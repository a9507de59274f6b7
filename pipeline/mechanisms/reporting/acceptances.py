"""What the filter accepted over training: of all candidates, by label, and by length of the fill."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pipeline.ground.coordination import REFERENCE_LABELS
from pipeline.mechanisms.reporting.drawing import Panel, key_of
from pipeline.mechanisms.reporting.lines import Line, Points, line_chart
from pipeline.mechanisms.reporting.runs import BY_LABEL, BY_LENGTH, Run
from pipeline.mechanisms.reporting.systems import system_key, system_name

__all__ = ["acceptance", "acceptance_by_label", "acceptance_by_length"]

_ENOUGH = 100  # candidates of a kind seen, below which it has no panel
_BIN = 50  # candidates seen, below which validations are pooled into one point
_LENGTHS = {
    "1 word": (1, 1), "2 words": (2, 2), "3–4 words": (3, 4), "5–8 words": (5, 8), "9+ words": (9, 10),
}  # fmt: skip


def acceptance(runs: Sequence[Run]) -> list[Panel]:
    """Share of examined candidates that were accepted, over updates: all systems with a threshold.

    Seeds are pooled. Empty where no run inspects candidates (baselines, and δ = 0).
    """
    told = [run for run in runs if run.mode in {"filter", "self-train"}]
    curves = {
        system: _pooled([run for run in told if run.system == system], BY_LABEL, None)
        for system in sorted({run.system for run in told}, key=system_key)
    }
    curves = {s: c for s, c in curves.items() if c}
    return [_panel("all candidates", curves, list(curves), told)] if curves else []


def acceptance_by_label(runs: Sequence[Run]) -> tuple[list[Panel], dict[str, int]]:
    """The same for each label of a reference span, with generation's own boundaries (filter) only.

    Returns:
        A panel per label, and the labels left out as too rare, with how many candidates were seen.
    """
    seen = _names(runs, BY_LABEL)
    known = [label for label in REFERENCE_LABELS if label in seen]
    labels = [*known, *sorted(seen - set(known))]
    return _panels(runs, BY_LABEL, {label: {label} for label in labels})


def acceptance_by_length(runs: Sequence[Run]) -> tuple[list[Panel], dict[str, int]]:
    """The same by words in the fill, in the groups of the audit's table of lengths.

    Returns:
        A panel per group, and the groups too rare to draw; neither for runs of before this was kept.
    """
    found = _names(runs, BY_LENGTH)
    groups = {
        title: {name for name in found if low <= int(name.rstrip("+")) <= high}
        for title, (low, high) in _LENGTHS.items()
    }
    return _panels(runs, BY_LENGTH, {title: names for title, names in groups.items() if names})


def _panels(
    runs: Sequence[Run], field: str, groups: Mapping[str, set[str]]
) -> tuple[list[Panel], dict[str, int]]:
    """A panel for each group of names that was seen often enough, and the others with their counts."""
    told = [run for run in runs if run.mode == "filter"]
    systems = sorted({run.system for run in told}, key=system_key)
    panels, rare = [], {}
    for title, names in groups.items():
        seen = sum(count for _, _, count in _counts(told, field, names))
        curves = {s: _pooled([r for r in told if r.system == s], field, names) for s in systems}
        curves = {s: c for s, c in curves.items() if len(c) > 1}
        if seen < _ENOUGH or not curves:
            rare[title] = seen
        else:
            panels.append(_panel(title, curves, systems, told))
    return panels, rare


def _panel(
    title: str, curves: Mapping[str, Points], systems: Sequence[str], runs: Sequence[Run]
) -> Panel:
    lines = [Line(points, key_of(system, systems)) for system, points in curves.items()]
    # All panels of one kind share their axes, whatever is drawn in them.
    span = min(r.warm_steps for r in runs), max(h["step"] for r in runs for h in r.history)
    ends = "; ".join(f"{system_name(s)} ends at {c[-1][1]:.0f} %" for s, c in curves.items())
    svg = line_chart(lines, "accepted, %", span, (0, 100), name=title)
    return Panel(title, f"acceptance over updates, {title}: {ends}", svg)


def _names(runs: Iterable[Run], field: str) -> set[str]:
    return {
        name
        for run in runs
        if run.mode == "filter"
        for record in run.history
        for name in record.get(field, {})
    }


def _counts(
    runs: Iterable[Run], field: str, names: set[str] | None
) -> Iterable[tuple[int, int, int]]:
    """(step, accepted, seen) of every validation, for some names or (None) for all."""
    for run in runs:
        for record in run.history:
            for name, (accepted, seen) in record.get(field, {}).items():
                if names is None or name in names:
                    yield record["step"], accepted, seen


def _pooled(runs: Sequence[Run], field: str, names: set[str] | None) -> Points:
    """Acceptance in per cent over steps, all runs together, in bins of at least ``_BIN`` seen."""
    steps: dict[int, Counter[str]] = defaultdict(Counter)
    for step, accepted, seen in _counts(runs, field, names):
        steps[step].update(accepted=accepted, seen=seen)
    points, waiting = [], Counter[str]()
    for step, counts in sorted(steps.items()):
        waiting.update(counts)
        if waiting["seen"] >= _BIN:
            points.append((float(step), 100 * waiting["accepted"] / waiting["seen"]))
            waiting = Counter()
    return points
