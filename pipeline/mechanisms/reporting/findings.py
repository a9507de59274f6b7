"""The point of a report in plain sentences, written from the numbers."""

from collections.abc import Sequence
from statistics import fmean

from pipeline.mechanisms.reporting.results import Metrics, Result
from pipeline.mechanisms.reporting.systems import BASELINE, system_phrase
from pipeline.mechanisms.reporting.tables import percent

__all__ = ["findings"]

_ENOUGH = 3  # seeds below which no comparison is drawn


def findings(metrics: Metrics) -> list[str]:
    """Two sentences for each |L|: who is best and by how much, and how far that can be trusted."""
    sizes = sorted({result.labelled for result in metrics.results})
    return [text for size in sizes for text in _about(metrics.block(size), metrics.split, size)]


def _about(block: Sequence[Result], split: str, size: int) -> list[str]:
    known = [result for result in block if result.mean["overall"] is not None]
    baseline = next((r for r in known if r.system == BASELINE), None)
    others = [r for r in known if r.system != BASELINE]
    begin = f"With {size} labelled sentences,"
    if not others:
        if baseline is None:
            return [f"{begin} no run could be scored."]
        return [
            f"{begin} the baseline finds {_share(baseline)} of the outer boundaries on {split} "
            f"({_seeds(baseline)}).",
            "Nothing but the baseline has been run, so there is nothing to compare it with.",
        ]
    best = max(others, key=_overall)
    among = f", the best of {len(others)} systems with generation," if len(others) > 1 else ""
    if baseline is None:
        return [
            f"{begin} {system_phrase(best.system)}{among} finds {_share(best)} of the outer "
            f"boundaries on {split} ({_seeds(best)}).",
            "There is no baseline run, so no gain can be stated.",
        ]
    gain = 100 * (_overall(best) - _overall(baseline))
    if gain > 0:
        first = (
            f"{begin} {system_phrase(best.system)}{among} finds {_share(best)} of the outer "
            f"boundaries on {split}, {gain:.2f} points more than the baseline "
            f"({_share(baseline)}; {_seeds(best)})."
        )
    else:
        less = f"{-gain:.2f} points less" if gain else "just as many"
        first = (
            f"{begin} nothing beats the baseline, which finds {_share(baseline)} of the outer "
            f"boundaries on {split}: {system_phrase(best.system)}{among} finds {_share(best)}, "
            f"{less} ({_seeds(best)})."
        )
    return [first, _trust(best, baseline)]


def _trust(best: Result, baseline: Result) -> str:
    """How far the difference can be trusted: seed by seed, for seeds also vary the draw of L."""
    gains = [
        100 * (one - other)
        for seed in sorted(best.by_seed.keys() & baseline.by_seed.keys())
        if (one := best.by_seed[seed]) is not None and (other := baseline.by_seed[seed]) is not None
    ]
    count = len(gains)
    if count < _ENOUGH:
        return (
            f"{count or 'No'} common seed{'' if count == 1 else 's'} "
            "cannot tell such a difference from chance: at least three are needed, and more is better."
        )
    up = sum(gain > 0 for gain in gains)
    spread = f"from {min(gains):+.2f} to {max(gains):+.2f} points, {fmean(gains):+.2f} on average"
    if up == count:
        return f"Seed by seed it is above the baseline in all {count} ({spread})."
    if up == 0:
        return f"Seed by seed it is above the baseline in none of {count} ({spread})."
    return (
        f"Seed by seed it is above the baseline in only {up} of {count} ({spread}), "
        "which is not enough to tell the two apart."
    )


def _overall(result: Result) -> float:
    return result.mean["overall"] or 0.0


def _share(result: Result) -> str:
    return f"{percent(result.mean['overall'])} %"


def _seeds(result: Result) -> str:
    count = len(result.by_seed)
    return f"{count} seed{'' if count == 1 else 's'}"
