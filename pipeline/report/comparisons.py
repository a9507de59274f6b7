"""Every comparison of a report in two tables, and how far their intervals can be trusted."""

from collections.abc import Sequence

from pipeline.core.comparison import Comparison
from pipeline.core.markdown import percent, points
from pipeline.report.markdown import Table, TableRow
from pipeline.report.prose import Fact
from pipeline.report.results import ENOUGH, Metrics, more_than_noise, short_name, system_key

_FEW = 5  # seeds below which an interval may well be too narrow
_CHANCE = 0.05  # of calling a difference that is none more than noise


def interval(gain: Comparison) -> str:
    """The bounds of a gain in points, ``+1.20 … +7.60``."""
    return bounds((gain.low, gain.high))


def bounds(pair: tuple[float, float] | None) -> str:
    """Two bounds in points; a dash where there are none."""
    return f"{points(pair[0])} … {points(pair[1])}" if pair else "–"


def ordered(comparisons: Sequence[Comparison], labelled: int) -> list[Comparison]:
    """Those at one |L|, by what they are over."""
    found = [c for c in comparisons if c.labelled == labelled]
    return sorted(found, key=lambda c: (system_key(c.against), system_key(c.system)))


def caveat(metrics: Metrics) -> Fact | None:
    """How far these intervals can be trusted: by the number of seeds, and of comparisons."""
    counts = sorted({len(c.seeds) for c in metrics.comparisons})
    if not counts:
        return None
    few, many = counts[0], counts[-1]
    judged = sum(len(c.seeds) >= ENOUGH for c in metrics.comparisons)
    return Fact(
        "comparisons.caveat",
        resampled=metrics.resampled,
        name=metrics.words.name,
        by_t=many >= ENOUGH,
        few=(few, many if many < _FEW else few) if few < _FEW else None,
        judged=judged,
        by_chance=judged * _CHANCE,
    )


def comparisons_table(metrics: Metrics) -> Table | None:
    """Every comparison at every |L|, with both accuracies, the seeds one by one, and what can be said."""
    rows = []
    for size in metrics.sizes:
        for number, gain in enumerate(ordered(metrics.comparisons, size)):
            both = (metrics.result(size, name) for name in (gain.system, gain.against))
            cells = (
                metrics.label(size), short_name(gain.system), short_name(gain.against),
                *(percent(r.mean["overall"], r.sd["overall"]) if r else "–" for r in both),
                points(gain.gain), interval(gain), bounds(gain.by_t),
                str(Fact("gains.verdict", gain=gain)),
                " ".join(points(x, 1) for x in gain.by_seed) or "–",
            )  # fmt: skip
            best = frozenset({5}) if more_than_noise(gain) else frozenset()
            rows.append(TableRow(cells, best, begins=number == 0))
    if not rows:
        return None
    return Table(
        "More than noise?",
        ("|L|", "Model", "Against", metrics.words.title, "the other’s", "Difference", "95 % interval",
         "t-interval", "verdict", "seed by seed"),
        tuple(rows),
        names=3,
        note=Fact("notes.comparisons", title=metrics.words.title),
    )  # fmt: skip


def across_table(metrics: Metrics) -> Table | None:
    """Differences between systems of different annotation, which say nothing of either's method."""
    rows = []
    for size in metrics.sizes:
        for number, one in enumerate(ordered(metrics.across, size)):
            pair = [metrics.result(size, name) for name in (one.system, one.against)]
            annotated = [each.annotated if each else "–" for each in pair]
            cells = (
                metrics.label(size), short_name(one.system), annotated[0], short_name(one.against),
                annotated[1], points(one.gain), interval(one),
            )  # fmt: skip
            rows.append(TableRow(cells, begins=number == 0))
    if not rows:
        return None
    return Table(
        "Differences between levels of annotation",
        ("|L|", "Model", "annotated", "Against", "annotated", "Difference", "95 % interval"),
        tuple(rows),
        names=5,
        note=Fact("notes.across"),
    )
