"""Folders of candidates as `datasets` loads them: generated, merged and selected ones."""

from pathlib import Path

import pytest
from datasets import get_dataset_config_names, load_dataset
from shared_corpora import candidate_folder

from pipeline.corpus.card import write_card
from pipeline.corpus.layout import find_shards
from pipeline.select.settings import SelectSettings
from pipeline.select.stage import run as select
from pipeline.sharing.merge.command import merge

ROWS = {"train": 2, "rejected": 1}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of `datasets`, of this test alone."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path


def loaded(folder: Path, kind: str = "default") -> list[str]:
    return list(load_dataset(str(folder), kind, split="train")["candidate_id"])


def test_a_merged_and_a_selected_folder_load_at_once(home: Path) -> None:
    """Candidates without the rejects beside them, and these with their reasons."""
    one, two = (candidate_folder(home / "toy", seed=seed, first=9 * seed) for seed in range(2))
    manifest = merge([find_shards(one), find_shards(two)], home / "both")
    assert len(loaded(home / "both")) == manifest["rows"]["train"]
    select(SelectSettings(places=[home / "both"], out=home / "few", label=["NP"], limit=5))
    assert len(loaded(home / "few")) == 5
    rejects = load_dataset(str(home / "few"), "rejected", split="train")
    assert {"beyond the first 5", "empty fill"} <= set(rejects["reason"])
    assert set(rejects.features) - {"reason"} == set(
        load_dataset(str(home / "few"), split="train").features
    )


def test_shards_without_rows_are_no_obstacle(home: Path) -> None:
    """A unit may have no candidate, or no reject; `datasets` reads no row group without rows."""
    folder = candidate_folder(home / "toy", rows=8, units=8)
    write_card(folder, "Made.", {"train": 7, "rejected": 1}, {"train": "1", "rejected": "2"})
    assert len(loaded(folder)) == 7
    assert len(loaded(folder, "rejected")) == 1


def test_a_part_without_rows_is_not_offered(home: Path) -> None:
    """`datasets` would say that it has no data."""
    folder = candidate_folder(home / "toy", rows=6, units=2)
    write_card(folder, "Made.", {"train": 6, "rejected": 0}, {"train": "1", "rejected": "2"})
    assert get_dataset_config_names(str(folder)) == ["default"]
    assert len(loaded(folder)) == 6
    assert '"rejected"' not in (folder / "README.md").read_text()


def test_other_rows_under_the_same_name_are_not_taken_from_the_cache(home: Path) -> None:
    """`datasets` goes by the card: it names the rows."""
    write_card(candidate_folder(home / "toy"), "Made.", ROWS, {"train": "1", "rejected": "2"})
    first = loaded(home / "toy/candidates/t5-sync/seed-0")
    write_card(
        candidate_folder(home / "toy", first=60), "Made.", ROWS, {"train": "3", "rejected": "4"}
    )
    assert set(loaded(home / "toy/candidates/t5-sync/seed-0")).isdisjoint(first)


def test_a_card_that_stands_is_left_alone(tmp_path: Path) -> None:
    """A second run that makes nothing does not touch the file."""
    for _ in range(2):
        write_card(tmp_path, "Made.", ROWS, {"train": "1", "rejected": "2"})
        (tmp_path / "README.md").chmod(0o400)
    assert (tmp_path / "README.md").stat().st_mode & 0o777 == 0o400


def test_a_folder_by_any_name_is_only_named(tmp_path: Path) -> None:
    """Line feeds, escape characters, backticks and markup in a name or a command stay text."""
    evil = "a`b\nconfigs: evil\n---\n# H1 <script>\x1b[31m"
    for number, (made, command) in enumerate(((f"Merged from {evil}.", ""), ("Chosen by", evil))):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_card(folder, made, ROWS, {"train": "1", "rejected": "2"}, command)
        card = (folder / "README.md").read_text()
        lines = card.splitlines()
        assert lines.count("---") == 2
        assert not [line for line in lines if line.startswith(("configs: evil", "# H1"))]
        assert "\x1b" not in card
    assert "<script>" not in (tmp_path / "0/README.md").read_text()
    assert "Chosen by ``" in (tmp_path / "1/README.md").read_text()
