"""A finished corpus on its way to strangers: every command that shares it, one after the other."""

import json
import shutil
import subprocess
from pathlib import Path

import datasets
import mlcroissant
import pytest
from shared_corpora import candidate_folder

from pipeline.core.documents import read_json
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import read_accepted
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.stats import command as stats
from pipeline.sharing.stats.settings import StatsSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings

DEMO = Path(__file__).resolve().parents[2] / "data/world/candidates/attested-bert/seed-0"


@pytest.fixture(params=["toy", "demo"])
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder of candidates: sixty made here, or what `make demo` left in this checkout."""
    if request.param == "toy":
        return candidate_folder(tmp_path / "toy")
    if not (DEMO / "manifest.json").is_file():
        pytest.skip("`make demo` (or `make demo QUICK=1`) has not been run in this checkout")
    return DEMO


@pytest.mark.long
def test_a_corpus_goes_the_whole_way(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Release, load, check, count, export, merge with itself: the same rows everywhere, none new."""
    out = tmp_path / "release"
    release.run(ReleaseSettings(candidates=corpus, out=out, shards=7))
    manifest = read_json(out / "manifest.json")
    rows = manifest["rows"]["train"]
    assert rows == sum(len(batch) for batch in read_accepted(find_shards(corpus)))

    sums = [shutil.which("sha256sum") or "sha256sum", "-c", "SHA256SUMS"]
    summed = subprocess.run(sums, cwd=out, capture_output=True, text=True, check=False)  # noqa: S603
    assert summed.returncode == 0, summed.stdout
    croissant = mlcroissant.Dataset(str(out / "croissant.json"))
    assert not croissant.metadata.ctx.issues.errors

    cache = str(tmp_path / "cache")
    loaded = datasets.load_dataset(str(out), split="train", cache_dir=cache)
    assert len(loaded) == rows
    assert digest(loaded.with_format("arrow").iter(500)) == manifest["digests"]["train"]
    streamed = datasets.load_dataset(str(out), split="train", streaming=True)
    assert next(iter(streamed)) == loaded[0]
    if manifest["rows"]["rejected"]:
        rejected = datasets.load_dataset(str(out), "rejected", split="train", cache_dir=cache)
        assert len(rejected) == manifest["rows"]["rejected"]
    else:  # attested fills may have none, and then there is nothing to load
        assert datasets.get_dataset_config_names(str(out)) == ["default"]

    validate.run(ValidateSettings(place=out))
    validate.run(ValidateSettings(place=corpus))
    capsys.readouterr()
    stats.run(StatsSettings(place=out, json_=True))
    assert json.loads(capsys.readouterr().out)["rows"]["accepted"] == rows

    for form in ("ptb-ext", "conllu", "brat", "jsonl"):
        export.run(ExportSettings(place=out, format=form, out=tmp_path / form))
    assert len((tmp_path / "jsonl").read_text().splitlines()) == rows

    merge.run(MergeSettings(places=[out, out], out=tmp_path / "merged"))
    merged = find_shards(tmp_path / "merged")
    assert digest(read_accepted(merged)) == manifest["digests"]["train"]
    assert merged.manifest is not None
    assert [each["kept"] for each in merged.manifest["merged"]][1] in (
        0,
        {"train": 0, "rejected": 0},
    )


@pytest.mark.long
def test_the_digest_is_the_same_for_any_number_of_shards(corpus: Path, tmp_path: Path) -> None:
    """One shard or seven: the same rows in the same order, and the same digest."""
    manifests = []
    for shards in (1, 7):
        release.run(ReleaseSettings(candidates=corpus, out=tmp_path / str(shards), shards=shards))
        manifests.append(read_json(tmp_path / str(shards) / "manifest.json"))
    assert manifests[0]["digests"] == manifests[1]["digests"]
    first, second = (
        [i for b in read_accepted(find_shards(tmp_path / n)) for i in b["candidate_id"].to_pylist()]
        for n in ("1", "7")
    )
    assert first == second


def digest(batches) -> str:
    total = RowDigest()
    for batch in batches:
        for part in batch.to_batches() if hasattr(batch, "to_batches") else [batch]:
            total.add(part)
    return total.hex()
