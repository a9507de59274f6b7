"""The predictor's probability of each row's generated boundary: CALCSCORE of Algorithm 1, line 8."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

import pyarrow as pa

from pipeline.core.candidate_checks import check
from pipeline.core.parquet import regroup
from pipeline.core.types import Span
from pipeline.predictor.model import Predictor, best_device

_BLOCK = 256  # rows scored together, whatever files they are from: enough to sort them by length
_READ = ["candidate_id", "sentence_id", "words", "coordinator", "conjuncts", "label"]


def loaded(folder: Path) -> Predictor:
    """The predictor of a folder, on the best device.

    Raises:
        ModelError: no predictor is there, or a damaged one.
    """
    return Predictor.load(folder).to(best_device())


def probabilities(
    predictor: Predictor, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[list[str], list[float | None]]]:
    """The probability of each row by a predictor alone: no temperature, no judges.

    Args:
        predictor: of ``loaded``.
        batches: rows with the columns of candidates, however cut.

    Yields:
        Some rows' ids, and their probabilities; None where the predictor can give none.

    Raises:
        InputError: the spans of a row do not fit its words.
    """
    first = 0
    for batch in regroup((each.select(_READ) for each in batches), repeat(_BLOCK)):
        check(batch, "candidates that the predictor is asked about", first)
        first += len(batch)
        rows = batch.to_pylist()
        found = predictor.probability(
            [tuple(row["words"]) for row in rows],
            [row["coordinator"] for row in rows],
            [Span(row["conjuncts"][0]["start"], row["conjuncts"][-1]["end"]) for row in rows],
        )
        predictor.encoding.forget()
        yield [row["candidate_id"] for row in rows], found
