"""Questions to a corpus table: what is in it, and the rows and counts of a ``View``.

What a reader types reaches SQL as a parameter, never as text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from pipeline.mechanisms.browse.view import BINS, View

__all__ = ["COLUMNS", "contents", "rows_by_number", "rows_of_view", "summary"]

COLUMNS = {
    "number": "number", "id": "candidate_id", "sentence": "sentence_id", "words": "words",
    "coordinator": "coordinator", "word": "word", "conjuncts": "conjuncts", "reference": "reference",
    "label": "label", "fill": "fill", "fill_words": "fill_words", "score": "score",
    "append": "score_append", "prepend": "score_prepend", "value": "value", "judged": "judged",
    "reason": "reason", "license": "license", "generation": "generation",
}  # fmt: skip
"""What the page gets of a row: its name there, and the column. Spans are ``[start, end]``."""

_BIN = "CASE WHEN value IS NOT NULL THEN least($bins, floor(value * $bins / $top))::INTEGER END"
"""``bin_of`` in SQL, whose ``least`` leaves nulls out of account."""


def contents(database: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """What there is to choose from: counts of all rows, JSON-ready.

    Returns:
        ``usable`` and ``rejected`` (numbers of rows); ``labels``, ``coordinators``, ``reasons``,
        ``licenses``, ``generations``: lists of [value, usable rows, rejected rows], most
        frequent first; ``fill_words`` and ``sentence_words``: [least, most]; ``highest``: the highest
        value, 0 without any.
    """
    usable, rejected, highest, *bounds = _one(
        database,
        "SELECT count(*) FILTER (reason IS NULL), count(reason), coalesce(max(value), 0), "
        "min(fill_words), max(fill_words), min(sentence_words), max(sentence_words) FROM corpus.rows",
    )
    counts = {
        name: _counts(database, column)
        for name, column in (
            ("labels", "label"),
            ("coordinators", "coordinator_word"),
            ("reasons", "reason"),
            ("licenses", "license"),
            ("generations", "generation"),
        )
    }
    counts["reasons"] = [each for each in counts["reasons"] if each[0] is not None]
    return {
        "usable": usable,
        "rejected": rejected,
        "highest": highest,
        "fill_words": bounds[:2],
        "sentence_words": bounds[2:],
        **counts,
    }


def summary(database: duckdb.DuckDBPyConnection, view: View, top: float) -> dict[str, Any]:
    """Counts of the rows that the filters leave, whatever δ is, so that it can move without asking.

    Args:
        database: with the table ``corpus.rows``.
        view: the filters; ``keep`` and ``cut`` matter to ``listed`` only.
        top: the value of the slider's last step.

    Returns:
        ``usable``: {label: rows}; ``rejected``: rows; ``histogram``: {label: rows that δ judges, by
        bin 0 to ``BINS``}; ``unvalued``: {label: rows that δ judges but that have no value, so that
        it refuses them}; ``listed``: rows that are listed.
    """
    where, values = _where(view)
    found = database.execute(
        "SELECT label, reason IS NULL, judged, "  # noqa: S608 - no value in it
        f"{_BIN}, "
        f"count(*) FROM corpus.rows WHERE {where} GROUP BY ALL",
        {**values, "bins": BINS, "top": top},
    )
    usable: Counter[str] = Counter()
    unvalued: Counter[str] = Counter()
    histogram: dict[str, list[int]] = {}
    rejected = 0
    for label, is_usable, judged, step, rows in found.fetchall():
        if not is_usable:
            rejected += rows
            continue
        usable[label] += rows
        if judged and step is None:
            unvalued[label] += rows
        elif judged:
            histogram.setdefault(label, [0] * (BINS + 1))[step] += rows
    above = sum(sum(bins[view.cut :]) for bins in histogram.values())
    below = sum(sum(bins[: view.cut]) for bins in histogram.values()) + unvalued.total()
    listed = {"all": usable.total() + rejected, "above": above, "below": below}[view.keep]
    return {
        "usable": dict(sorted(usable.items())),
        "rejected": rejected,
        "histogram": dict(sorted(histogram.items())),
        "unvalued": dict(sorted(unvalued.items())),
        "listed": listed,
    }


def rows_of_view(
    database: duckdb.DuckDBPyConnection, view: View, top: float
) -> list[dict[str, Any]]:
    """The rows on the page that was asked for, JSON-ready, with the keys of ``COLUMNS``."""
    where, values = _where(view)
    reaches = f"coalesce({_BIN} >= $cut, false)"
    if view.keep != "all":
        where += f" AND judged AND {'' if view.keep == 'above' else 'NOT '}{reaches}"
        values |= {"bins": BINS, "top": top, "cut": view.cut}
    column, down = view.sort.removeprefix("-"), view.sort.startswith("-")
    direction = "DESC" if down else "ASC"
    order = "number" if column == "order" else f"{column} {direction} NULLS LAST, number"
    # First which rows: to sort whole rows takes far more memory, and time on later pages.
    found = database.execute(
        f"SELECT number FROM corpus.rows WHERE {where} "  # noqa: S608 - no value in it
        f"ORDER BY {order} LIMIT $limit OFFSET $offset",
        {**values, "limit": view.limit, "offset": view.offset},
    )
    numbers = [int(row[0]) for row in found.fetchall()]
    rows = {row["number"]: row for row in rows_by_number(database, numbers)}
    return [rows[number] for number in numbers]


def rows_by_number(
    database: duckdb.DuckDBPyConnection, numbers: Sequence[int]
) -> list[dict[str, Any]]:
    """The rows with these numbers, in the order of the corpus, with the keys of ``COLUMNS``."""
    found = database.execute(
        f"SELECT {', '.join(COLUMNS.values())} FROM corpus.rows "  # noqa: S608 - no value in it
        "WHERE number IN (SELECT unnest($numbers::BIGINT[])) ORDER BY number",
        {"numbers": list(numbers)},
    )
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in found.fetchall())
    return [_plain(row) for row in rows]


def _where(view: View) -> tuple[str, dict[str, Any]]:
    """The filters as an expression of SQL, and the values of its parameters."""
    parts, values = ["true"], dict[str, Any]()
    if view.state != "all":
        parts.append(f"reason IS {'' if view.state == 'usable' else 'NOT '}NULL")
    for name, column, chosen in (
        ("label", "label", view.label),
        ("coordinator", "coalesce(coordinator_word, '')", view.coordinator),
        ("reason", "coalesce(reason, '')", [*view.reason, ""] if view.reason else []),
    ):
        if chosen:
            parts.append(f"list_contains(${name}, {column})")
            values[name] = chosen
    for name, column in (("fill", "fill_words"), ("words", "sentence_words")):
        for end, sign in (("min", ">="), ("max", "<=")):
            bound = getattr(view, f"{name}_{end}")
            if bound is not None:
                parts.append(f"{column} {sign} ${name}_{end}")
                values[f"{name}_{end}"] = bound
    if view.q:
        parts.append("contains(text, lower($q))")
        values["q"] = view.q
    return " AND ".join(parts), values


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    row["conjuncts"] = [_ends(span) for span in row["conjuncts"] or []]
    row["reference"] = _ends(row["reference"])
    return row


def _ends(span: Mapping[str, int] | None) -> list[int] | None:
    return None if span is None else [span["start"], span["end"]]


def _counts(database: duckdb.DuckDBPyConnection, column: str) -> list[list[Any]]:
    found = database.execute(
        f"SELECT {column}, count(*) FILTER (reason IS NULL), count(reason) "  # noqa: S608 - our columns
        "FROM corpus.rows GROUP BY 1 ORDER BY 2 DESC, 3 DESC, 1"
    )
    return [list(row) for row in found.fetchall()]


def _one(database: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    row = database.execute(query).fetchone()
    assert row is not None  # noqa: S101 - aggregates have one row
    return row
