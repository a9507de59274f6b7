"""Parquet files opened in SQL."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shared_corpora import candidate_folder

from pipeline.core.errors import InputError
from pipeline.corpus.engine import engine, parquet, rows_of
from pipeline.corpus.layout import find_shards


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


@pytest.mark.parametrize("name", ["License", "FILENAME", "file_row_number"])
def test_no_column_stands_for_another(tmp_path: Path, name: str) -> None:
    """SQL takes ``License`` for ``license``: a licence of the former would free the text of the latter."""
    columns = {name: ["CC0-1.0"], "license": ["LDC-User-Agreement"]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=f"x.parquet: column '{name}' has the name of another"):
        parquet(tmp_path / "x.parquet")


@pytest.mark.parametrize("name", ["reason", "Reason", "file", "place"])
def test_what_a_file_is_says_its_place_alone(tmp_path: Path, name: str) -> None:
    """A column ``reason`` would make rejects of all candidates, for some readers and not for others."""
    shard = next(candidate_folder(tmp_path).glob("candidates-*"))
    table = pq.read_table(shard, partitioning=None)
    pq.write_table(table.append_column(name, table["label"]), shard)
    with pytest.raises(InputError, match=f"{shard.name}: column '{name}' is none of these files'"):
        rows_of(find_shards(shard.parent))
