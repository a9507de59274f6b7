"""The findings of a report: a few plain sentences written from the numbers, and every comparison."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from pipeline.core.comparison import Comparison
from pipeline.core.markdown import percent, points
from pipeline.core.runs import Run, System
from pipeline.report.markdown import Row, Table
from pipeline.report.results import (
    ENOUGH,
    Metrics,
    Result,
    full_method,
    generates,
    is_papers_method,
    more_than_noise,
    short_name,
    system_key,
    system_phrase,
)


def findings(metrics: Metrics, runs: Iterable[Run] = ()) -> list[str]:
    """Sentences about the main |L|: what generation gains at best, how far that can be trusted, and why.

    The first is about the system that finds most, beside the best without candidates from the same
    annotation. If that is not the paper's own method, the next says what it gains over the system that it
    varies, or over its control, and the last what the paper's method with the better generator does; if it
    is, the last counts what the others of its level of annotation gain.

    Args:
        metrics: of the evaluation.
        runs: of which the paper's method has its δ.
    """
    size, split = metrics.main, metrics.split
    known = [r for r in metrics.block(size) if r.mean["overall"] is not None]
    baseline = next((r for r in known if r.system == metrics.baseline), None)
    generated = [r for r in known if generates(r.system)]
    begin = f"With {metrics.phrase(size)},"
    if not generated:
        if baseline is None:
            return [f"{begin} no predictor could be scored."]
        return [
            f"{begin} the baseline finds {_share(baseline)} of the outer boundaries on {split} "
            f"({_seeds(len(baseline.by_seed))}).",
            "Nothing but the baseline has been run, so there is nothing to compare it with."
            if len(known) == 1
            else "Nothing was learned from candidates, so there is no gain of theirs to state.",
        ]
    best = max(generated, key=_overall)  # of equals the paper's, which stand first
    others = [r for r in generated if r.level == best.level]
    among = _among(best, others)
    if len({r.level for r in known}) > 1:
        begin += f" annotated: {best.annotated},"
    rival = metrics.rival(best)
    if rival is None:
        return [
            f"{begin} {system_phrase(best.system)}{among} finds {_share(best)} of the outer "
            f"boundaries on {split} ({_seeds(len(best.by_seed))}).",
            f"There is {nothing_to_compare(baseline is not None)}, so no gain can be stated.",
        ]
    gain = metrics.gain(size, best.system)
    first = (
        f"{begin} {system_phrase(best.system)}{among} finds {_share(best)} of the outer boundaries "
        f"on {split}, {_difference(best, rival)} {_rival(metrics, best, rival)} ({_told(gain, best)})."
    )
    found = [first] if gain else [first, _trust(best, rival)]
    if not is_papers_method(best.system):
        return [*found, *_over_control(metrics, best), *_papers_method(metrics, generated, runs)]
    return [*found, _others(metrics, best, others)] if gain else found


def nothing_to_compare(baseline: bool) -> str:
    """What is said where a system has no ``rival``, and what would make one.

    Args:
        baseline: whether there is one, of other annotation.
    """
    if not baseline:
        return "no baseline run"
    return (
        "nothing at equal annotation to compare with: `conjoin evaluate --parser` with the parser that "
        "its candidates are from makes that"
    )


def _rival(metrics: Metrics, result: Result, rival: Result) -> str:
    """What a gain is over, with its figure; and that it was chosen among several, if it was."""
    among = len(metrics.rivals(result))
    if result.system.has_candidates and among > 1:
        return (
            f"the {_share(rival)} of {system_phrase(rival.system)}, the best of {among} systems without "
            "candidates at equal annotation"
        )
    return f"{system_phrase(rival.system)}’s {_share(rival)}"


def _told(gain: Comparison | None, result: Result) -> str:
    """The interval of a gain, or the seeds alone where there is none."""
    return gain_words(gain) if gain else _seeds(len(result.by_seed))


def _over_control(metrics: Metrics, best: Result) -> list[str]:
    """What the best system gains over the one that it adds something to, or over its control."""
    there = [result.system for result in metrics.block(metrics.main)]
    full = full_method(best.system, there)
    gain = metrics.gain(metrics.main, best.system, full) if full else None
    if not (full and gain):
        return []
    over = f"Over {system_phrase(full)} that is {points(gain.gain)} points"
    return [f"{over} ({gain_words(gain)})."]


def _papers_method(metrics: Metrics, others: Sequence[Result], runs: Iterable[Run]) -> list[str]:
    """What the paper's method with the better generator does, and its δ."""
    plain = [result for result in others if is_papers_method(result.system)]
    if not plain:
        return []
    best = max(plain, key=_overall)
    rules = {
        run.card.get("settings", {}).get("delta") if run.mode == "filter" else None
        for run in runs
        if (run.system, run.labelled) == (best.system, best.labelled)
    }
    delta = rules.pop() if len(rules) == 1 else None
    rule = "" if delta is None else f" with δ = {delta:g}"
    among = _among(best, others)
    found = (
        f"The paper’s method, {system_phrase(best.system)}{rule}{among or ','} finds {_share(best)}"
    )
    if (rival := metrics.rival(best)) is None:
        return [f"{found}; there is nothing at equal annotation to compare it with."]
    told = _told(metrics.gain(metrics.main, best.system), best)
    return [f"{found}, {_difference(best, rival)} {system_phrase(rival.system)} ({told})."]


def better_generator(metrics: Metrics) -> System | None:
    """The system of the main |L| that is the paper's method with the better generator, if any."""
    plain = [r for r in metrics.block(metrics.main) if is_papers_method(r.system)]
    return max(plain, key=_overall).system if plain else None


def gain_words(gain: Comparison) -> str:
    """What an interval says of a gain, and how many seeds stand behind it."""
    told = f"95 % interval {points(gain.low)} to {points(gain.high)}"
    return f"{told}, {_seeds(len(gain.seeds))}: {verdict(gain)}"


def verdict(gain: Comparison) -> str:
    """What an interval and the seeds behind it allow to say."""
    if len(gain.seeds) < 2:
        return "one seed cannot tell it from noise"
    if more_than_noise(gain):
        return "more than noise"
    return "too few seeds to call it more than noise" if gain.clear else "not told apart from noise"


def interval(gain: Comparison) -> str:
    """The bounds of a gain in points, ``+1.20 … +7.60``."""
    return bounds((gain.low, gain.high))


def bounds(pair: tuple[float, float] | None) -> str:
    """Two bounds in points; a dash where there are none."""
    return f"{points(pair[0])} … {points(pair[1])}" if pair else "–"


def _among(best: Result, others: Sequence[Result]) -> str:
    """Among how many it is the best: of the paper's method its generators, else all that generate."""
    plain = [result for result in others if is_papers_method(result.system)]
    if best in plain:
        return ", the better of two generators," if len(plain) > 1 else ""
    return f", the best of {len(others)} systems with generation," if len(others) > 1 else ""


def _difference(best: Result, rival: Result) -> str:
    gain = 100 * (_overall(best) - _overall(rival))
    if not gain:
        return "no more and no less than"
    return f"{abs(gain):.2f} points {'more' if gain > 0 else 'less'} than"


def _others(metrics: Metrics, best: Result, others: Sequence[Result]) -> str:
    """What the other systems of the main |L| gain: that of the only one, or how many are clear."""
    rest = [result for result in others if result.system != best.system]
    if not rest:
        return "No other system with generation has been run."
    if len(rest) == 1:
        (top,) = rest
        gain = metrics.gain(metrics.main, top.system)
        told = (
            f"by {points(gain.gain)} points ({gain_words(gain)})" if gain else "by an unknown gain"
        )
        rival = metrics.rival(top)
        over = system_phrase(rival.system) if rival else "what it is compared with"
        return f"The other system, {system_phrase(top.system)}, differs from {over} {told}."
    clear = [r for r in rest if (g := metrics.gain(metrics.main, r.system)) and _up(g)]
    named = " and ".join(system_phrase(r.system) for r in clear)
    count = f"{len(clear)} of the {len(rest)}" if clear else f"None of the {len(rest)}"
    return f"{count} other systems gain{'s' if len(clear) == 1 else ''} more than noise" + (
        f": {named}." if named else "."
    )


def _up(gain: Comparison) -> bool:
    return more_than_noise(gain) and gain.gain > 0


def _trust(best: Result, rival: Result) -> str:
    """Without an interval: the difference seed by seed, for seeds also vary the draw of L."""
    gains = [
        100 * (one - other)
        for seed in sorted(best.by_seed.keys() & rival.by_seed.keys())
        if (one := best.by_seed[seed]) is not None and (other := rival.by_seed[seed]) is not None
    ]
    count = len(gains)
    if count < ENOUGH:
        return (
            f"{_seeds(count)} in common "
            "cannot tell such a difference from chance: at least three are needed, and more is better."
        )
    up = sum(gain > 0 for gain in gains)
    spread = f"from {min(gains):+.2f} to {max(gains):+.2f} points, {fmean(gains):+.2f} on average"
    where = f"all {count}" if up == count else f"only {up} of {count}" if up else f"none of {count}"
    doubt = ", which is not enough to tell the two apart" if 0 < up < count else ""
    return f"Seed by seed it is above {system_phrase(rival.system)} in {where} ({spread}){doubt}."


def _overall(result: Result) -> float:
    return result.mean["overall"] or 0.0


def _share(result: Result) -> str:
    return f"{percent(result.mean['overall'])} %"


def _seeds(count: int) -> str:
    return f"{count} seed{'' if count == 1 else 's'}"


_FEW = 5  # seeds below which an interval may well be too narrow
_CHANCE = 0.05  # of calling a difference that is none more than noise


def ordered(metrics: Metrics, labelled: int) -> list[Comparison]:
    """The comparisons at one |L|, all of equal annotation, by what they are over."""
    found = [c for c in metrics.comparisons if c.labelled == labelled]
    return sorted(found, key=lambda c: (system_key(c.against), system_key(c.system)))


def caveat(metrics: Metrics) -> str:
    """How far these intervals can be trusted: by the number of seeds, and of comparisons."""
    counts = sorted({len(c.seeds) for c in metrics.comparisons})
    if not counts:
        return ""
    told = [
        "Both systems of a comparison have the same annotation. Differences are paired by seed and test "
        "instance; the 95 % interval is a bootstrap over "
        + ("both." if metrics.resampled == "instances" else "seeds and whole documents.")
    ]
    if counts[-1] >= ENOUGH:
        told.append("The t-interval is that of the seeds alone, for these test instances.")
    few, many = counts[0], counts[-1]
    if many < 2:
        told.append("With one seed it does not cover the variation between draws of L.")
    elif few < _FEW:
        some = f"{few} to {many} seeds" if few < many < _FEW else _seeds(few)
        told.append(
            f"With only {some} it is too narrow where accuracy depends "
            "much on the draw of L, for so few seldom show how far another would lie."
        )
    judged = [c for c in metrics.comparisons if len(c.seeds) >= ENOUGH]
    if len(judged) * _CHANCE >= 1:
        told.append(
            f"Of {len(judged)} comparisons some {len(judged) * _CHANCE:.0f} would be called more than "
            "noise if no system were better than another."
        )
    return " ".join(told)


def comparisons_table(metrics: Metrics) -> Table | None:
    """Every comparison at every |L|, with both accuracies, the seeds one by one, and the verdict."""
    rows = []
    for size in metrics.sizes:
        for number, gain in enumerate(ordered(metrics, size)):
            both = (metrics.result(size, name) for name in (gain.system, gain.against))
            cells = (
                metrics.label(size), short_name(gain.system), short_name(gain.against),
                *(percent(r.mean["overall"], r.sd["overall"]) if r else "–" for r in both),
                points(gain.gain), interval(gain), bounds(gain.by_t), verdict(gain),
                " ".join(points(x, 1) for x in gain.by_seed) or "–",
            )  # fmt: skip
            best = frozenset({5}) if more_than_noise(gain) else frozenset()
            rows.append(Row(cells, best, begins=number == 0))
    if not rows:
        return None
    return Table(
        "More than noise?",
        ("|L|", "Model", "Against", "Accuracy", "the other’s", "Difference", "95 % interval",
         "t-interval", "verdict", "seed by seed"),
        tuple(rows),
        names=3,
        note="Accuracy in %, mean ± sample standard deviation over all seeds of each; difference in points "
        "over the seeds that both have.",
    )  # fmt: skip


def across_table(metrics: Metrics) -> Table | None:
    """Differences between systems of different annotation, which say nothing of either's method."""
    rows = []
    for size in metrics.sizes:
        found = [c for c in metrics.across if c.labelled == size]
        found.sort(key=lambda c: (system_key(c.against), system_key(c.system)))
        for number, one in enumerate(found):
            pair = [metrics.result(size, name) for name in (one.system, one.against)]
            annotated = [each.annotated if each else "–" for each in pair]
            cells = (
                metrics.label(size), short_name(one.system), annotated[0], short_name(one.against),
                annotated[1], points(one.gain), interval(one),
            )  # fmt: skip
            rows.append(Row(cells, begins=number == 0))
    if not rows:
        return None
    return Table(
        "Differences between levels of annotation",
        ("|L|", "Model", "annotated", "Against", "annotated", "Difference", "95 % interval"),
        tuple(rows),
        names=5,
        note="These are no gains: the two systems of a row were not made from the same annotation, and more "
        "of it explains a difference as well as a method does. In points, as in the table of comparisons.",
    )
