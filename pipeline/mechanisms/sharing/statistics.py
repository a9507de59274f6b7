"""What a corpus holds, in figures: counted by DuckDB, in memory that does not grow with the corpus."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from pipeline.ground.schema import CANDIDATES
from pipeline.mechanisms.sharing.content import CONTENT, TEXT
from pipeline.mechanisms.sharing.distributions import described, ordered
from pipeline.mechanisms.sharing.engine import columns_of, engine, rows_of
from pipeline.mechanisms.sharing.generations import generations
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.treebank import compared

__all__ = ["SCORES", "summarise"]

SCORES = ("score", "score_append", "score_prepend")
"""Columns of a candidate's scores, mean log-probabilities per token."""

_SCALE = 10_000  # scores are counted to four digits, so that no more values are kept than that

_OPTIONAL = ("words", "coordinator", "conjuncts", "fill", *SCORES, "license")
"""What a stand-off release, or a corpus of somebody else's, may lack of a candidate's columns."""

_LENGTH = """{0}."end" - {0}."start\""""
_OF_ACCEPTED = {
    "labels": (("label",), "label"),
    "coordinators": (
        ("words", "coordinator"),
        "CASE WHEN coordinator >= 0 THEN lower(words[coordinator + 1]) END",
    ),
    "sentence_words": (("words",), "len(words)"),
    "fill_words": (("conjuncts",), _LENGTH.format("conjuncts[-1]")),
    "reference_words": (("reference",), _LENGTH.format("reference")),
    **{
        score: (
            (score,),
            f"CASE WHEN isfinite({score}) THEN TRY_CAST(round({score}::DOUBLE * {_SCALE}) AS BIGINT) END",
        )
        for score in SCORES
    },
}
_WRITTEN_COORDINATOR = (("word",), "lower(word)")  # of a stand-off release, which has no words
_OF_ALL = {
    "reasons": ((), "reason"),
    "licenses": (("license",), "license"),
    "sources": (
        ("sentence_id",),
        "CASE WHEN contains(sentence_id, '/') THEN split_part(sentence_id, '/', 1) END",
    ),
    "generations": (("generation",), "generation"),
}
"""Name of a histogram → the columns it needs, and the value that is counted, in SQL."""

_Counts = dict[str, dict[Any, int]]


def summarise(shards: Shards, reference: Path | None) -> dict[str, Any]:
    """The figures of a corpus, ready for JSON; docs/sharing.md says what each of them is.

    Figures that need a column the corpus lacks, as stand-off releases lack the words, are None.

    Args:
        shards: the corpus.
        reference: a treebank to compare with, as a corpus folder or its ``sentences.parquet``; one
            whose training split has no evaluable coordination is left out.

    Raises:
        InputError: a file is missing or damaged, or is not what it should be; it is named.
    """
    columns = columns_of(shards, CANDIDATES, _OPTIONAL) | {"reason"}
    with engine(files=(*shards.accepted, *shards.rejects)) as database:
        database.execute(f"CREATE TEMP VIEW rows AS SELECT * FROM {rows_of(shards)}")  # noqa: S608 - our own paths
        every = _histograms(database, _OF_ALL, columns, "true")
        figures = dict(_OF_ACCEPTED)
        if "words" not in columns:
            figures["coordinators"] = _WRITTEN_COORDINATOR
        found = _histograms(database, figures, columns, "reason IS NULL")
        if "conjuncts" in columns:
            found["conjunct_words"] = _conjunct_lengths(database)
        rejected = {reason: n for reason, n in every["reasons"].items() if reason is not None}
        accepted = sum(found["labels"].values())
        return {
            "rows": {"accepted": accepted, "rejected": sum(rejected.values())},
            "sources": ordered(every["sources"]),
            "labels": ordered(found["labels"]),
            "coordinators": _named(found, "coordinators"),
            "reasons": ordered(rejected),
            "fill_words": _by_length(found, "fill_words"),
            "sentence_words": _lengths(found, "sentence_words"),
            "fill_length": _lengths(found, "fill_words"),
            "reference_length": _lengths(found, "reference_words"),
            "conjunct_words": _lengths(found, "conjunct_words"),
            "scores": {name: _score(found.get(name), accepted) for name in SCORES},
            "licenses": _named(every, "licenses"),
            "generations": _generations(shards, every),
            "sentences": _distinct(database, "sentence_id"),
            "duplicates": {
                "content": _repeats(database, CONTENT, ("words", "coordinator", "conjuncts"), columns),
                "text": _repeats(database, TEXT, ("words",), columns),
            },
            "reference": None if reference is None else compared(database, reference, found),
        }  # fmt: skip


def _histograms(
    database: duckdb.DuckDBPyConnection,
    figures: dict[str, tuple[tuple[str, ...], str]],
    columns: frozenset[str],
    condition: str,
) -> _Counts:
    """How often each value of each figure occurs, in one pass through the rows."""
    known = {name: sql for name, (needs, sql) in figures.items() if columns.issuperset(needs)}
    names = ", ".join(known)
    found: _Counts = {name: {} for name in known}
    query = f"""SELECT grouping({names}), count(*), {names}
        FROM (SELECT {", ".join(f"{sql} AS {name}" for name, sql in known.items())}
              FROM rows WHERE {condition}) AS values
        GROUP BY GROUPING SETS ({", ".join(f"({name})" for name in known)})"""  # noqa: S608 - ours
    # grouping() has a bit for each name, the first the highest, that is 0 where the row is grouped by it.
    full = 2 ** len(known) - 1
    at = {full - 2 ** (len(known) - 1 - i): i for i in range(len(known))}
    listed = list(known)
    for grouped, count, *values in _fetched(database.execute(query)):
        index = at[grouped]
        found[listed[index]][values[index]] = count
    return found


def _fetched(result: duckdb.DuckDBPyConnection) -> Iterable[tuple[Any, ...]]:
    while rows := result.fetchmany(4096):
        yield from rows


def _conjunct_lengths(database: duckdb.DuckDBPyConnection) -> dict[Any, int]:
    query = f"""SELECT {_LENGTH.format("span")} AS length, count(*)
        FROM (SELECT unnest(conjuncts) AS span FROM rows WHERE reason IS NULL) GROUP BY ALL"""  # noqa: S608 - ours
    return dict(database.execute(query).fetchall())


def _distinct(database: duckdb.DuckDBPyConnection, value: str) -> int:
    query = f"SELECT count(*) FROM (SELECT DISTINCT {value} FROM rows WHERE reason IS NULL)"  # noqa: S608 - ours
    ((count,),) = database.execute(query).fetchall()
    return int(count)


def _repeats(
    database: duckdb.DuckDBPyConnection, key: str, needs: tuple[str, ...], columns: frozenset[str]
) -> int | None:
    if not columns.issuperset(needs):
        return None
    ((rows,),) = database.execute("SELECT count(*) FROM rows WHERE reason IS NULL").fetchall()
    return int(rows) - _distinct(database, key)


def _generations(shards: Shards, every: _Counts) -> dict[str, int]:
    """Rows of each run: their own word, or the manifest's where it knows of one run only."""
    known = list(generations(shards))
    only = known[0] if len(known) == 1 else None
    unnamed = {only: sum(every["reasons"].values())}
    counts = every.get("generations", unnamed)
    named: dict[Any, int] = {}
    for key, count in counts.items():
        named[key or only] = named.get(key or only, 0) + count
    return ordered(named)


def _named(counts: _Counts, name: str) -> dict[str, int] | None:
    return ordered(counts[name]) if name in counts else None


def _by_length(counts: _Counts, name: str) -> dict[str, int] | None:
    if name not in counts:
        return None
    return {str(length): counts[name][length] for length in sorted(_numbers(counts[name]))}


def _lengths(counts: _Counts, name: str) -> dict[str, Any] | None:
    return described(_numbers(counts[name])) if name in counts else None


def _score(counts: dict[Any, int] | None, rows: int) -> dict[str, Any] | None:
    if counts is None:
        return None
    numbers = _numbers(counts)
    figures = described(numbers, _SCALE) or {"mean": None, "quantiles": None}
    return {
        "mean": figures["mean"],
        "quantiles": figures["quantiles"],
        "null": rows - sum(numbers.values()),
    }


def _numbers(counts: dict[Any, int]) -> dict[int, int]:
    return {value: count for value, count in counts.items() if value is not None}
