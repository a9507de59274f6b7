"""The predictor's probability of each row that is shown: CalcScore of Algorithm 1, line 8.

It is asked for a sample once, from which shares are estimated, and for every row that is
displayed: a corpus may be far larger than what can be scored while the user waits.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from pipeline.core.device import best_device
from pipeline.core.types import Span
from pipeline.sharing.browse.table import rows_by_number, sampled
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor

_BLOCK = 256  # rows scored together: enough to sort them by length
_KEPT = 50_000  # probabilities remembered of rows outside the sample


class BoundaryScorer:
    """Gives the probability of each row's generated boundary, and remembers it.

    Args:
        folder: a predictor's.

    Raises:
        ModelError: no predictor is there, or a damaged one.
    """

    def __init__(self, folder: Path) -> None:
        self._predictor = CoordinationPredictor.load(folder).to(best_device())
        self._known: dict[int, float | None] = {}
        self._lock = Lock()

    def probabilities(self, rows: Sequence[Mapping[str, Any]]) -> list[float | None]:
        """The probability of each row; None where the predictor can give none.

        Args:
            rows: usable candidates with the keys of ``table.COLUMNS``.
        """
        with self._lock:
            asked = [row for row in rows if row["number"] not in self._known]
            if len(self._known) + len(asked) > _KEPT:
                self._known.clear()
                asked = list(rows)
            self._known |= zip((row["number"] for row in asked), self._score(asked), strict=True)
            return [self._known[row["number"]] for row in rows]

    def _score(self, rows: Sequence[Mapping[str, Any]]) -> list[float | None]:
        examples = [
            CoordinationExample(
                tuple(row["words"]), (row["coordinator"],), (_extent(row["conjuncts"]),)
            )
            for row in rows
        ]
        found = self._predictor.opinions(examples)
        self._predictor.encoding.forget()
        return [None if each is None else each.probability for each in found]


def judge_sample(
    database: duckdb.DuckDBPyConnection,
    judge: BoundaryScorer,
    size: int,
    seed: int,
    advance: Callable[[int], None],
) -> int:
    """Score a sample with the predictor, so that δ judges it and no other row; returns its size.

    Args:
        database: with the table ``corpus.rows``, whose ``value`` and ``judged`` are set.
        judge: the predictor.
        size: how many usable candidates are drawn; all if there are no more.
        seed: of the draw.
        advance: called with the number of rows scored since the last time.
    """
    numbers = sampled(database, size, seed)
    database.execute("UPDATE corpus.rows SET value = NULL, judged = false")
    for first in range(0, len(numbers), _BLOCK):
        block = rows_by_number(database, numbers[first : first + _BLOCK])
        values = judge.probabilities(block)
        database.execute(
            "UPDATE corpus.rows SET value = scored.value, judged = true FROM "
            "(SELECT unnest($numbers::BIGINT[]) AS number, unnest($values::DOUBLE[]) AS value) scored "
            "WHERE rows.number = scored.number",
            {"numbers": [row["number"] for row in block], "values": values},
        )
        advance(len(block))
    return len(numbers)


def _extent(conjuncts: Sequence[Sequence[int]]) -> Span:
    """The outer boundary, which is what the predictor predicts; damaged rows may have none."""
    return Span(conjuncts[0][0], conjuncts[-1][1]) if conjuncts else Span(0, 0)
