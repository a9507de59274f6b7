"""The columns ``text`` and ``offsets`` of candidates: the natural text of their words, and where each stands.

They follow from the words, so they are made wherever rows are written anew: files of earlier versions lack
them, and those of a stranger may have others, which no row digest tells.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.core.schema import CANDIDATES
from pipeline.text.natural import join_words

TEXT, OFFSETS = CANDIDATES.field("text"), CANDIDATES.field("offsets")


def natural_columns(words: Sequence[str]) -> dict[str, Any]:
    """``text`` and ``offsets`` of the words of a row."""
    natural = join_words(words)
    offsets = [{"start": start, "end": end} for start, end in natural.offsets]
    return {TEXT.name: natural.text, OFFSETS.name: offsets}


def with_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with ``text`` and ``offsets`` as they follow from their words.

    Args:
        batch: rows with ``words`` and, whatever stands in them, both columns.
    """
    found = [join_words(words) for words in batch.column("words").to_pylist()]
    ends = np.cumsum([0, *(len(each.offsets) for each in found)], dtype=np.int32)
    flat = chain.from_iterable(chain.from_iterable(each.offsets for each in found))
    spans = np.fromiter(flat, np.int32).reshape(-1, 2)
    kind = OFFSETS.type.value_type
    parts = pa.StructArray.from_arrays(
        [pa.array(part.copy()) for part in spans.T], fields=list(kind)
    )
    made = {
        TEXT.name: pa.array([each.text for each in found], TEXT.type),
        OFFSETS.name: pa.ListArray.from_arrays(pa.array(ends), parts).cast(OFFSETS.type),
    }
    columns = [
        made.get(name, column)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
