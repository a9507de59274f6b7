"""The reference treebank of a corpus: how its coordinations are labelled and how long they are."""

import os
from pathlib import Path
from typing import Any

import duckdb

from pipeline.ground.coordination import COORDINATORS
from pipeline.ground.errors import InputError
from pipeline.ground.schema import SENTENCES
from pipeline.mechanisms.sharing.distributions import (
    CONJUNCT_BINS,
    SENTENCE_BINS,
    binned,
    described,
    divergence,
    ordered,
)
from pipeline.mechanisms.sharing.engine import columns_of
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.origin import SENTENCES_FILE

__all__ = ["compared", "find_reference"]

_SPLIT = "train"

_COORDINATIONS = """CREATE OR REPLACE TEMP VIEW coordination AS
SELECT row, length, c FROM (
    SELECT file_row_number AS row, len(words) AS length, unnest(coordinations) AS c
    FROM read_parquet('{path}', file_row_number = true) WHERE split = '{split}'
) WHERE lower(c.word) IN ({words})"""


def find_reference(place: Path) -> Path | None:
    """The ``sentences.parquet`` of the nearest folder at or above ``place``; None if there is none."""
    start = Path(os.path.abspath(place))  # without following links: they may lead out of the corpus
    for folder in (start, *start.parents):
        if (folder / SENTENCES_FILE).is_file():
            return folder / SENTENCES_FILE
    return None


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
    path = reference / SENTENCES_FILE if reference.is_dir() else reference
    if not path.is_file():
        raise InputError(
            "no such treebank", path=path,
            remedy=f"name a corpus folder with a {SENTENCES_FILE}, as `conjoin ingest` writes it",
        )  # fmt: skip
    columns_of(Shards(path, "file", (path,), (), None), SENTENCES)
    words = ", ".join(f"'{word}'" for word in sorted(COORDINATORS))
    quoted = str(path).replace("'", "''")
    database.execute(_COORDINATIONS.format(path=quoted, split=_SPLIT, words=words))

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
            one, other = (binned(_known(side), bins[name]) for side in sides)
        else:
            one, other = map(ordered, sides)
        found[name] = divergence(one, other)
    return found


def _known(counts: dict[Any, int]) -> dict[int, int]:
    return {value: count for value, count in counts.items() if value is not None}
