"""The paper's tables from the metrics: accuracy (Table 2), ablation (Table 3), sizes (Figure 4)."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from pipeline.core.markdown import percent, points
from pipeline.core.metrics import CRITERIA, Comparison
from pipeline.core.runs import System
from pipeline.core.types import CATEGORIES
from pipeline.report.findings import interval
from pipeline.report.markdown import Row, Table
from pipeline.report.results import (
    Metrics,
    Result,
    full_method,
    more_than_noise,
    short_name,
    variation_name,
)

DEFINITIONS = {
    "whole": "the first word of the first conjunct and the last word of the last are right: "
    "the outer boundary, the paper's accuracy",
    "outer": "the first and the last conjunct are exactly right",
    "inner": "the two conjuncts next to the coordinator are exactly right",
    "exact": "all conjuncts are exactly right",
}
"""The four criteria of the field, in words."""

_GAIN = ("Gain", "95 % interval")

_Value = Callable[[Result], tuple[float | None, float | None]]


def accuracy_table(metrics: Metrics, labelled: int) -> Table:
    """Table 2: overall, the gain over the baseline, and each category, at one |L|.

    Variations, which stand in Table 3 alone, are left to it, unless nothing else was run.
    """
    block = metrics.block(labelled)
    shown = [result for result in block if result.system.variation is None] or block
    gains = metrics.gains(shown)
    values: list[_Value] = [_column(name) for name in ("overall", *CATEGORIES)]
    heads = [f"{name} ({metrics.instances[name]:,})" for name in ("overall", *CATEGORIES)]
    rows = [
        _with_gain(row, 1, gains.get(result.system)) if gains else row
        for row, result in zip(_rows(shown, short_name, values), shown, strict=True)
    ]
    return Table(
        f"Accuracy (%) on {metrics.split}, {metrics.phrase(labelled)}",
        ("Model", heads[0].capitalize(), *(_GAIN if gains else ()), *heads[1:], "seeds"),
        tuple(rows),
        note="Outer boundary per coordinator, mean ± sample standard deviation over seeds; instances "
        "in brackets. Overall includes minor categories."
        + (
            " Gain: points over the baseline, bold where it is more than noise: its interval, a "
            "bootstrap over seeds and test instances, leaves 0 out, and there are three seeds at least."
            if gains
            else ""
        )
        + _unfiltered([result.system for result in shown]),
    )


def _unfiltered(systems: Iterable[System]) -> str:
    """Which systems learn without a filter from the start, as their names do not tell; else nothing."""
    names = [
        short_name(s) for s in systems if s.mode == "no-filter" and s.generator and not s.variation
    ]
    return f" Learned from without a filter: {'; '.join(names)}." if names else ""


def ablation_table(metrics: Metrics, labelled: int) -> Table | None:
    """Table 3: what filtering and synchronization contribute; None without such runs.

    A variation is compared with the generator it varies (Δ), where that was computed, and like every
    system with the baseline.
    """
    known = [
        r for r in metrics.block(labelled) if r.system.generator or r.system == metrics.baseline
    ]
    there = [result.system for result in known]
    if not any(system.variation or full_method(system, there) for system in there):
        return None
    gains = metrics.gains(known)
    against = metrics.ablations(labelled)

    def nested(system: System) -> bool:
        """Whether it stands below the generator that it varies."""
        return system.variation is not None and full_method(system, there) is not None

    def name(system: System) -> str:
        return variation_name(system.variation or "") if nested(system) else short_name(system)

    rows = []
    for row, result in zip(_rows(known, name, [_column("overall")]), known, strict=True):
        full = _with_gain(row, 1, gains.get(result.system)) if gains else row
        if against:
            full = _with_gain(full, 1, against.get(result.system))
        rows.append(Row(full.cells, full.best, level=int(nested(result.system))))
    more = (*(("Δ to the full method", _GAIN[1]) if against else ()), *(_GAIN if gains else ()))
    return Table(
        f"Ablation: overall accuracy (%) on {metrics.split}, {metrics.phrase(labelled)}",
        ("Setting", "Overall", *more, "seeds"),
        tuple(rows),
        note="− filtering: δ = 0. − sync + self-train: only S′(1) is filled, and the predictor sets the "
        "boundaries itself. ∗ and brackets: not in the paper; Δ of a name with brackets: over the "
        "generator without what they say, or the control for it." + _unfiltered(there),
    )


def sizes_table(metrics: Metrics) -> Table | None:
    """Overall accuracy and gain at every |L|, a row for each system run there; None for one |L|."""
    if len(metrics.sizes) < 2:
        return None
    compared = any(metrics.gains(metrics.block(size)) for size in metrics.sizes)
    rows = []
    for size in metrics.sizes:
        block = metrics.block(size)
        gains = metrics.gains(block)
        for number, (row, result) in enumerate(
            zip(_rows(block, short_name, [_column("overall")]), block, strict=True)
        ):
            full = _with_gain(row, 1, gains.get(result.system)) if compared else row
            best = frozenset(column + 1 for column in full.best)
            rows.append(Row((metrics.label(size), *full.cells), best, begins=number == 0))
    return Table(
        f"Overall accuracy (%) on {metrics.split} by number of labelled sentences",
        ("|L|", "Model", "Overall", *(_GAIN if compared else ()), "seeds"),
        tuple(rows),
        names=2,
    )


def criteria_table(metrics: Metrics, labelled: int) -> Table:
    """The field's four criteria, overall, for every system."""

    def column(name: str) -> _Value:
        return lambda r: r.criteria[name]

    return Table(
        f"Four criteria (%) on {metrics.split}, {metrics.phrase(labelled)}",
        ("Model", *CRITERIA, "seeds"),
        tuple(_rows(metrics.block(labelled), short_name, [column(c) for c in CRITERIA])),
        note=f"{metrics.instances['overall']:,} instances. Of a structure of three or more conjuncts "
        "only “whole” can be right, for the predictor gives an endpoint pair.",
    )


def _column(name: str) -> _Value:
    return lambda r: (r.mean[name], r.sd[name])


def _with_gain(row: Row, at: int, gain: Comparison | None) -> Row:
    """The row with a gain and its interval put in after cell ``at``."""
    pair = (points(gain.gain), interval(gain)) if gain else ("–", "–")
    best = {column + 2 if column > at else column for column in row.best}
    if gain and more_than_noise(gain):
        best.add(at + 1)
    return Row((*row.cells[: at + 1], *pair, *row.cells[at + 1 :]), frozenset(best), row.begins)


def _rows(
    block: Sequence[Result], name: Callable[[System], str], values: Sequence[_Value]
) -> Iterator[Row]:
    """Rows name, values, seeds; the best value of each column is marked."""
    tops = []
    for value in values:
        shown = [percent(value(result)[0]) for result in block]
        known = [float(text) for text in shown if text != "–"]
        # Where all are equal, or there is only one, nothing is better than anything.
        tops.append(max(known) if len(set(known)) > 1 else None)
    for result in block:
        pairs = [value(result) for value in values]
        best = {
            column
            for column, (pair, top) in enumerate(zip(pairs, tops, strict=True), 1)
            if top is not None and pair[0] is not None and float(percent(pair[0])) == top
        }
        cells = [percent(*pair) for pair in pairs]
        yield Row((name(result.system), *cells, str(len(result.by_seed))), frozenset(best))
