"""The columns of candidates that follow from their words: text, and where in it each word stands."""

import random
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


def test_words_in_bulk_are_spaced_as_one_by_one() -> None:
    """Quotes that open and close, brackets, clitics and signs in any order, row by row."""
    signs, choose = [*WORDS, "`", "n't", "$", "b", "は", "日本a", "ab語"], random.Random(0)
    given = [{"words": choose.choices(signs, k=choose.randrange(9))} for _ in range(200)]
    batch = rows(*given)
    made = [natural_columns(each["words"]) for each in given]
    for some, own in ((batch, made), (batch.slice(50, 7), made[50:57])):
        found = with_text(some).select(["text", "offsets"]).to_pylist()
        assert found == own


@pytest.mark.parametrize("words", [["a", "."], []])
def test_another_text_than_the_words_is_not_believed(words: list[str]) -> None:
    """The digest of a row would not tell: what stood there gives way to the text of the words."""
    own = {
        "words": words,
        "text": "\x1b[31mof somebody",
        "offsets": [{"start": -5, "end": 2**31 - 1}],
    }
    batch = rows(own, natural_columns(["a"]) | {"words": ["a"]})
    (first, second) = with_text(batch).to_pylist()
    assert first == batch.to_pylist()[0] | natural_columns(words)
    assert second == batch.to_pylist()[1]
