"""Attested fills held against the sentences that they are said to be from, in memory that does not grow."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around, require_ingested
from pipeline.corpus.content import words_key
from pipeline.corpus.engine import fetched, parquet
from pipeline.corpus.layout import Shards
from pipeline.corpus.validity.identity import FILE

_NEEDS = {"words", "conjuncts", "donor"}

_PARTS = """SELECT place, words, donor, conjuncts[-1] AS own FROM batch WHERE gap IS NULL
    UNION ALL SELECT place, words,
        {'sentence_id': donor.sentence_id, 'start': donor."start", 'end': gap."start"},
        {'start': conjuncts[-1]."start", 'end': gap.at} FROM batch WHERE gap IS NOT NULL
    UNION ALL SELECT place, words,
        {'sentence_id': donor.sentence_id, 'start': gap."end", 'end': donor."end"},
        {'start': gap.at, 'end': conjuncts[-1]."end"} FROM batch WHERE gap IS NOT NULL"""
"""Donors and their conjuncts; of a gapped one what stands before the gap, and what stands behind it."""

Wrong = tuple[str, tuple[int, int], str]
"""Kind of violation; file and row, in numbers from 0; what is wrong."""


def sentences_of(shards: Shards) -> Path | None:
    """The sentences that a folder of candidates was made of; None where that cannot be known.

    Those of the corpus folder around it; what was merged or selected may be from several corpora, and a
    release may lie anywhere.
    """
    if shards.kind != "candidates" or {"merged", "selection"} & set(shards.manifest or {}):
        return None
    corpus = corpus_around(shards.place)
    if corpus is None:
        return None
    require_ingested(corpus)
    return corpus / SENTENCES_FILE


class Donated:
    """Donors of all rows so far, and 128 bits of their words, in a database that spills to the disk.

    Args:
        database: one of ``corpus.engine`` without a table ``donated``.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        database.execute(
            "CREATE TABLE donated (number BIGINT, sentence_id VARCHAR, first BIGINT, last BIGINT, "
            "text UHUGEINT)"
        )

    def add(self, batch: pa.RecordBatch, file: int) -> None:
        """Take rows in; those whose donor is no span, or not as long as the fill, are others' to report.

        Args:
            batch: rows with ``place``, their number in the file; without the columns of attested
                candidates nothing is taken in.
            file: number of the file.
        """
        if not _NEEDS.issubset(batch.schema.names) or batch.column("donor").null_count == len(
            batch
        ):
            return
        self._database.register("batch", pa.Table.from_batches([batch]))
        pairs = "SELECT place, words, donor, conjuncts[-1] AS own FROM batch"
        if "gap" in batch.schema.names:
            pairs = _PARTS
        if "middle_donors" in batch.schema.names:
            pairs += """ UNION ALL SELECT place, words, pair[1], pair[2] FROM (SELECT place, words,
                unnest(list_zip(middle_donors, conjuncts[2:-2])) AS pair FROM batch)"""
        self._database.execute(
            f"""INSERT INTO donated
            SELECT $first + place, donor.sentence_id, low, high, {words_key("words[since + 1 : until]")}
            FROM (SELECT *, donor."start"::BIGINT AS low, donor."end"::BIGINT AS high,
                own."start"::BIGINT AS since, own."end"::BIGINT AS until FROM ({pairs}))
            WHERE donor IS NOT NULL AND 0 <= low AND low < high AND 0 <= since
                AND high - low = until - since""",  # noqa: S608 - ours
            {"first": file * FILE},
        )
        self._database.unregister("batch")

    def wrong(self, sentences: Path) -> Iterator[Wrong]:
        """Donors that a corpus lacks, or has with other words than the fill's.

        Args:
            sentences: its ``sentences.parquet``, which is read as a stream.

        Raises:
            duckdb.Error: it cannot be read.
        """
        found = self._database.execute(
            f"""SELECT number, d.sentence_id, s.sentence_id IS NULL, array_to_string(
                s.words[first + 1 : last], ' ')
            FROM donated d LEFT JOIN {parquet(sentences)} s ON s.sentence_id = d.sentence_id
            WHERE {words_key("s.words[first + 1 : last]")} IS DISTINCT FROM text ORDER BY number"""  # noqa: S608 - ours
        )
        for number, name, missing, words in fetched(found):
            place = divmod(number, FILE)
            if missing:
                yield "donor not in the corpus", place, f"no sentence {name} in {sentences}"
            else:
                what = f"the fill is not what {name} has there: {words!r}"
                yield "donor differs from the corpus", place, what
