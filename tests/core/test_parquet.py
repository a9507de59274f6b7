"""What reading and writing Parquet files hold in memory, and that writing in parts changes no byte."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.core import parquet
from pipeline.core.errors import InputError

_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


def test_what_was_read_is_not_kept(tmp_path: Path) -> None:
    """Pyarrow reads ahead by itself, and keeps all of a file until its last row."""
    path, group, groups = tmp_path / "rows.parquet", 1000, 100
    with pq.ParquetWriter(path, _SCHEMA, compression="none", use_dictionary=False) as writer:
        for _ in range(groups):
            words = [os.urandom(50).hex() for _ in range(group)]
            writer.write_table(pa.table({"id": words}, schema=_SCHEMA))
    before = pa.total_allocated_bytes()
    with parquet.opened(path) as file:
        most = max(pa.total_allocated_bytes() - before for _ in file.iter_batches(group))
    assert path.stat().st_size > 10_000_000
    assert most < 1_000_000


@pytest.mark.parametrize("count", [0, 1, 4096, 4097, 65_536, 65_537])
def test_parts_are_written_as_one_table(tmp_path: Path, count: int) -> None:
    one, parts = tmp_path / "one.parquet", tmp_path / "parts.parquet"
    rows = [{"id": f"s{number}"} for number in range(count)]
    whole = pa.Table.from_pylist(rows, schema=_SCHEMA.with_metadata({"by": "hand"}))
    parquet.write_table(one, whole)
    assert parquet.write_rows(parts, _SCHEMA, iter(rows), {"by": "hand"}) == count
    assert one.read_bytes() == parts.read_bytes()


def test_a_struct_with_a_field_more_is_another_type(tmp_path: Path) -> None:
    """Nobody would look at it, and a text could stand there."""
    wanted = pa.schema([("span", pa.struct([("start", pa.int32())]))])
    pq.write_table(pa.table({"span": [{"start": 1, "text": "a b"}]}), tmp_path / "more.parquet")
    with pytest.raises(InputError, match="column 'span' is struct"):
        list(parquet.read_batches(tmp_path / "more.parquet", wanted))
