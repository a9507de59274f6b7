"""What becomes of each row: a byte of it, and the rows of which it is not yet decided.

Steps leave rows out one after the other; each is asked only of those that are still in.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.cards.candidates import SampleForm
from pipeline.core.parquet import regroup
from pipeline.corpus.candidate_checks import CHECKED, check
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import read_accepted

Advance = Callable[[int], None]

BLOCK = 256
"""Rows asked together, whatever files they are from: enough to sort them by length."""


@dataclass
class Choice:
    """What becomes of all rows of several corpora, in their order.

    Attributes:
        verdicts: of the usable candidates, shape (rows,).
        rejects: which of the corpora's own rejects are taken over, shape (rows,).
        left_out: which candidates are rejects of the result, shape (rows,).
        reasons: why rows are left out, by the numbers of ``verdicts``; the first is that they are not.
        labels: of the usable candidates, at least a hundred of them if they are more; only where labels are
            asked for.
        dropped: how many candidates and how many of the corpora's own rejects are in no file, by why.
        sample: what the manifest says of a sample; empty if none was drawn.
    """

    verdicts: npt.NDArray[np.uint8]
    rejects: npt.NDArray[np.bool_]
    left_out: npt.NDArray[np.bool_]
    reasons: list[str] = field(default_factory=lambda: ["kept"])
    labels: set[str] = field(default_factory=set)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    sample: SampleForm = field(default_factory=SampleForm)

    def number(self, reason: str) -> int:
        """The number of a reason; a new one if there is none yet."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason)

    def counts(self) -> dict[str, int]:
        """How many candidates were left out for each reason, in the order in which they were asked."""
        found = np.bincount(self.verdicts, minlength=len(self.reasons)).tolist()
        return dict(zip(self.reasons[1:], found[1:], strict=True))

    @property
    def kept(self) -> int:
        """How many candidates are chosen."""
        return int(np.count_nonzero(self.verdicts == 0))


def every_row(corpora: Sequence[Shards]) -> Iterator[pa.RecordBatch]:
    """All usable candidates of some corpora."""
    for shards in corpora:
        yield from read_accepted(shards)


def kept_rows(corpora: Sequence[Shards], mask: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """The usable candidates of some corpora for which a mask, shape (rows,), is true."""
    begin = 0
    for batch in every_row(corpora):
        yield batch.filter(pa.array(mask[begin : begin + len(batch)]))
        begin += len(batch)


def rows_still_in(
    corpora: Sequence[Shards], choice: Choice, advance: Advance, *columns: str
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """The candidates that nothing has left out yet: their places and they themselves, some at a time.

    Args:
        corpora: sound ones.
        choice: what is decided so far; it may change meanwhile.
        advance: called with the number of rows handed out since the last time.
        columns: wanted beside ``CHECKED``.

    Raises:
        InputError: the spans of a row do not fit its words.
    """
    still = choice.verdicts == 0
    places, begin = np.flatnonzero(still), 0
    wanted = (batch.select([*CHECKED, *columns]) for batch in kept_rows(corpora, still))
    for batch in regroup(wanted, repeat(BLOCK)):
        check(batch.select(CHECKED), "candidates that are chosen from", begin)
        yield places[begin : begin + len(batch)], batch
        begin += len(batch)
        advance(len(batch))
