"""The point of a report in two plain sentences, written from the numbers."""

from collections.abc import Sequence
from statistics import fmean

from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.reporting.paper_tables import points
from pipeline.mechanisms.reporting.results import ENOUGH, Metrics, Result, more_than_noise
from pipeline.mechanisms.reporting.systems import (
    BASELINE,
    GENERATORS,
    is_baseline,
    system_phrase,
)
from pipeline.mechanisms.reporting.tables import percent

__all__ = ["better_generator", "findings", "gain_words"]


def findings(metrics: Metrics) -> list[str]:
    """Two sentences about the main |L|: what generation gains, and how far that can be trusted.

    The first is about the paper's own method with the better generator; if another system of the
    same |L| is better still, the second says so.
    """
    size, split = metrics.main, metrics.split
    known = [r for r in metrics.block(size) if r.mean["overall"] is not None]
    baseline = next((r for r in known if r.system == BASELINE), None)
    others = [r for r in known if not is_baseline(r.system)]
    begin = f"With {metrics.phrase(size)},"
    if not others:
        if baseline is None:
            return [f"{begin} no run could be scored."]
        return [
            f"{begin} the baseline finds {_share(baseline)} of the outer boundaries on {split} "
            f"({_seeds(baseline)}).",
            "Nothing but the baseline has been run, so there is nothing to compare it with.",
        ]
    best = _better(others)
    among = _among(best, others)
    if baseline is None:
        return [
            f"{begin} {system_phrase(best.system)}{among} finds {_share(best)} of the outer "
            f"boundaries on {split} ({_seeds(best)}).",
            "There is no baseline run, so no gain can be stated.",
        ]
    gain = metrics.gain(size, best.system)
    first = (
        f"{begin} {system_phrase(best.system)}{among} finds {_share(best)} of the outer boundaries "
        f"on {split}, {_difference(best, baseline)} the baseline’s {_share(baseline)} "
        f"({gain_words(gain) if gain else _seeds(best)})."
    )
    trust = None if gain else _trust(best, baseline)
    return [first, trust or _others(metrics, best, others)]


def better_generator(metrics: Metrics) -> str | None:
    """The system of the main |L| that is the paper's method with the better generator, if any."""
    plain = [r for r in metrics.block(metrics.main) if r.system in GENERATORS]
    return max(plain, key=_overall).system if plain else None


def gain_words(gain: Comparison) -> str:
    """What an interval says of a gain, and how many seeds stand behind it."""
    count = len(gain.seeds)
    bounds = f"95 % interval {points(gain.low)} to {points(gain.high)}, {count} seed{_s(count)}"
    if more_than_noise(gain):
        return f"{bounds}: more than noise"
    if gain.clear:
        return f"{bounds}: too few seeds to call it more than noise"
    return f"{bounds}: not told apart from noise"


def _better(others: Sequence[Result]) -> Result:
    """The better of the paper's generators, or the best of what there is."""
    plain = [result for result in others if result.system in GENERATORS]
    return max(plain or others, key=_overall)


def _among(best: Result, others: Sequence[Result]) -> str:
    plain = [result for result in others if result.system in GENERATORS]
    if best in plain:
        return ", the better of two generators," if len(plain) > 1 else ""
    return f", the best of {len(others)} systems with generation," if len(others) > 1 else ""


def _difference(best: Result, baseline: Result) -> str:
    gain = 100 * (_overall(best) - _overall(baseline))
    if not gain:
        return "no more and no less than"
    return f"{abs(gain):.2f} points {'more' if gain > 0 else 'less'} than"


def _others(metrics: Metrics, best: Result, others: Sequence[Result]) -> str:
    """What the other systems of the main |L| gain: the best of all, or how many are clear."""
    rest = [result for result in others if result.system != best.system]
    if not rest:
        return "No other system with generation has been run."
    top = max(rest, key=_overall)
    gain = metrics.gain(metrics.main, top.system)
    if _overall(top) > _overall(best):
        told = f", a gain of {points(gain.gain)} points ({gain_words(gain)})" if gain else ""
        return (
            f"Of all {len(others)} systems that generate the best is {system_phrase(top.system)}: "
            f"{_share(top)}{told}."
        )
    if len(rest) == 1:
        told = (
            f"by {points(gain.gain)} points ({gain_words(gain)})" if gain else "by an unknown gain"
        )
        return f"The other system, {system_phrase(top.system)}, differs from the baseline {told}."
    clear = [r for r in rest if (g := metrics.gain(metrics.main, r.system)) and _up(g)]
    named = " and ".join(system_phrase(r.system) for r in clear)
    count = f"{len(clear)} of the {len(rest)}" if clear else f"None of the {len(rest)}"
    return f"{count} other systems gain{'s' if len(clear) == 1 else ''} more than noise" + (
        f": {named}." if named else "."
    )


def _up(gain: Comparison) -> bool:
    return more_than_noise(gain) and gain.gain > 0


def _trust(best: Result, baseline: Result) -> str:
    """Without an interval: the difference seed by seed, for seeds also vary the draw of L."""
    gains = [
        100 * (one - other)
        for seed in sorted(best.by_seed.keys() & baseline.by_seed.keys())
        if (one := best.by_seed[seed]) is not None and (other := baseline.by_seed[seed]) is not None
    ]
    count = len(gains)
    if count < ENOUGH:
        return (
            f"{count or 'No'} common seed{_s(count)} "
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
    return f"{count} seed{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
