"""Text and offsets beside the words: in releases, from rows that lack them, and nowhere in stand-off ones."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from shared_corpora import candidate_folder, without

from pipeline.core.documents import read_json
from pipeline.core.files import FileFacts, write_json
from pipeline.corpus.layout import find_shards
from pipeline.release import stage as release
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge.command import merge
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.text.columns import natural_columns

BOTH = {"text", "offsets"}


def rows(folder: Path, pattern: str) -> list[dict[str, Any]]:
    found = [r for f in sorted(folder.glob(pattern)) for r in pq.ParquetFile(f).read().to_pylist()]
    assert found
    return found


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(folder / "manifest.json")
    return found


def old_folder(corpus: Path, **options: Any) -> Path:
    """Candidates as the version before wrote them, under a manifest that names these files."""
    folder = candidate_folder(corpus, **options)
    document = manifest(folder)
    for entry in document["shards"]:
        path = folder / entry["file"]
        metadata = pq.read_schema(path).metadata
        without(path, *BOTH)
        pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
        facts = FileFacts.of(path, entry["rows"])
        entry |= {"bytes": facts.bytes, "sha256": facts.sha256}
    write_json(folder / "manifest.json", document)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of the same candidates as this version and as the one before writes them, and stand-off."""
    folder = tmp_path_factory.mktemp("text")
    new, old = (
        candidate_folder(folder / "new", attested=True),
        old_folder(folder / "old", attested=True),
    )
    for name, candidates in (("full", new), ("of-old", old)):
        release.run(ReleaseSettings(candidates=candidates, out=folder / name, name="toy"))
    release.run(ReleaseSettings(candidates=new, out=folder / "bare", name="toy", stand_off=True))
    return folder


@pytest.mark.long
def test_a_release_of_old_candidates_is_that_of_new_ones(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old files are valid as they are; released they have text, the same bytes, the same digest."""
    for name in ("old", "new"):
        validate.run(ValidateSettings(place=made / name / "candidates/t5-sync/seed-0"))
    assert capsys.readouterr().out.count("no violations") == 2
    full, of_old = manifest(made / "full"), manifest(made / "of-old")
    assert full["format"] == 5
    assert full["digests"] == of_old["digests"]
    assert full["shards"] == of_old["shards"]
    for row in rows(made / "of-old", "*/train-*.parquet"):
        assert {name: row[name] for name in BOTH} == natural_columns(row["words"])


def test_stand_off_rows_have_neither_and_get_both_back(made: Path, tmp_path: Path) -> None:
    """No file of the stand-off release has the columns; rebuilt it has those that were released."""
    for file in (made / "bare").rglob("*.parquet"):
        assert BOTH.isdisjoint(pq.read_schema(file).names)
    document = manifest(made / "bare") | {"format": 2}  # as the version before wrote it
    write_json(made / "bare/manifest.json", document)
    write_checksums(made / "bare")
    rehydrate.run(
        RehydrateSettings(release=made / "bare", source=made / "new", out=tmp_path / "again")
    )
    assert manifest(tmp_path / "again")["format"] == 5
    released, again = (
        {row["candidate_id"]: row for row in rows(place, "data/*.parquet")}
        for place in (made / "full", tmp_path / "again")
    )
    assert again == released
    validate.run(ValidateSettings(place=tmp_path / "again"))


def test_an_old_and_a_new_folder_unite(made: Path, tmp_path: Path) -> None:
    """Every row of the merged folder has its text, and the digests are those of the inputs."""
    old = old_folder(tmp_path / "toy", seed=1, first=80)
    new = made / "new/candidates/t5-sync/seed-0"
    merged = merge([find_shards(old), find_shards(new)], tmp_path / "both")
    other = merge([find_shards(new), find_shards(old)], tmp_path / "turned")
    assert merged["digests"] == other["digests"]
    for pattern in ("candidates-*.parquet", "rejects-*.parquet"):
        for row in rows(tmp_path / "both", pattern):
            assert {name: row[name] for name in BOTH} == natural_columns(row["words"])
    validate.run(ValidateSettings(place=tmp_path / "both"))


def test_exports_have_text_whatever_the_file_has(made: Path, tmp_path: Path) -> None:
    """JSON lines of old and new candidates are the same: text, and offsets as pairs."""
    for name in ("old", "new"):
        place = made / name / "candidates/t5-sync/seed-0"
        export.run(ExportSettings(place=place, format="jsonl", out=tmp_path / name))
    lines = (tmp_path / "old").read_text()
    assert lines == (tmp_path / "new").read_text()
    first = json.loads(lines.splitlines()[0])
    start, end = first["offsets"][1]
    assert first["text"][start:end] == first["words"][1]


def test_loader_card_and_croissant_know_the_columns(made: Path) -> None:
    """`datasets` loads them, and both documents say what they are."""
    loaded = load_dataset(str(made / "full"), split="train")
    span = loaded[0]["offsets"][0]
    assert loaded[0]["text"][span["start"] : span["end"]] == loaded[0]["words"][0]
    croissant = json.loads((made / "full/croissant.json").read_text())
    fields = {f["name"]: f for f in croissant["recordSet"][0]["field"]}
    assert "spacing" in fields["text"]["description"]
    assert [part["name"] for part in fields["offsets"]["subField"]] == ["start", "end"]
    card, bare = ((made / name / "README.md").read_text() for name in ("full", "bare"))
    for column in ("| `text` |", "| `offsets` |"):
        assert column in card
        assert column not in bare
