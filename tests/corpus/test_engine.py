"""Parquet files opened in SQL."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.corpus.engine import engine, parquet


def test_nothing_in_a_path_has_a_meaning(tmp_path: Path) -> None:
    """Signs of patterns name no other files, and a folder ``a=1`` gives no column."""
    folder = tmp_path / "a=1" / "it's [b]*?"
    folder.mkdir(parents=True)
    files = [folder / "part[12].parquet", folder / "part*.parquet"]
    for number, path in enumerate([*files, folder / "part1.parquet"]):
        pq.write_table(pa.table({"number": [number]}), path)
    with engine() as database:
        found = database.execute(f"SELECT * FROM {parquet(*files)} ORDER BY number")  # noqa: S608 - ours
        names = [each[0] for each in found.description]
        assert names == ["number", "file_row_number", "filename"]
        assert found.fetchall() == [(0, 0, str(files[0])), (1, 0, str(files[1]))]
