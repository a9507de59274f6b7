"""Rows of candidates as training reads them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.schema import CANDIDATES
from pipeline.core.types import Span
from pipeline.corpus.candidate_checks import CHECKED, check
from pipeline.corpus.content import example_keys
from pipeline.corpus.validity.rules import EXAMPLE_RULES, EXAMPLES
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.protocol import Drawn

_EXPECTED = asdict(EXAMPLES)
_SPAN = pa.struct([("start", pa.int32()), ("end", pa.int32())])


class CoordinationRows:
    """A candidate: its sentence, coordinator and the conjuncts that its maker gave it (``CandidateRows``)."""

    columns = pa.schema([CANDIDATES.field(name) for name in CHECKED])
    kept = pa.schema(
        [
            ("candidate_id", pa.string()),
            ("words", pa.list_(pa.string())),
            ("coordinator", pa.int32()),
            ("conjuncts", pa.list_(_SPAN)),
            ("label", pa.string()),
        ]
    )

    def check(self, batch: pa.RecordBatch, place: str, first: int) -> None:
        """Rows keep all rules of ``conjoin validate`` that need no more than training reads."""
        # As ``validate`` takes it where nothing says who made the rows; others have their scores.
        natural = pc.is_null(batch.column("score"))
        asked = batch.append_column("harvested", natural)
        check(asked, place, first, EXAMPLE_RULES, _EXPECTED)

    def keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """64 bits of id, label, words, coordinator and conjuncts of each row."""
        return example_keys(batch)

    def drawn(self, row: Mapping[str, Any]) -> Drawn[CoordinationExample]:
        """The candidate; its size is the words of the last conjunct, which generation inserted."""
        spans = tuple(Span(span["start"], span["end"]) for span in row["conjuncts"])
        k, extent = row["coordinator"], Span(spans[0].start, spans[-1].end)
        example = CoordinationExample(tuple(row["words"]), (k,), (extent,), conjuncts=(spans,))
        return Drawn(row["candidate_id"], row["label"], len(spans[-1]), k, example)
