"""Checks of whole batches of candidates before training.

A check is a ``Rule``, a condition in SQL that DuckDB holds against all rows of a batch at once. Those here
are what training needs; ``conjoin validate`` has more (``corpus/validity/rules.py``).
"""

import atexit
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows of a batch with the same thing wrong with them.

    Attributes:
        kind: its name in the table of ``conjoin validate``.
        rows: indices into the batch, one for every instance.
        what: what is wrong, or a function that says it of a row.
    """

    kind: str
    rows: npt.NDArray[np.int64]
    what: str | Callable[[int], str]

    def message(self, row: int) -> str:
        """What is wrong with one of the rows."""
        return self.what if isinstance(self.what, str) else self.what(row)


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong with a row.

    Attributes:
        kind: its name in the table of ``conjoin validate``.
        needs: the columns without which it is not asked, with spaces between them.
        wrong: a condition in SQL that is true of the rows at fault; it may name the columns that
            ``_DERIVED`` adds.
        message: what is wrong: a format string of the row's columns, in which spans read ``[start, end)``
            and words are joined by spaces, or a function of the row as ``to_pylist`` has it.
        confirm: asked of the rows that ``wrong`` finds, where SQL alone cannot tell.
    """

    kind: str
    needs: str
    wrong: str
    message: str | Callable[[Mapping[str, Any]], str]
    confirm: Callable[[Mapping[str, Any]], bool] | None = None


_DERIVED = {  # of 64 bits, so that sums of extreme indices do not overflow
    "k": ("coordinator", "coordinator::BIGINT"),
    "n": ("words", "len(words)"),
    "starts": ("conjuncts", """list_transform(conjuncts, lambda s: s."start"::BIGINT)"""),
    "ends": ("conjuncts", """list_transform(conjuncts, lambda s: s."end"::BIGINT)"""),
    "cause": ("reason", "reason"),
    "attested": ("donor", "donor IS NOT NULL"),
    "lacking": ("gap", 'gap."end"::BIGINT - gap."start"'),
}
"""Columns that rules may name besides a batch's own, null where the column that they are made of is not
there: their name, that column, and how they are made of it."""

_BOTH = "coordinator conjuncts"
ANY = "list_bool_or(list_transform({}, lambda s: {}))".format
_GAPS = (
    "list_zip(ends[:-2], starts[2:])"  # where each conjunct but the last ends, and the next begins
)

SPAN_RULES = (
    Rule("fewer than two conjuncts", _BOTH, "len(conjuncts) < 2", "fewer than two conjuncts"),
    Rule("span outside sentence", _BOTH, "list_min(starts) < 0",
         "a conjunct begins before the first word"),
    Rule("span outside sentence", f"{_BOTH} words", "list_max(ends) > n",
         "a conjunct ends beyond the last word"),
    Rule("empty span", _BOTH, ANY("conjuncts", 's."start" >= s."end"'), "a conjunct has no words"),
    Rule("conjuncts overlap or out of order", _BOTH, ANY(_GAPS, "s[2] < s[1]"), "conjuncts overlap"),
    Rule("coordinator inside a conjunct", _BOTH, ANY("conjuncts", 's."start" <= k AND k < s."end"'),
         "the coordinator is inside a conjunct"),
    Rule("coordinator outside", _BOTH, "k < starts[1] OR k >= ends[-1]",
         "the coordinator is not between the conjuncts"),
)  # fmt: skip
"""What must hold of coordinator and conjuncts, of any number and any values, and of the sentence around
them if its words are there."""


def faults(
    database: duckdb.DuckDBPyConnection,
    batch: pa.RecordBatch,
    rules: Sequence[Rule],
    values: Mapping[str, object] | None = None,
) -> Iterator[Fault]:
    """Check the rows of a batch against rules; a rule for which a column is missing is left out.

    Args:
        database: any database; nothing is written into it.
        batch: rows without nulls in the columns that may have none.
        rules: what is asked, in this order.
        values: of the parameters that the rules' conditions name.
    """
    names = set(batch.schema.names)
    asked = [rule for rule in rules if names.issuperset(rule.needs.split())]
    if not asked or not len(batch):
        return
    flags = ", ".join(f"coalesce({rule.wrong}, false)" for rule in asked)
    derived = (
        f"{sql if of in names else 'NULL'} AS {name}" for name, (of, sql) in _DERIVED.items()
    )
    database.register("batch", pa.Table.from_batches([batch]))
    # A pass over one table leaves the optimizer nothing to find, which takes it half of a small batch's time.
    database.execute("PRAGMA disable_optimizer")
    found = database.execute(
        f"SELECT {flags} FROM (SELECT *, {', '.join(derived)} FROM batch)",  # noqa: S608 - our own rules
        {name: value for name, value in (values or {}).items() if f"${name}" in flags},
    ).fetchnumpy()
    database.execute("PRAGMA enable_optimizer")
    database.unregister("batch")
    for rule, wrong in zip(asked, found.values(), strict=True):
        rows = np.flatnonzero(wrong)
        if rule.confirm and len(rows):
            suspects = batch.select(rule.needs.split()).take(pa.array(rows)).to_pylist()
            rows = rows[[rule.confirm(row) for row in suspects]]
        if len(rows):
            yield Fault(rule.kind, rows, partial(_message, rule, batch))


def _message(rule: Rule, batch: pa.RecordBatch, index: int) -> str:
    """What a rule says of a row that breaks it."""
    row = batch.slice(index, 1).to_pylist()[0]
    if callable(rule.message):
        return rule.message(row)
    return rule.message.format_map({name: _shown(value) for name, value in row.items()})


def _shown(value: Any) -> Any:
    match value:
        case {"start": start, "end": end}:
            return f"[{start}, {end})"
        case [{}, *_]:
            return ", ".join(map(_shown, value))
        case [*words]:
            return " ".join(words)
    return value


CHECKED = ["candidate_id", "sentence_id", "words", "coordinator", "conjuncts", "label"]
"""The columns of rows that are checked before anything that needs their spans is asked, such as training."""

_LONGEST = 160  # characters of a row that a message shows


def check(
    batch: pa.RecordBatch,
    place: str,
    first: int,
    rules: Sequence[Rule] = SPAN_RULES,
    values: Mapping[str, object] | None = None,
) -> None:
    """Check that candidates have no empty field and keep some rules.

    Args:
        batch: rows with the columns of ``CHECKED``, and maybe others.
        place: the file they come from.
        first: the row of that file (from 0) with which the batch begins.
        rules: what is asked: that words, coordinator and conjuncts fit each other, or more.
        values: of the parameters that the rules' conditions name.

    Raises:
        InputError: a row is not so; it is named, with what is wrong with it.
    """
    empty = np.concatenate([null_rows(batch.column(name)) for name in CHECKED])
    found = [Fault("null value", empty, "a field is empty")] if len(empty) else []
    if not found:  # only rows that are whole can be asked for anything else
        with _database().cursor() as database:
            found = list(faults(database, batch, rules, values))
    if not found:
        return
    fault = min(found, key=lambda fault: int(fault.rows.min()))
    index = int(fault.rows.min())
    row = batch.slice(index, 1).to_pylist()[0]
    raise InputError(
        f"row {first + index} (from 0): candidate {row['candidate_id']}: {fault.kind}: "
        f"{fault.message(index)[:_LONGEST]}",
        path=place, sentence_id=row["sentence_id"], remedy="make the candidates again",
    )  # fmt: skip


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all batches: to open it takes longer than to check one."""
    atexit.register(_database.cache_clear)  # DuckDB complains of what is open when Python ends
    return duckdb.connect(config={"threads": 1})


def null_rows(column: pa.Array) -> npt.NDArray[np.int64]:
    """Rows in which a value, an element of a list or a field of a span is null."""
    missing = np.array(pc.is_null(column), dtype=bool)
    inner, row = column, np.arange(len(column))
    if pa.types.is_list(column.type):
        inner = pc.list_flatten(column)
        row = np.repeat(row, np.asarray(pc.fill_null(pc.list_value_length(column), 0)))
    parts = [inner]
    if pa.types.is_struct(inner.type):
        parts += [pc.struct_field(inner, f.name) for f in inner.type]
    for part in parts:
        if part.null_count:
            missing[row[np.asarray(pc.is_null(part))]] = True
    return np.flatnonzero(missing)
