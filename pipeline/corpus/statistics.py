"""What a corpus holds, in figures, and how far that is from a treebank.

DuckDB counts how often each label, length or score occurs, in memory that does not grow with the corpus.
What is computed from the counts (mean, quantiles, shares, divergence) is exact, in whatever order the rows
were counted. The treebank is asked how its coordinations are labelled and how long they are.
"""

import math
import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around
from pipeline.core.schema import CANDIDATES, SENTENCES, coordinators_in
from pipeline.core.types import COLUMNS
from pipeline.corpus.content import CONTENT, TEXT
from pipeline.corpus.coordinators import coordinators_behind
from pipeline.corpus.engine import columns_of, engine, fetched, parquet, quoted, rows_of
from pipeline.corpus.layout import Shards
from pipeline.corpus.origin import sentences_of
from pipeline.corpus.rows import generations

_PERCENTS = (5, 25, 50, 75, 95)
_DIGITS = 6  # beyond these, another mathematical library may say something else

CONJUNCT_BINS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30)
"""Greatest lengths, in words, of the bins in which conjuncts are compared; a last one has the rest."""

SENTENCE_BINS = (10, 15, 20, 25, 30, 35, 40, 50, 60)
"""The same for sentences."""


def described(counts: Mapping[int, int], scale: int = 1) -> dict[str, Any] | None:
    """Mean, standard deviation (of the values themselves, not an estimate), extremes and quantiles.

    The quantile q is the smallest value that at least a share q of the values does not exceed.

    Args:
        counts: how often each value occurs.
        scale: what the values are multiples of a part of: with 100 they are hundredths.

    Returns:
        None if there are no values.
    """
    # DuckDB has all of these, but holds every value in memory for a quantile (of 20 million rows they do not
    # fit ``engine``), and its sums of floats turn the last digit that is shown.
    total = sum(counts.values())
    if not total:
        return None
    values = sorted(counts)
    mean = Fraction(sum(v * counts[v] for v in values), total)
    square = Fraction(sum(v * v * counts[v] for v in values), total)
    ranks, below = [], 0
    for value in values:
        below += counts[value]
        ranks.append(below)
    return {
        "mean": round(float(mean / scale), _DIGITS),
        "sd": round(math.sqrt(square - mean * mean) / scale, _DIGITS),
        "min": _number(values[0], scale),
        "max": _number(values[-1], scale),
        "quantiles": {
            str(percent / 100): _number(values[bisect_left(ranks, -(-percent * total // 100))], scale)
            for percent in _PERCENTS
        },
    }  # fmt: skip


def _number(value: int, scale: int) -> int | float:
    return value if scale == 1 else value / scale


def binned(counts: Mapping[int, int], bins: Sequence[int]) -> dict[str, int]:
    """How many values each bin has, by its greatest value; ``more`` for those beyond the last."""
    names = [*map(str, bins), "more"]
    found = dict.fromkeys(names, 0)
    for value, count in counts.items():
        found[names[bisect_left(bins, value)]] += count
    return found


def divergence(one: Mapping[str, int], other: Mapping[str, int]) -> float | None:
    """Jensen-Shannon divergence in bits: 0 if the shares are the same, 1 if they have nothing in common.

    Returns:
        None if either has no counts.
    """
    totals = sum(one.values()), sum(other.values())
    if not all(totals):
        return None
    bits = 0.0
    for name in sorted(one.keys() | other.keys()):
        p, q = one.get(name, 0) / totals[0], other.get(name, 0) / totals[1]
        middle = (p + q) / 2
        bits += sum(x * math.log2(x / middle) / 2 for x in (p, q) if x)
    return round(max(bits, 0.0), _DIGITS)


def ordered(counts: Mapping[Any, int]) -> dict[str, int]:
    """Counts as JSON has them: names as text, the most frequent first, ties in alphabetical order."""
    named = {"(none)" if name is None else str(name): count for name, count in counts.items()}
    return dict(sorted(named.items(), key=lambda item: (-item[1], item[0])))


_SPLIT = "train"

_COORDINATIONS = """CREATE OR REPLACE TEMP VIEW coordination AS
SELECT row, length, c FROM (
    SELECT file_row_number AS row, len(words) AS length, unnest(coordinations) AS c
    FROM {rows} WHERE split = '{split}'
) WHERE lower(c.word) IN ({words})"""


def find_reference(place: Path) -> Path | None:
    """The ``sentences.parquet`` of the nearest folder at or above ``place``; None if there is none."""
    # Without following links: they may lead out of the corpus.
    found = corpus_around(Path(os.path.abspath(place)))
    return found / SENTENCES_FILE if found else None


def compared(
    database: duckdb.DuckDBPyConnection, reference: Path, corpus: dict[str, dict[Any, int]]
) -> dict[str, Any] | None:
    """The evaluable coordinations of a treebank's training split, and how far a corpus is from them.

    Args:
        database: of ``engine()``.
        reference: a corpus folder or its ``sentences.parquet``.
        corpus: histograms ``labels``, ``coordinators``, ``conjunct_words`` and ``sentence_words`` of the
            corpus; those that are not known are missing.

    Returns:
        None if the training split has no such coordination.

    Raises:
        InputError: there is no such file, it is damaged, or does not hold sentences.
    """
    path = sentences_of(reference, "treebank")
    columns_of(Shards(path, "file", (path,), (), None), SENTENCES)
    words = ", ".join(map(quoted, sorted(coordinators_in(path))))
    database.execute(_COORDINATIONS.format(rows=parquet(path), split=_SPLIT, words=words))

    def counts(value: str, rows: str = "coordination") -> dict[Any, int]:
        found = database.execute(f"SELECT {value} AS value, count(*) FROM {rows} GROUP BY ALL")  # noqa: S608 - ours
        return dict(found.fetchall())

    labels = counts("c.label")
    if not labels:
        return None
    spans = "(SELECT unnest(c.conjuncts) AS span FROM coordination)"
    sentences = "(SELECT row, any_value(length) AS length FROM coordination GROUP BY row)"
    own = {
        "labels": labels,
        "coordinators": counts("lower(c.word)"),
        "sentence_words": counts("length", sentences),
        "conjunct_words": counts("""span."end" - span."start\"""", spans),
    }
    return {
        "name": Path(os.path.abspath(path)).parent.name,
        "split": _SPLIT,
        "coordinations": sum(labels.values()),
        "labels": ordered(labels),
        "coordinators": ordered(own["coordinators"]),
        "sentence_words": described(own["sentence_words"]),
        "conjunct_words": described(own["conjunct_words"]),
        "divergence": _divergences(corpus, own),
    }


def _divergences(
    corpus: dict[str, dict[Any, int]], treebank: dict[str, dict[Any, int]]
) -> dict[str, float | None]:
    bins = {"conjunct_words": CONJUNCT_BINS, "sentence_words": SENTENCE_BINS}
    found: dict[str, float | None] = {}
    for name in ("labels", "coordinators", "conjunct_words", "sentence_words"):
        sides = corpus.get(name, {}), treebank[name]
        if name in bins:
            one, other = (binned(_numbers(side), bins[name]) for side in sides)
        else:
            one, other = map(ordered, sides)
        found[name] = divergence(one, other)
    return found


SCORES = tuple(each.name for each in COLUMNS if each.score)
"""Columns of a candidate's scores, mean log-probabilities per token."""

_SCALE = 10_000  # scores are counted to four digits, so that no more values are kept than that

_OPTIONAL = ("words", "coordinator", "conjuncts", "fill", *SCORES, "license")
"""What a stand-off release, or a corpus that another program wrote, may lack of a candidate's columns."""

_LENGTH = """{0}."end" - {0}."start\""""
_KNOWN = "$coordinators"  # in their place a list of those of the corpus
_HOLDS = f"list_has_any(list_transform({{}}, lambda w: lower(w)), {_KNOWN})"
_PLACES = """CASE WHEN {source} THEN CASE WHEN {fill} THEN 'both' ELSE 'source' END
    WHEN {fill} THEN 'fill' ELSE 'none' END"""
_OF_ACCEPTED = {
    "labels": (("label",), "label"),
    "coordinators": (
        ("words", "coordinator"),
        "CASE WHEN coordinator >= 0 THEN lower(words[coordinator + 1]) END",
    ),
    "sentence_words": (("words",), "len(words)"),
    "other_coordinators": (
        ("words", "coordinator", "conjuncts"),
        _PLACES.format(
            source=_HOLDS.format(
                'words[: least(conjuncts[1]."end", coordinator)] || words[conjuncts[-1]."end" + 1 :]'
            ),
            fill=_HOLDS.format(
                'words[conjuncts[1]."end" + 1 : coordinator] '
                '|| words[coordinator + 2 : conjuncts[-1]."end"]'
            ),
        ),
    ),
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
_WRITTEN_OTHERS = (
    ("fill_words",),
    f"CASE WHEN fill_words IS NULL THEN 'unknown' WHEN {_HOLDS.format('fill_words')} THEN 'fill' "
    "ELSE 'none' END",
)
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
            figures["other_coordinators"] = _WRITTEN_OTHERS
        known = f"[{', '.join(map(quoted, sorted(coordinators_behind(shards.manifest))))}]"
        figures = {name: (own, sql.replace(_KNOWN, known)) for name, (own, sql) in figures.items()}
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
            "other_coordinators": _others(found, in_source="words" in columns),
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
            "attested": _attested(database),
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
    for grouped, count, *values in fetched(database.execute(query)):
        index = at[grouped]
        found[listed[index]][values[index]] = count
    return found


def _conjunct_lengths(database: duckdb.DuckDBPyConnection) -> dict[Any, int]:
    query = f"""SELECT {_LENGTH.format("span")} AS length, count(*)
        FROM (SELECT unnest(conjuncts) AS span FROM rows WHERE reason IS NULL) GROUP BY ALL"""  # noqa: S608 - ours
    return dict(database.execute(query).fetchall())


def _distinct(database: duckdb.DuckDBPyConnection, value: str) -> int:
    query = f"SELECT count(*) FROM (SELECT DISTINCT {value} FROM rows WHERE reason IS NULL)"  # noqa: S608 - ours
    ((count,),) = database.execute(query).fetchall()
    return int(count)


def _attested(database: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Rows whose fill was taken from another sentence, and how many different places these are."""
    described = database.execute("DESCRIBE rows").fetchall()
    names = {name for name, *_ in described}
    if "donor" not in names:
        return {"rows": 0, "donors": 0}
    places = "SELECT donor FROM rows WHERE reason IS NULL"
    if "middle_donors" in names:
        places += " UNION ALL SELECT unnest(middle_donors) FROM rows WHERE reason IS NULL"
    ((rows, donors),) = database.execute(
        "SELECT (SELECT count(donor) FROM rows WHERE reason IS NULL), "  # noqa: S608 - ours
        f"count(DISTINCT donor) FROM ({places})"
    ).fetchall()
    return {"rows": int(rows), "donors": int(donors)}


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


def _others(counts: _Counts, *, in_source: bool) -> dict[str, int | None] | None:
    """Rows with a coordinator that is not the marked one: in the source's words, in the fill, in either.

    ``unknown``: rows of a stand-off release whose fill is another sentence's words, which are not here.
    """
    if "other_coordinators" not in counts:
        return None
    found = counts["other_coordinators"]
    both, fill = found.get("both", 0), found.get("fill", 0)
    source = found.get("source", 0) + both
    return {
        "source": source if in_source else None,
        "fill": fill + both,
        "rows": source + fill if in_source else None,
        "unknown": found.get("unknown", 0),
    }


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
