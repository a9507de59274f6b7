"""Whether a difference is more than noise, in a sentence for each comparison and in one table."""

from collections.abc import Sequence

from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.reporting.results import ENOUGH, Metrics, Result, more_than_noise
from pipeline.mechanisms.reporting.systems import short_name, system_key, system_phrase
from pipeline.mechanisms.reporting.tables import Row, Table, percent

__all__ = ["caveat", "comparisons_table", "ordered", "sentence", "verdict"]

_FEW = 5  # seeds below which an interval may well be too narrow
_LEVEL = 5e-5  # a difference of less would be told as 0.00 points
_CHANCE = 0.05  # of calling a difference that is none more than noise


def verdict(gain: Comparison) -> str:
    """What an interval and the seeds behind it allow to say."""
    count = len(gain.seeds)
    if count < 2:
        return "one seed cannot tell it from noise"
    if not gain.clear:
        return f"not told apart from noise with {count} seeds"
    if more_than_noise(gain):
        return "more than noise"
    return f"{count} seeds are too few to call it more than noise"


def sentence(gain: Comparison, metrics: Metrics) -> str:
    """One comparison in a plain sentence, in points of overall accuracy."""
    system, against = _called(gain.system), _called(gain.against)
    size = f"|L|\u00a0=\u00a0{metrics.label(gain.labelled)}"  # not broken over two lines
    value, low, high = _figures(gain.gain, gain.low, gain.high)
    if abs(gain.gain) < _LEVEL:
        what = f"{system} is level with {against} at {size}"
    elif gain.gain > 0:
        what = f"{system} gains {value} points over {against} at {size}"
    else:
        what = f"{system} loses {value.lstrip('−')} points to {against} at {size}"
    kind = "interval" if len(gain.seeds) > 1 else "interval over test instances alone"
    return f"{what[0].upper()}{what[1:]}, {kind} {low} to {high}: {verdict(gain)}."


def ordered(metrics: Metrics, labelled: int) -> list[Comparison]:
    """The comparisons at one |L|: with the baseline in the order of Table 2, then the ablations."""
    found = [c for c in metrics.comparisons if c.labelled == labelled]
    return sorted(found, key=lambda c: (system_key(c.against), system_key(c.system)))


def caveat(metrics: Metrics) -> str:
    """How far these intervals can be trusted: by the number of seeds, and of comparisons."""
    counts = sorted({len(c.seeds) for c in metrics.comparisons})
    if not counts:
        return ""
    told = [
        "Differences are paired by seed and test instance; the 95 % interval is a bootstrap over both."
    ]
    if counts[-1] < 2:
        told.append("With one seed it knows nothing of other draws of L.")
    elif counts[0] < _FEW:
        few = (
            str(counts[0])
            if len(counts) == 1 or counts[-1] >= _FEW
            else f"{counts[0]} to {counts[-1]}"
        )
        told.append(
            f"With only {few} seed{'' if few == '1' else 's'} it is too narrow where accuracy depends "
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
    """Every comparison at every |L|, with both accuracies and the seeds one by one."""
    rows = []
    for size in metrics.sizes:
        for number, gain in enumerate(ordered(metrics, size)):
            both = [metrics.result(size, name) for name in (gain.system, gain.against)]
            (value, low, high) = (_points(x) for x in (gain.gain, gain.low, gain.high))
            cells = (
                metrics.label(size), short_name(gain.system), short_name(gain.against),
                *(_accuracy(result) for result in both), value, f"{low} … {high}",
                " ".join(_points(x, 1) for x in gain.by_seed) or "–",
            )  # fmt: skip
            best = frozenset({5}) if more_than_noise(gain) else frozenset()
            rows.append(Row(cells, best, begins=number == 0))
    if not rows:
        return None
    return Table(
        "",
        ("|L|", "Model", "Against", "Accuracy", "the other’s", "Difference", "95 % interval",
         "seed by seed"),
        tuple(rows),
        names=3,
        note="Accuracy in %, mean ± sample standard deviation over all seeds of each; difference in points "
        "over the seeds that both have, bold where it is more than noise.",
    )  # fmt: skip


def _accuracy(result: Result | None) -> str:
    return percent(result.mean["overall"], result.sd["overall"]) if result else "–"


def _called(system: str) -> str:
    return system_phrase(system).removeprefix("generation by ")


def _figures(*values: float) -> Sequence[str]:
    """Points with one decimal; with two where one would make 0 of what is not."""
    hidden = any(abs(value) >= _LEVEL and not round(100 * value, 1) for value in values)
    digits = 2 if hidden else 1
    return [_points(value, digits).lstrip("+") for value in values]


def _points(value: float, digits: int = 2) -> str:
    return f"{100 * value:+.{digits}f}".replace("-", "−")
