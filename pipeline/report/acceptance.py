"""What the filter accepted over training: of all candidates, by label, and by length of the fill.

What each system's runs examined and accepted at one |L|, and how varied its candidates are.

What the filter did, in sentences from the audit and from the gains.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from pipeline.core.metrics import Comparison
from pipeline.core.runs import BY_LABEL, BY_LENGTH, Run, System, candidates_at_hand
from pipeline.core.types import REFERENCE_LABELS
from pipeline.report.audit import Audit
from pipeline.report.charts import Line, Panel, Points, key_of, line_chart
from pipeline.report.examples import fill_statistics
from pipeline.report.findings import gain_words
from pipeline.report.markdown import Row, Table
from pipeline.report.paper_tables import points
from pipeline.report.results import (
    Metrics,
    generator_name,
    more_than_noise,
    short_name,
    system_key,
    system_name,
)

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
    title: str, curves: Mapping[System, Points], systems: Sequence[System], runs: Sequence[Run]
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


_INSPECTING = {"filter", "self-train"}


def acceptance_table(runs: Sequence[Run], corpus: Path) -> Table | None:
    """A row for each system with a threshold, its seeds together; None without such runs.

    Candidates that are not at hand leave their columns empty.

    Raises:
        InputError: a shard of candidates is damaged.
    """
    told = [run for run in runs if run.mode in _INSPECTING]
    rows = [
        _row(system, [run for run in told if run.system == system], corpus)
        for system in sorted({run.system for run in told}, key=system_key)
    ]
    if not rows:
        return None
    return Table(
        "Examined and accepted",
        ("Model", "runs", "candidates", "examined", "different", "accepted", "of examined, %",
         "distinct fills, %", "words per fill"),
        tuple(rows),
        note="All seeds together. Candidates: what generation made; of those, different ones were "
        "examined at least once. Accepted and its share count every examination, also of a candidate "
        "that came again. Fills: of all candidates, distinct within a folder." + _warm_alone(runs),
    )  # fmt: skip


def _warm_alone(runs: Sequence[Run]) -> str:
    """Which systems have runs whose predictor no candidate has reached; empty where none has."""
    counted = Counter(run.system for run in runs if run.source)
    alone = Counter(run.system for run in runs if run.is_warm_alone)
    named = ", ".join(
        f"{short_name(system)} ({alone[system]} of {counted[system]} runs)"
        for system in sorted(alone, key=system_key)
    )
    return named and (
        " The best predictor was found before the first candidate joined, so that what stands under "
        f"the system's name learnt from L alone: {named}."
    )


def _row(system: System, runs: Sequence[Run], corpus: Path) -> Row:
    pool, seen, distinct, accepted = (
        _sum(runs, key) for key in ("candidates", "seen", "distinct", "accepted")
    )
    share = f"{100 * accepted / seen:.1f}" if seen and accepted is not None else "–"
    folders = sorted({folder for run in runs if (folder := candidates_at_hand(run, corpus))})
    fills = fill_statistics(folders)
    varied = (
        f"{100 * fills.distinct / fills.candidates:.1f}" if fills.candidates else "–",
        f"{fills.fill_words:.2f}" if fills.candidates else "–",
    )
    counts = ("–" if count is None else f"{count:,}" for count in (pool, seen, distinct, accepted))
    return Row((short_name(system), f"{len(runs)}", *counts, share, *varied))


def _sum(runs: Sequence[Run], key: str) -> int | None:
    """Over all runs; None where one did not record it."""
    values = [run.card.get(key) for run in runs]
    known = [value for value in values if isinstance(value, int)]
    return sum(known) if len(known) == len(values) else None


_ENOUGH_TO_TELL = 20  # judged candidates, below which nothing is said of their share


def filter_facts(metrics: Metrics, audit: Audit | None, runs: Sequence[Run]) -> list[str]:
    """For each generator at the main |L|: whether its filter cleans, and whether it costs."""
    size, facts = metrics.main, []
    filtering = {run.system for run in runs if run.mode == "filter" and run.labelled == size}
    for generator in sorted(filtering, key=system_key):
        if generator.generator is None or generator.variation:
            continue
        entry = next(
            (e for e in (audit.filtered(size) if audit else ()) if e["system"] == generator), None
        )
        parts = [_cleans(entry), _prefers(entry)] if entry else []
        parts += [
            _costs(gain)
            for system, gain in metrics.ablations(size).items()
            if system.variation == "no-filter" and gain.against == generator
        ]
        parts = [part for part in parts if part]
        if parts:
            told = " ".join(_sentence(part) for part in parts)
            facts.append(f"The filter on candidates of {generator_name(generator)}. {told}")
    return facts


def _cleans(entry: Mapping[str, Any]) -> str:
    """Whether more is right among the accepted, by two standard errors of the difference at least."""
    accepted, rejected = entry["accepted"], entry["rejected"]
    sizes = accepted["judged"], rejected["judged"]
    if min(sizes) < _ENOUGH_TO_TELL:
        counts = f"{sizes[0]:,} accepted and {sizes[1]:,} rejected"
        return f"whether it cleans is open: the sample has {counts}"
    shares = accepted["right"], rejected["right"]
    error = sqrt(sum(p * (1 - p) / n for p, n in zip(shares, sizes, strict=True)))
    difference = shares[0] - shares[1]
    verdict = "whether it cleans is open"
    if abs(difference) > 2 * error:
        verdict = "it cleans" if difference > 0 else "it keeps the wrong ones"
    return (
        f"{verdict}: {100 * shares[0]:.1f} % of the {sizes[0]:,} accepted annotations in the sample are "
        f"right, against {100 * shares[1]:.1f} % of the {sizes[1]:,} rejected"
    )


def _prefers(entry: Mapping[str, Any]) -> str:
    """Which labels the filter lets in most and least often."""
    shares = sorted(
        (figures["acceptance"], label)
        for label, figures in entry["by_label"].items()
        if figures["judged"] >= _ENOUGH_TO_TELL
    )
    if len(shares) < 2:
        return ""
    (least, last), (most, first) = shares[0], shares[-1]
    return f"it lets in {first} most often ({100 * most:.1f} %) and {last} least often ({100 * least:.1f} %)"


def _costs(without: Comparison) -> str:
    """``without`` is the gain of training without the filter over training with it."""
    verdict = "it costs accuracy" if without.gain > 0 else "it raises accuracy"
    if not more_than_noise(without):
        verdict = "whether it costs accuracy is open"
    return (
        f"{verdict}: leaving it out changes the overall figure by {points(without.gain)} points "
        f"({gain_words(without)})"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
