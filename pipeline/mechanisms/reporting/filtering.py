"""What the filter did, in sentences from the audit and from the gains."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.reporting.audits import Audit
from pipeline.mechanisms.reporting.findings import gain_words
from pipeline.mechanisms.reporting.paper_tables import points
from pipeline.mechanisms.reporting.results import Metrics, more_than_noise
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import generator_name, parts_of, system_key

__all__ = ["filter_facts"]

_ENOUGH = 20  # judged candidates, below which nothing is said of their share


def filter_facts(metrics: Metrics, audit: Audit | None, runs: Sequence[Run]) -> list[str]:
    """For each generator at the main |L|: whether its filter cleans, and whether it costs."""
    size, facts = metrics.main, []
    filtering = {run.system for run in runs if run.mode == "filter" and run.labelled == size}
    for generator in sorted(filtering, key=system_key):
        if parts_of(generator) != (generator, None):
            continue
        entry = next(
            (e for e in (audit.filtered(size) if audit else ()) if e["system"] == generator), None
        )
        parts = [_cleans(entry), _prefers(entry)] if entry else []
        without = metrics.gain(size, f"{generator}-no-filter", generator)
        if without:
            parts.append(_costs(without))
        parts = [part for part in parts if part]
        if parts:
            told = " ".join(_sentence(part) for part in parts)
            facts.append(f"The filter on candidates of {generator_name(generator)}. {told}")
    return facts


def _cleans(entry: Mapping[str, Any]) -> str:
    """Whether more is right among the accepted, by two standard errors of the difference at least."""
    accepted, rejected = entry["accepted"], entry["rejected"]
    sizes = accepted["judged"], rejected["judged"]
    if min(sizes) < _ENOUGH:
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
        if figures["judged"] >= _ENOUGH
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
