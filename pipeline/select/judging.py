"""What predictors say of rows: the probability of their boundaries, and whether these are the best.

A predictor tells one boundary of a coordinator: the first word of the first conjunct and the last word of
the last one; nothing of what lies between. It *agrees* with a candidate if, of all pairs of a word before and
a word after the candidate's coordinator, the most probable is the very pair that the candidate has
(``CoordinationPredictor.predict``; of equally probable ones the first). The label does not count, nor how
probable it is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.device import best_device
from pipeline.core.schema import PROBABILITIES, SHARES
from pipeline.corpus.layout import Shards
from pipeline.select.choice import Advance, Choice, rows_still_in
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.tasks.protocol import Opinion

UNSCORED = "predictor gives no probability"


def loaded(folder: Path) -> CoordinationPredictor:
    """The predictor of a folder, on the best device.

    Raises:
        ModelError: no predictor is there, or a damaged one.
    """
    return CoordinationPredictor.load(folder).to(best_device())


def judge(
    corpora: Sequence[Shards],
    predictor: CoordinationPredictor,
    choice: Choice,
    *,
    delta: float | None,
    relative: float | None,
    path: Path,
    advance: Advance,
) -> None:
    """Leave out the rows of those still in that a predictor does not believe (Algorithm 1, line 8).

    Args:
        corpora: sound ones.
        predictor: who is asked.
        choice: what is decided so far.
        delta: δ, the least probability; None: any.
        relative: the least share of the probability of the predictor's best boundary; None: any.
        path: the probabilities of all that were asked are written here, with their shares if ``relative``
            is given.
        advance: called with the number of rows asked since the last time.

    Raises:
        InputError: the spans of a row do not fit its words.
    """
    low = 0 if delta is None else choice.number(f"probability below {delta:g}")
    far = 0 if relative is None else choice.number(f"probability below {relative:g} of the best")
    unscored = choice.number(UNSCORED)

    def verdict(said: Opinion | None) -> int:
        if said is None:
            return unscored
        if delta is not None and said.probability < delta:
            return low
        return far if relative is not None and said.share < relative else 0

    schema = PROBABILITIES if relative is None else SHARES
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for places, ids, found in _opinions(corpora, predictor, choice, advance):
            columns = {
                "candidate_id": ids,
                "probability": [each and each.probability for each in found],
                "share": [each and each.share for each in found],
            }
            arrays = [pa.array(columns[field.name], field.type) for field in schema]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            choice.verdicts[places] = list(map(verdict, found))


def agree(
    corpora: Sequence[Shards],
    predictors: Sequence[CoordinationPredictor],
    choice: Choice,
    advance: Advance,
) -> None:
    """Leave out the rows of those still in that one of some predictors does not agree with.

    A later predictor is asked only of what all earlier ones agree with.

    Raises:
        InputError: the spans of a row do not fit its words.
    """
    for number, predictor in enumerate(predictors, 1):
        which = f"predictor {number} of {len(predictors)}" if len(predictors) > 1 else "predictor"
        other = choice.number(f"best boundary of the {which} is another")
        unscored = choice.number(UNSCORED)
        for places, _, found in _opinions(corpora, predictor, choice, advance):
            choice.verdicts[places] = [
                unscored if each is None else other * (not each.best) for each in found
            ]


def _opinions(
    corpora: Sequence[Shards], predictor: CoordinationPredictor, choice: Choice, advance: Advance
) -> Iterator[tuple[npt.NDArray[np.int64], list[str], list[Opinion | None]]]:
    """Places and ids of some rows at a time, and what the predictor says of each."""
    for places, batch in rows_still_in(corpora, choice, advance):
        rows = batch.to_pylist()
        found = predictor.opinions([CoordinationTask.rows.drawn(row).example for row in rows])
        predictor.encoding.forget()
        yield places, [row["candidate_id"] for row in rows], found
