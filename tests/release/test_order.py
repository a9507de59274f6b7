"""The order of a release, which does not depend on how many of its rows are sorted at once."""

import random

import pyarrow as pa
import pytest

from pipeline.release import shards

SCHEMA = pa.schema(
    [("candidate_id", pa.string()), ("fill", pa.string()), ("donors", pa.list_(pa.int32()))]
)
ROWS = [
    {"candidate_id": f"{number % 900:024x}", "fill": f"fill {number}", "donors": [number] * (number % 3)}
    for number in range(1000)
]  # fmt: skip
"""A hundred ids stand twice, so that their fills order them."""


def released(rows: list[dict[str, object]], size: int) -> list[dict[str, object]]:
    """The rows in the order of a release, of batches of some size."""
    table = pa.Table.from_pylist(rows, SCHEMA)
    with shards.shuffled(table.to_batches(size), SCHEMA, 3, ("candidate_id", "fill")) as found:
        return [row for batch in found for row in batch.to_pylist()]


def test_rows_come_in_the_order_of_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, or in parts by the first byte; whatever order they came in, and in whatever batches."""
    expected = sorted(
        ROWS,
        key=lambda row: (shards.key(3, str(row["candidate_id"])), row["candidate_id"], row["fill"]),
    )
    mixed = random.Random(0).sample(ROWS, len(ROWS))
    assert released(ROWS, 1000) == expected
    for together in (70, 999):
        monkeypatch.setattr(shards, "_TOGETHER", together)
        monkeypatch.setattr(shards, "_WAITING", together)
        assert released(mixed, 64) == expected
