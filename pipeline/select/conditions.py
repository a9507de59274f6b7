"""What is asked of each row: conditions in SQL, each with the reason why a row is left out that fails it.

They are held against batches in a database that opens no file: the condition of a user is among them.
A condition sees the columns of a release (docs/release.md) and those of ``VIEW``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.documents import parse_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.names import nearest
from pipeline.corpus.engine import sealed
from pipeline.corpus.rows import RELEASED
from pipeline.select.settings import NO_SCORE, SelectSettings, bounds

VIEW = {
    "fill_words": """conjuncts[-1]."end"::BIGINT - conjuncts[-1]."start\"""",
    "sentence_words": "len(words)",
    "coordinator_word": "CASE WHEN coordinator >= 0 THEN lower(words[coordinator::BIGINT + 1]) END",
}
"""Columns that a condition may name besides a row's own: words of the last conjunct and of the sentence,
and the coordinator in lower case."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is asked of a row.

    Attributes:
        reason: why a row is left out for which it does not hold.
        holds: in SQL, over the columns of a row; null counts as false.
        values: of the parameters that ``holds`` names.
    """

    reason: str
    holds: str
    values: Mapping[str, object] = field(default_factory=dict)


def conditions_of(settings: SelectSettings) -> list[Condition]:
    """What the settings ask of the columns of a row, in the order in which it is asked.

    Raises:
        SettingsError: the condition of ``where`` is none.
    """
    found: list[Condition] = []
    if settings.label:
        reason = f"label not among {', '.join(sorted(set(settings.label)))}"
        found.append(Condition(reason, "list_contains($labels, label)", {"labels": settings.label}))
    if settings.words is not None:
        low, high = bounds(settings.words)
        held = [f"fill_words {sign} {bound}" for sign, bound in ((">=", low), ("<=", high))
                if bound is not None]  # fmt: skip
        found.append(Condition(f"words of the fill not {settings.words}", " AND ".join(held)))
    if settings.min_score is not None or settings.max_score is not None:
        found.append(Condition(NO_SCORE, "isfinite(score)"))
    for name, sign, bound in (
        ("below", ">=", settings.min_score),
        ("above", "<=", settings.max_score),
    ):
        if bound is not None:
            key = f"score_{name}"
            held_by = f"score::DOUBLE {sign} ${key}"
            found.append(Condition(f"score {name} {bound:g}", held_by, {key: bound}))
    if settings.where is not None:
        check_condition(settings.where)
        reason = (
            "condition not met"  # which one the manifest's command says: reasons hold no free text
        )
        found.append(Condition(reason, f"(\n{settings.where}\n)"))
    return found


_OTHER_QUERY = {"SUBQUERY", "WINDOW", "PARAMETER", "POSITIONAL_REFERENCE", "STAR"}
"""Classes of expressions that are not about the row alone."""


def check_condition(condition: str) -> None:
    """Check that a condition of SQL is one, about a row's own columns, and always says the same of it.

    Raises:
        SettingsError: it is not.
    """
    with sealed(1) as database:
        _register(database, RELEASED.empty_table())
        node = _parsed(database, condition)
        for part in _parts(node):
            if part.get("class") in _OTHER_QUERY:
                raise _wrong(condition, "it may only speak of the columns of one row")
            # Some functions are called without brackets, as a column is named: current_date.
            for name in (part.get("function_name"), *part.get("column_names", ())):
                if not isinstance(name, str) or _is_age_of_two(part):
                    continue
                if name.lower() in _OF_NOW or _varies(database, name):
                    raise _wrong(condition, f"{name} does not always say the same of a row")
        try:
            database.execute(f"SELECT 1 FROM candidate WHERE (\n{condition}\n)")  # noqa: S608 - as below
            (column,) = database.execute(
                f"DESCRIBE SELECT (\n{condition}\n) FROM candidate"  # noqa: S608 - parsed above, in a sealed database
            ).fetchall()
        except duckdb.Error as error:
            unknown = _UNKNOWN.search(str(error))
            why = _unknown(unknown[1]) if unknown else _first_line(error)
            raise _wrong(condition, why) from error
        if column[1] != "BOOLEAN":
            raise _wrong(condition, f"it is {column[1]}, neither true nor false")


def _parsed(database: duckdb.DuckDBPyConnection, condition: str) -> Mapping[str, Any]:
    """The syntax tree of a condition."""
    if not condition.strip():
        raise _wrong(condition, "it is empty")
    query = f"SELECT 1 WHERE (\n{condition}\n)"
    ((found,),) = database.execute("SELECT json_serialize_sql($query)", {"query": query}).fetchall()
    tree = parse_json(found)
    if tree["error"]:
        raise _wrong(condition, str(tree["error_message"]).splitlines()[0])
    nodes = [statement["node"] for statement in tree["statements"]]
    # A closing bracket of its own could end the condition and begin another part of the query.
    plain: dict[str, Any] = {
        "type": "SELECT_NODE", "modifiers": [], "group_expressions": [], "having": None,
        "sample": None, "qualify": None,
    }  # fmt: skip
    if len(nodes) != 1 or any(nodes[0].get(name) != value for name, value in plain.items()):
        raise _wrong(condition, "it is more than one condition")
    where: Mapping[str, Any] = nodes[0]["where_clause"]
    return where


def _parts(node: object) -> Iterator[Mapping[str, Any]]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


_OF_NOW = {
    "age", "ago", "current_localtime", "current_localtimestamp", "current_time", "current_timestamp",
    "localtime", "localtimestamp", "pg_conf_load_time", "pg_postmaster_start_time",
}  # fmt: skip
"""What tells the time though DuckDB's list calls it constant, or is a keyword or a macro; ``age`` of one
argument."""


def _is_age_of_two(part: Mapping[str, Any]) -> bool:
    return part.get("function_name") == "age" and len(part.get("arguments", ())) == 2


def _varies(database: duckdb.DuckDBPyConnection, name: str) -> bool:
    found = database.execute(
        "SELECT count(*) FROM duckdb_functions() WHERE function_name = lower($name) "
        "AND stability IS NOT NULL AND stability <> 'CONSISTENT'",
        {"name": name},
    ).fetchone()
    return bool(found and found[0])


def _wrong(condition: str, why: str) -> SettingsError:
    return SettingsError(
        f"select.where = {_shown(condition)!r}: {why[:_LONGEST]}",
        remedy=f"columns are {', '.join([*RELEASED.names, *VIEW])}",
    )


def _shown(condition: str) -> str:
    """A condition on one line that can be printed and is not too long."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(condition.split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


def _unknown(name: str) -> str:
    columns = {each.lower(): each for each in (*RELEASED.names, *VIEW)}
    like = nearest(name.lower(), columns)
    return f"there is no column {name!r}{like and f', {like}'}"


_LONGEST = 160  # characters of what a message shows
_UNKNOWN = re.compile(r'Referenced column "([^"]+)" not found')
_KIND = re.compile(r"^[A-Z]\w* Error: ")


def _first_line(error: Exception) -> str:
    return _KIND.sub("", str(error).strip().splitlines()[0])


def _register(database: duckdb.DuckDBPyConnection, rows: pa.Table) -> None:
    database.register("batch", rows)
    columns = ", ".join(f"{sql} AS {name}" for name, sql in VIEW.items())
    database.execute(
        f"CREATE OR REPLACE TEMP VIEW candidate AS SELECT *, {columns} FROM batch"  # noqa: S608 - ours
    )


class Verdicts:
    """Tells of the rows of batches which condition they fail first."""

    def __init__(
        self, database: duckdb.DuckDBPyConnection, conditions: Sequence[Condition]
    ) -> None:
        self._database, self._conditions = database, conditions
        self._values = {k: v for each in conditions for k, v in each.values.items()}

    def of(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint8]:
        """The place of the first condition that each row fails, counted from 1; 0 if it fails none.

        Args:
            batch: rows with the columns of ``RELEASED``.

        Raises:
            InputError: a condition cannot be answered for a row, such as a text that is no number.
        """
        if not self._conditions or not len(batch):
            return np.zeros(len(batch), np.uint8)
        cases = " ".join(
            f"WHEN NOT coalesce({each.holds}, false) THEN {place}"
            for place, each in enumerate(self._conditions, 1)
        )
        _register(self._database, pa.Table.from_batches([batch]))
        query = f"SELECT CASE {cases} ELSE 0 END::UTINYINT AS verdict FROM candidate"  # noqa: S608 - checked
        try:
            found = self._database.execute(query, self._values).fetchnumpy()
        except duckdb.Error as error:
            raise InputError(
                f"select.where: {_first_line(error)[:_LONGEST]}",
                remedy="ask for what every row can answer, e.g. with TRY_CAST",
            ) from error
        verdicts: npt.NDArray[np.uint8] = np.asarray(found["verdict"], np.uint8)
        return verdicts


@contextmanager
def verdicts(conditions: Sequence[Condition]) -> Iterator[Verdicts]:
    """What tells verdicts by some conditions."""
    with sealed() as database:
        yield Verdicts(database, conditions)
