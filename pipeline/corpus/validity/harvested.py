"""Harvested rows held against the sentences that they are, in memory that does not grow."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.corpus.content import words_key
from pipeline.corpus.engine import fetched, parquet
from pipeline.corpus.validity.donors import Wrong
from pipeline.corpus.validity.identity import FILE

_NEEDS = {"words", "sentence_id"}


class Harvested:
    """Sentences of all harvested rows so far, 128 bits of their words, in a database that spills to the disk.

    Args:
        database: one of ``corpus.engine`` without a table ``harvested``.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        database.execute(
            "CREATE TABLE harvested (number BIGINT, sentence_id VARCHAR, text UHUGEINT)"
        )

    def add(self, batch: pa.RecordBatch, file: int) -> None:
        """Take rows in; those of other runs, and rows without words, are not looked at.

        Args:
            batch: rows with ``place``, their number in the file, and ``harvested``.
            file: number of the file.
        """
        if not _NEEDS.issubset(batch.schema.names):
            return
        self._database.register("batch", pa.Table.from_batches([batch]))
        self._database.execute(
            f"INSERT INTO harvested SELECT $first + place, sentence_id, {words_key('words')} FROM batch "  # noqa: S608 - ours
            "WHERE harvested",
            {"first": file * FILE},
        )
        self._database.unregister("batch")

    def wrong(self, sentences: Path) -> Iterator[Wrong]:
        """Rows whose sentence a corpus lacks, or has with other words.

        Args:
            sentences: its ``sentences.parquet``, which is read as a stream.

        Raises:
            duckdb.Error: it cannot be read.
        """
        found = self._database.execute(
            f"""SELECT number, h.sentence_id, s.sentence_id IS NULL
            FROM harvested h LEFT JOIN {parquet(sentences)} s ON s.sentence_id = h.sentence_id
            WHERE {words_key("s.words")} IS DISTINCT FROM text ORDER BY number"""  # noqa: S608 - ours
        )
        for number, name, missing in fetched(found):
            place = divmod(number, FILE)
            if missing:
                yield "sentence not in the corpus", place, f"no sentence {name} in {sentences}"
            else:
                yield "words differ from the corpus", place, f"{name} has other words there"
