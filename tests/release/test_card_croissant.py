"""croissant.json: what MLCommons' own reader makes of a release."""

from pathlib import Path

import mlcroissant
import pytest
from shared_corpora import candidate_folder

from pipeline.core.documents import read_json
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run


def opened(folder: Path) -> mlcroissant.Dataset:
    return mlcroissant.Dataset(str(folder / "croissant.json"))


@pytest.mark.parametrize("shards", [1, 2])
def test_mlcroissant_accepts_and_reads_a_release(tmp_path: Path, shards: int) -> None:
    """No errors, no warning but the missing date, and both record sets have the rows of the files."""
    out = tmp_path / "out"
    run(ReleaseSettings(candidates=candidate_folder(tmp_path / "toy", 40), out=out, shards=shards))
    dataset = opened(out)
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    assert [text for text in issues.warnings if "datePublished" not in text] == []
    manifest = read_json(out / "manifest.json")
    for part, config in (("train", "default"), ("rejected", "rejected")):
        rows = list(dataset.records(config))
        assert len(rows) == manifest["rows"][part]
    row = rows[0] if rows[0]["rejected/conjuncts"] else rows[1]
    spans = [tuple(span.values()) for span in row["rejected/conjuncts"]]
    start, end = row["rejected/reference"].values()
    assert spans[0] == (start, end)
    assert row["rejected/words"][spans[1][0] - 1] == b"and"
    assert row["rejected/reason"]


def test_croissant_says_where_rows_come_from(tmp_path: Path) -> None:
    """Real checksums, and source, model and settings as PROV."""
    out = tmp_path / "out"
    run(ReleaseSettings(candidates=candidate_folder(tmp_path / "toy", 40), out=out))
    said, manifest = read_json(out / "croissant.json"), read_json(out / "manifest.json")
    files = {f["@id"]: f["sha256"] for f in said["distribution"] if f["@type"] == "cr:FileObject"}
    assert files == {shard["file"]: shard["sha256"] for shard in manifest["shards"]}
    (source,) = said["prov:wasDerivedFrom"]
    assert source["sha256"] == manifest["sources"][0]["sha256"]
    (activity,) = said["prov:wasGeneratedBy"]
    (generation,) = manifest["generations"].values()
    assert generation["model"] in activity["prov:used"][0]["prov:label"]
    assert "decoding=greedy" in activity["prov:label"]
    assert said["rai:dataLimitations"]


def test_mlcroissant_finds_a_changed_byte(tmp_path: Path) -> None:
    """A shard with another content than the checksum says is not read."""
    out = tmp_path / "out"
    run(ReleaseSettings(candidates=candidate_folder(tmp_path / "toy", 20), out=out, shards=1))
    (shard,) = (out / "data").iterdir()
    damaged = bytearray(shard.read_bytes())
    damaged[-5] ^= 1
    shard.write_bytes(damaged)
    with pytest.raises(mlcroissant.GenerationError) as raised:
        list(opened(out).records("default"))
    assert "Hash of downloaded file" in str(raised.value.__cause__)


def test_mlcroissant_accepts_a_stand_off_release(tmp_path: Path) -> None:
    """Its columns, of which one is binary, are described and read."""
    out = tmp_path / "out"
    run(ReleaseSettings(candidates=candidate_folder(tmp_path / "toy", 40), out=out, stand_off=True))
    dataset = opened(out)
    assert not dataset.metadata.ctx.issues.errors
    assert (
        len(list(dataset.records("default"))) == read_json(out / "manifest.json")["rows"]["train"]
    )
