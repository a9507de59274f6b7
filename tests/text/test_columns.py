"""The columns of candidates that follow from their words: text, and where in it each word stands."""

from typing import Any

import pyarrow as pa
import pytest
from tiny import candidate

from pipeline.core.schema import CANDIDATES, candidate_row
from pipeline.text.columns import natural_columns, with_text

WORDS = (
    *("``", "\N{GRINNING FACE}", "na\u00efve", "e\u0301", "(", "isn't", ")"),
    *("''", ",", '"', "x", '"', "."),
)


def rows(*given: Any) -> pa.RecordBatch:
    made = [candidate_row(candidate(n)) | change for n, change in enumerate(given)]
    return pa.RecordBatch.from_pylist(made, schema=CANDIDATES)


def test_offsets_count_code_points() -> None:
    """Words beyond ASCII and quotes: every span of the text is its word as it is printed."""
    made = natural_columns(WORDS)
    text, spans = made["text"], made["offsets"]
    assert text == '"\N{GRINNING FACE} na\u00efve e\u0301 (isn\'t)", "x".'
    shown = [text[span["start"] : span["end"]] for span in spans]
    assert shown == ['"' if word in ("``", "''") else word for word in WORDS]


@pytest.mark.parametrize(
    "given",
    [({}, {"words": list(WORDS)}), ({"words": []},), (), (natural_columns(["a"]), {"words": ["b", "."]})],
    ids=["both lack it", "no words", "no rows", "one lacks it"],
)  # fmt: skip
def test_rows_that_lack_the_columns_get_them(given: tuple[dict[str, Any], ...]) -> None:
    """Rows in bulk come out as one by one; all else stays as it was."""
    batch = rows(*given)
    made = with_text(batch)
    assert made.schema == CANDIDATES
    assert made.to_pylist() == [row | natural_columns(row["words"]) for row in batch.to_pylist()]


def test_what_a_stranger_wrote_there_is_not_believed() -> None:
    """No row digest has the columns, so a text of other words than the row's would be handed on."""
    other = {"words": ["a", "."], "text": "else", "offsets": [{"start": -5, "end": 2**31 - 1}]}
    (made,) = with_text(rows(other)).to_pylist()
    assert made["text"] == "a."
    assert made["offsets"] == [{"start": 0, "end": 1}, {"start": 1, "end": 2}]
