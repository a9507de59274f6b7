"""Rows carry which run made them, whatever folder they are read from."""

from pathlib import Path

import pytest
from shared_corpora import candidate_folder

from pipeline.core.errors import InputError
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import RELEASED, generations, read_accepted, read_rejects


def test_candidates_of_a_run_get_its_generation(tmp_path: Path) -> None:
    """Every row of a folder of `generate` names the run, whose description is its manifest's."""
    shards = find_shards(candidate_folder(tmp_path / "toy"))
    ((key, about),) = generations(shards).items()
    assert about["settings"]["lm"] == "t5"
    assert about["fingerprint"].startswith(key)
    assert about["tally"]["kept"] == 52
    rows = [row for batch in read_accepted(shards) for row in batch.to_pylist()]
    refused = [row for batch in read_rejects(shards) for row in batch.to_pylist()]
    assert {row["generation"] for row in rows + refused} == {key}
    assert (len(rows), len(refused)) == (52, 8)
    assert list(rows[0]) == RELEASED.names


def test_rows_nobody_made_are_refused(tmp_path: Path) -> None:
    """A single file without the column, and no manifest: one line."""
    folder = candidate_folder(tmp_path / "toy")
    file = find_shards(folder).accepted[0]
    with pytest.raises(InputError, match="nothing says which run made these rows"):
        next(read_accepted(find_shards(file)))
    with pytest.raises(InputError, match="neither candidates nor a release"):
        find_shards(tmp_path)
