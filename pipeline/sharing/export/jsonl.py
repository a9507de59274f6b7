"""JSON lines: every column of a row."""

import json
import math

from pipeline.sharing.export.protocol import Item
from pipeline.sharing.export.text_file import TextFile


def jsonl(item: Item) -> str:
    """One object on one line: every column, spans as ``[start, end]``, scores that are no number null."""
    finite = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in item.columns.items()
    }
    return json.dumps(finite, ensure_ascii=False) + "\n"


JSONL = TextFile(jsonl, ('{"candidate_id": "', '{"sentence_id": "'))
