"""Tables ready to print, as Markdown and as CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.markdown import number, plain
from pipeline.report.prose import Fact


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table: its cells, and which of them are the best of their block.

    ``begins`` marks the first row of a block, ``level`` how deep the name is indented.
    """

    cells: tuple[str, ...]
    best: frozenset[int] = frozenset()
    begins: bool = False
    level: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table ready to print: the first ``names`` columns are text, the others numbers.

    Where several are text, the page shows the first of them once for each block, unless it ``repeats``.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    names: int = 1
    note: Fact | None = None
    repeats: bool = False


def records_table(
    title: str, records: Iterable[Mapping[str, Any]], names: int = 1, note: Fact | None = None
) -> Table:
    """A table of records: columns in the order the keys first appear, a dash for what is missing."""
    listed = list(records)
    columns = tuple(dict.fromkeys(key for record in listed for key in record))
    rows = tuple(TableRow(tuple(number(record.get(c)) for c in columns)) for record in listed)
    heads = tuple(column.replace("_", " ") for column in columns)
    return Table(title, heads, rows, names, note, repeats=True)


def markdown(table: Table) -> str:
    """A pipe table, padded so that it also reads well unrendered; best cells are bold."""
    grid = [[plain(column) for column in table.columns]]
    for row in table.rows:
        cells = [plain(cell) for cell in row.cells]
        cells[table.names - 1] = "\u00a0\u00a0" * row.level + cells[table.names - 1]
        grid.append([f"**{c}**" if i in row.best else c for i, c in enumerate(cells)])
    widths = [max(3, *(len(line[i]) for line in grid)) for i in range(len(table.columns))]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.ljust(width) if index < table.names else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(aligned)} |"

    rule = ["-" * w if i < table.names else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(grid[0]), line(rule), *(line(cells) for cells in grid[1:])])


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """CSV of the rows' values in these columns; a cell is empty where a row has None or nothing."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
