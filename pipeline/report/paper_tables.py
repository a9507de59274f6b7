"""The paper's tables from the metrics: accuracy (Table 2), ablation (Table 3), sizes (Figure 4)."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from pipeline.core.comparison import Comparison
from pipeline.core.corpora import COORDINATION
from pipeline.core.markdown import percent, points
from pipeline.core.runs import System
from pipeline.report.comparisons import interval
from pipeline.report.markdown import Table, TableRow
from pipeline.report.prose import Fact
from pipeline.report.results import (
    Metrics,
    Result,
    full_method,
    more_than_noise,
    short_name,
    system_key,
    variation_name,
)

_GAIN = ("Gain", "95 % interval")
ANNOTATED = "annotated"

_Value = Callable[[Result], tuple[float | None, float | None]]


def accuracy_table(metrics: Metrics, labelled: int) -> Table:
    """Table 2: overall, the gain at equal annotation, and each category, at one |L|.

    Rows stand by level of annotation, and only those of one level are compared: gains and bold means are so.

    Variations, which stand in Table 3 alone, are left to it, unless nothing else was run.
    """
    block = metrics.block(labelled)
    shown = [result for result in block if result.system.variation is None] or block
    gains = metrics.gains(shown)
    values: list[_Value] = [_column(name) for name in metrics.columns]
    heads = [f"{name} ({metrics.instances[name]:,})" for name in metrics.columns]
    rows = [
        _with_gain(row, 1, gains.get(result.system)) if gains else row
        for row, result in zip(_rows(shown, short_name, values), shown, strict=True)
    ]
    return Table(
        f"{metrics.words.title} (%) on {metrics.split}, {metrics.phrase(labelled)}",
        (ANNOTATED, "Model", heads[0].capitalize(), *(_GAIN if gains else ()), *heads[1:], "seeds"),
        tuple(_annotated(rows, shown)),
        names=2,
        note=Fact(
            "notes.accuracy",
            measured=metrics.words.measured,
            rest=metrics.rest,
            rivals=_rivals(metrics, shown) if gains else [],
            resampled=metrics.resampled,
            unfiltered=_unfiltered([result.system for result in shown]),
        ),
    )


def _rivals(metrics: Metrics, shown: Sequence[Result]) -> list[System]:
    """What the gains of a table are over, at equal annotation."""
    rivals = {rival.system for result in shown if (rival := metrics.rival(result))}
    return sorted(rivals, key=system_key)


def _annotated(rows: Iterable[TableRow], block: Sequence[Result]) -> Iterator[TableRow]:
    """The rows with what was annotated before them, each level a block of its own."""
    level: object = None
    for row, result in zip(rows, block, strict=True):
        best = frozenset(column + 1 for column in row.best)
        begins = result.level != level
        yield TableRow((result.annotated, *row.cells), best, begins=begins, level=row.level)
        level = result.level


def _unfiltered(systems: Iterable[System]) -> list[System]:
    """Those that learn without a filter from the start, as their names do not tell."""
    return [
        system
        for system in systems
        if system.mode == "no-filter"
        and system.generator
        and not system.variation
        and system.combined is None
    ]


def ablation_table(metrics: Metrics, labelled: int) -> Table | None:
    """Table 3: what filtering and synchronization contribute; None without such runs.

    A variation is compared with the generator it varies (Δ), where that was computed, and has its gain like
    every system. Predictors beside a parser are left out.
    """
    known = [
        r
        for r in metrics.block(labelled)
        if r.system.combined is None and (r.system.generator or r.system == metrics.baseline)
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
        rows.append(TableRow(full.cells, full.best, level=int(nested(result.system))))
    more = (*(("Δ to the full method", _GAIN[1]) if against else ()), *(_GAIN if gains else ()))
    return Table(
        f"Ablation: overall {metrics.words.name} (%) on {metrics.split}, {metrics.phrase(labelled)}",
        (ANNOTATED, "Setting", "Overall", *more, "seeds"),
        tuple(_annotated(rows, known)),
        names=2,
        note=Fact("notes.ablation", unfiltered=_unfiltered(there)),
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
            best = frozenset(column + 2 for column in full.best)
            cells = (metrics.label(size), result.annotated, *full.cells)
            rows.append(TableRow(cells, best, begins=number == 0))
    return Table(
        f"Overall {metrics.words.name} (%) on {metrics.split} by number of labelled {metrics.words.unit}s",
        ("|L|", ANNOTATED, "Model", "Overall", *(_GAIN if compared else ()), "seeds"),
        tuple(rows),
        names=3,
        note=Fact("notes.sizes"),
    )


def criteria_table(metrics: Metrics, labelled: int) -> Table:
    """The field's four criteria, or what a task has in their place, overall, for every system."""

    def column(name: str) -> _Value:
        return lambda r: r.criteria[name]

    block, words = metrics.block(labelled), metrics.words
    rows = _rows(block, short_name, [column(c) for c in words.criteria])
    return Table(
        f"{words.criteria_title} (%) on {metrics.split}, {metrics.phrase(labelled)}",
        (ANNOTATED, "Model", *words.criteria, "seeds"),
        tuple(_annotated(rows, block)),
        names=2,
        note=Fact(
            "notes.criteria",
            instances=metrics.instances["overall"],
            structures=metrics.task == COORDINATION,
        ),
    )


def _column(name: str) -> _Value:
    return lambda r: (r.mean.get(name), r.sd.get(name))


def _with_gain(row: TableRow, at: int, gain: Comparison | None) -> TableRow:
    """The row with a gain and its interval put in after cell ``at``."""
    pair = (points(gain.gain), interval(gain)) if gain else ("–", "–")
    best = {column + 2 if column > at else column for column in row.best}
    if gain and more_than_noise(gain):
        best.add(at + 1)
    return TableRow(
        (*row.cells[: at + 1], *pair, *row.cells[at + 1 :]), frozenset(best), row.begins
    )


def _rows(
    block: Sequence[Result], name: Callable[[System], str], values: Sequence[_Value]
) -> Iterator[TableRow]:
    """Rows name, values, seeds; the best value of each column is marked among those of one annotation."""
    tops: dict[object, list[float | None]] = {}
    for level in {result.level for result in block}:
        for value in values:
            shown = [percent(value(result)[0]) for result in block if result.level == level]
            known = [float(text) for text in shown if text != "–"]
            # Where all are equal, or there is only one, nothing is better than anything.
            tops.setdefault(level, []).append(max(known) if len(set(known)) > 1 else None)
    for result in block:
        pairs = [value(result) for value in values]
        best = {
            column
            for column, (pair, top) in enumerate(zip(pairs, tops[result.level], strict=True), 1)
            if top is not None and pair[0] is not None and float(percent(pair[0])) == top
        }
        cells = [percent(*pair) for pair in pairs]
        yield TableRow((name(result.system), *cells, str(len(result.by_seed))), frozenset(best))
