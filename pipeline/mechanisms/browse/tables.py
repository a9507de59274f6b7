"""A corpus as a table that can be asked many small questions, whatever its size.

Its rows are copied once into a database file in a temporary folder: there they are compressed, and
a question reads only the columns it is about. Memory is bounded; the disk holds about what the
Parquet files do, and is freed at the end.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.batches import require_columns
from pipeline.ground.errors import InputError
from pipeline.ground.schema import CANDIDATES
from pipeline.mechanisms.sharing.engine import engine, rows_of
from pipeline.mechanisms.sharing.generations import generations
from pipeline.mechanisms.sharing.layout import Shards

__all__ = ["corpus_table", "keep_sample", "sampled"]

_STAND_OFF = "run `conjoin rehydrate` on it first, with the source at hand"


@contextmanager
def corpus_table(shards: Shards) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the table ``corpus.rows``: usable candidates, then rejects, as in the files.

    Beside the files' columns a row has ``number`` (its place in that order, from 0), ``text`` (its
    words in lower case), ``word`` and ``coordinator_word`` (the coordinator, as written and in lower
    case; null without one), ``fill_words``, ``sentence_words``, ``reason`` (null if usable),
    ``value`` (what δ is held against: exp(score)) and ``judged`` (whether δ judges it: all usable).

    Raises:
        InputError: the release is stand-off, or a file is damaged or has other columns.
    """
    _require_text(shards)
    with (
        TemporaryDirectory(prefix="conjoin-browse-") as scratch,
        _plain_errors(shards.place),
        engine() as database,
    ):
        database.execute(f"ATTACH '{scratch}/corpus.duckdb' AS corpus")
        columns = {str(row[0]) for row in database.execute(f"DESCRIBE {_all(shards)}").fetchall()}
        known = generations(shards)
        only = next(iter(known)) if len(known) == 1 else None
        generation = "coalesce(generation, $only)" if "generation" in columns else "$only::VARCHAR"
        database.execute(_TABLE.format(rows=rows_of(shards), generation=generation), {"only": only})
        yield database


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
    lower(array_to_string(words, ' ')) AS text, coordinator,
    CASE WHEN coordinator >= 0 THEN words[coordinator + 1] END AS word,
    lower(word) AS coordinator_word, conjuncts, reference, label, fill,
    CASE WHEN len(conjuncts) > 1 THEN conjuncts[-1]['end'] - conjuncts[-1]['start']
         ELSE len(regexp_extract_all(fill, '\S+')) END AS fill_words,
    len(words) AS sentence_words,
    CASE WHEN isfinite(score) THEN score::DOUBLE END AS score,
    CASE WHEN isfinite(score_append) THEN score_append::DOUBLE END AS score_append,
    CASE WHEN isfinite(score_prepend) THEN score_prepend::DOUBLE END AS score_prepend,
    license, {generation} AS generation, reason,
    CASE WHEN reason IS NULL AND isfinite(score) AND score <= 0 THEN exp(score::DOUBLE) END AS value,
    reason IS NULL AS judged
FROM {rows}
"""


def _all(shards: Shards) -> str:
    return f"SELECT * FROM {rows_of(shards)}"  # noqa: S608 - our own paths


def _require_text(shards: Shards) -> None:
    for path in (*shards.accepted, *shards.rejects):
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"not a readable Parquet file: {error}", path=path, remedy="get or make it again"
            ) from error
        if shards.kind == "stand-off" or _without_words(schema):
            raise InputError(
                "a stand-off release: it has no text to show", path=shards.place, remedy=_STAND_OFF
            )
        require_columns(schema, CANDIDATES, path)


def _without_words(schema: pa.Schema) -> bool:
    return "words" not in schema.names and "candidate_id" in schema.names


@contextmanager
def _plain_errors(place: Path) -> Iterator[None]:
    """A file whose footer can be read, and the rest cannot, is the user's to mend as well."""
    try:
        yield
    except duckdb.Error as error:
        raise InputError(
            f"cannot be read: {error}", path=place, remedy="get or make it again"
        ) from error
