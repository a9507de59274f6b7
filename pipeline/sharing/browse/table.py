"""A corpus as a DuckDB table, and the queries (``View``) that the page of ``conjoin browse`` makes on it.

The rows are copied once into a database file in a temporary folder: there they are compressed, and a
query reads only the columns it needs. Memory is bounded; the disk holds about what the Parquet files
do, and is freed at the end. What a reader types reaches SQL as a parameter, never as text.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import duckdb
import pyarrow as pa
from duckdb.func import PythonUDFType
from pydantic import BaseModel, ConfigDict, Field

from pipeline.core.errors import InputError
from pipeline.core.schema import CANDIDATES
from pipeline.corpus.engine import columns_of, engine, quoted, rows_of
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import generations
from pipeline.text.columns import natural_texts
from pipeline.text.natural import readable


@contextmanager
def corpus_table(shards: Shards) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the table ``corpus.rows``: usable candidates, then rejects, as in the files.

    Beside the files' columns a row has ``number`` (its place in that order, from 0), ``text`` (made of
    its words where the file has none), ``word`` and ``coordinator_word`` (the coordinator, as written and
    in lower case; null without one), ``fill_words``, ``sentence_words``, ``reason`` (null if usable),
    ``value`` (what δ is held against: exp(score)) and ``judged`` (whether δ judges it: all usable).
    What may not be null but is, is empty there, a label ``(none)`` and a licence ``unknown``.

    Raises:
        InputError: the release is stand-off, or a file is damaged or has other columns.
    """
    columns = columns_of(shards, CANDIDATES, optional=("words",))
    if shards.kind == "stand-off" or "words" not in columns:
        raise InputError(
            "a stand-off release: it has no text to show", path=shards.place,
            remedy="run `conjoin rehydrate` on it first, with the source at hand",
        )  # fmt: skip
    with (
        TemporaryDirectory(prefix="conjoin-browse-") as scratch,
        engine(files=(*shards.accepted, *shards.rejects)) as database,
    ):
        database.execute(f"ATTACH {quoted(f'{scratch}/corpus.duckdb')} AS corpus")
        described = database.execute(f"DESCRIBE SELECT * FROM {rows_of(shards)}").fetchall()  # noqa: S608 - our own paths
        known = generations(shards)
        only = next(iter(known)) if len(known) == 1 else None
        names = {row[0] for row in described}
        generation = "$only::VARCHAR"
        if "generation" in names:
            generation = "coalesce(generation, $only)"
        donors = "[]"
        if "donor" in names:
            middle = "coalesce(middle_donors, [])" if "middle_donors" in names else "[]"
            donors = f"CASE WHEN donor IS NULL THEN [] ELSE list_append({middle}, donor) END"
        database.create_function(
            "natural_text", _natural_text, [duckdb.list_type(str)], str, type=PythonUDFType.ARROW
        )
        made = "natural_text(words)"
        text = f"coalesce(text, {made})" if "text" in names else made
        table = _TABLE.format(rows=rows_of(shards), generation=generation, donors=donors, text=text)
        database.execute(table, {"only": only})
        yield database


def _natural_text(words: pa.ChunkedArray) -> pa.StringArray:
    return natural_texts(words.combine_chunks())


def keep_sample(database: duckdb.DuckDBPyConnection, size: int, seed: int) -> None:
    """Keep ``size`` rows drawn from all, usable or not; they keep their numbers and their order."""
    database.execute(
        "DELETE FROM corpus.rows WHERE number NOT IN "  # noqa: S608 - no value in it
        f"(SELECT number FROM corpus.rows ORDER BY {_DRAW} LIMIT $size)",
        {"size": size, "seed": seed},
    )


def sampled(database: duckdb.DuckDBPyConnection, size: int, seed: int) -> list[int]:
    """The numbers of ``size`` usable candidates drawn from all, in the order of the corpus."""
    found = database.execute(
        "SELECT number FROM (SELECT number FROM corpus.rows "  # noqa: S608 - no value in it
        f"WHERE reason IS NULL ORDER BY {_DRAW} LIMIT $size) ORDER BY number",
        {"size": size, "seed": seed},
    )
    return [int(row[0]) for row in found.fetchall()]


_DRAW = "md5($seed || ' ' || candidate_id), number"  # a draw that does not depend on the shards

_TABLE = r"""
CREATE TABLE corpus.rows AS SELECT
    row_number() OVER () - 1 AS number, candidate_id, sentence_id, words,
    {text} AS text, coordinator,
    CASE WHEN coordinator >= 0 THEN words[coordinator::BIGINT + 1] END AS word,
    lower(word) AS coordinator_word, conjuncts, reference, label, fill,
    CASE WHEN len(conjuncts) > 1 THEN conjuncts[-1]['end']::BIGINT - conjuncts[-1]['start']
         ELSE len(regexp_extract_all(fill, '\S+')) END AS fill_words,
    len(words) AS sentence_words,
    CASE WHEN isfinite(score) THEN score::DOUBLE END AS score,
    CASE WHEN isfinite(score_append) THEN score_append::DOUBLE END AS score_append,
    CASE WHEN isfinite(score_prepend) THEN score_prepend::DOUBLE END AS score_prepend,
    license, {donors} AS donors, {generation} AS generation, reason,
    CASE WHEN reason IS NULL AND isfinite(score) AND score <= 0 THEN exp(score::DOUBLE) END AS value,
    reason IS NULL AS judged
FROM (SELECT * REPLACE (
    coalesce(candidate_id, '') AS candidate_id, coalesce(sentence_id, '') AS sentence_id,
    coalesce(list_transform(words, lambda w: coalesce(w, '')), []) AS words,
    coalesce(coordinator, -1) AS coordinator,
    coalesce(list_filter(conjuncts, lambda s: s['start'] IS NOT NULL AND s['end'] IS NOT NULL), [])
        AS conjuncts,
    CASE WHEN reference['start'] IS NOT NULL AND reference['end'] IS NOT NULL THEN reference END
        AS reference,
    coalesce(label, '(none)') AS label, coalesce(fill, '') AS fill,
    coalesce(license, 'unknown') AS license
) FROM {rows})
"""


BINS = 200
"""Steps of the δ slider; a value's bin is the highest step that it reaches, 0 to ``BINS``."""

_Count = Annotated[int, Field(ge=0, le=10**9)]
_Choices = Annotated[list[str], Field(max_length=200)]


class View(BaseModel):
    """One query. Its filter rules exist twice: here in SQL, and in ``rules.js``.

    Attributes:
        state: which rows: usable candidates, rejects, or both.
        label: constituent labels; none: any.
        coordinator: coordinators in lower case; "" is a row without one; none: any.
        reason: reasons of rejects; none: any. Usable candidates have none and are not asked.
        fill_min, fill_max: bounds of the words of the fill, both included.
        words_min, words_max: the same of the sentence.
        q: what ``text`` must contain, in any case; nothing in it has a special meaning.
        sort: ``order``: as in the corpus; by ``score`` or ``value`` (what δ is held against), with
            ``-`` the highest first; rows without one come last, equal ones in the corpus's order.
        keep: all rows, or of those that δ judges the ones that reach it (``above``) or not.
        cut: δ in steps of the slider.
        offset, limit: which of the rows found are wanted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: Literal["usable", "rejected", "all"] = "usable"
    label: _Choices = []
    coordinator: _Choices = []
    reason: _Choices = []
    fill_min: _Count | None = None
    fill_max: _Count | None = None
    words_min: _Count | None = None
    words_max: _Count | None = None
    q: Annotated[str, Field(max_length=1000)] = ""
    sort: Literal["order", "score", "-score", "value", "-value"] = "order"
    keep: Literal["all", "above", "below"] = "all"
    cut: Annotated[int, Field(ge=0, le=BINS)] = 0
    offset: _Count = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 20


def bin_of(value: float | None, top: float) -> int | None:
    """The highest of ``BINS`` steps between 0 and ``top`` that a value reaches; None of None."""
    return None if value is None else min(BINS, int(value * BINS / top))


COLUMNS = {
    "number": "number", "id": "candidate_id", "sentence": "sentence_id", "words": "words", "text": "text",
    "coordinator": "coordinator", "word": "word", "conjuncts": "conjuncts", "reference": "reference",
    "label": "label", "fill": "fill", "fill_words": "fill_words", "score": "score",
    "append": "score_append", "prepend": "score_prepend", "value": "value", "judged": "judged",
    "reason": "reason", "license": "license", "donors": "donors", "generation": "generation",
}  # fmt: skip
"""What the page gets of a row: its name there, and the column. Spans are ``[start, end]``; donors,
of the conjuncts in their order, are ``{sentence, span}``. Besides it gets ``pieces``: the words as text
to be read, each with the blank before it, if there is one."""

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
    """Counts of the rows that the filters leave, at every δ, so that the page can move δ without a query.

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
    # Select row numbers first: to sort whole rows takes far more memory, and time on later pages.
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
    return [
        {
            **row,
            "pieces": _pieces(row["words"]),
            "conjuncts": [_ends(span) for span in row["conjuncts"]],
            "reference": _ends(row["reference"]),
            "donors": [
                {"sentence": d["sentence_id"], "span": _ends(d)} for d in row["donors"] if d
            ],
        }
        for row in rows
    ]


def _pieces(words: Sequence[str]) -> list[str]:
    natural = readable(words)
    bounds = pairwise([0, *(end for _, end in natural.offsets)])
    return [natural.text[begin:end] for begin, end in bounds]


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
        parts.append("contains(lower(text), lower($q))")
        values["q"] = view.q
    return " AND ".join(parts), values


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
