"""`conjoin release`: whole folders of licensed rows, the same bytes for the same rows, or one line."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from shared_corpora import candidate_folder

from pipeline.core.corpora import COORDINATION, CORPORA
from pipeline.core.errors import ConjoinError
from pipeline.core.files import sha256_of
from pipeline.corpus.licences import canonical, combined, licence_ids, terms
from pipeline.corpus.rows import RELEASED, RELEASED_REJECTS
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.release.shards import key
from pipeline.release.stage import run
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings

ROOT = Path(__file__).resolve().parents[2]
DATA = "data/train-*.parquet"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus folder with 60 outcomes of generation, in three shards of each kind."""
    folder = tmp_path_factory.mktemp("corpora") / "toy"
    candidate_folder(folder)
    return folder


def release(candidates: Path, out: Path, **options: Any) -> dict[str, Any]:
    """Release, and return the manifest."""
    run(ReleaseSettings(candidates=candidates, out=out, **options))
    manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    return manifest


def rows(folder: Path, pattern: str = DATA) -> list[dict[str, Any]]:
    files = sorted(folder.glob(pattern))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def sums(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): sha256_of(p) for p in files}


def candidates_of(corpus: Path) -> Path:
    return corpus / "candidates/t5-sync/seed-0"


@pytest.mark.long
def test_shards_change_neither_rows_nor_order_nor_digest(corpus: Path, tmp_path: Path) -> None:
    """One shard and seven hold the same rows one after the other, and have the same digest."""
    one = release(candidates_of(corpus), tmp_path / "one")
    seven = release(candidates_of(corpus), tmp_path / "seven", shards=7)
    assert one["digests"] == seven["digests"]
    assert rows(tmp_path / "one") == rows(tmp_path / "seven")
    assert [s["rows"] for s in seven["shards"] if s["config"] == "train"] == [7, 7, 8, 7, 8, 7, 8]
    assert (
        sorted(p.name for p in (tmp_path / "seven/data").iterdir())[6]
        == "train-00006-of-00007.parquet"
    )
    ids = [row["candidate_id"] for row in rows(tmp_path / "one")]
    assert ids == sorted(ids, key=lambda each: key(0, each))
    assert ids != sorted(ids)


def test_few_candidates_do_not_cut_many_rejects_into_files(tmp_path: Path) -> None:
    """A selection with a limit leaves few candidates and any number of rejects: files are by their rows."""
    folder = candidate_folder(tmp_path / "toy")
    select.run(SelectSettings(places=[folder], out=tmp_path / "toy/few", limit=2))
    made = release(tmp_path / "toy/few", tmp_path / "r", shards=2)
    assert made["rows"] == {"train": 2, "rejected": 58}
    assert [s["rows"] for s in made["shards"]] == [1, 1, 58]


def test_a_row_without_a_licence_is_refused(tmp_path: Path) -> None:
    """It is said to have none, not to have one called None."""
    folder = candidate_folder(tmp_path / "toy", 20, units=1)
    manifest = json.loads((folder / "manifest.json").read_text())
    for shard in manifest["shards"]:
        file = folder / shard["file"]
        table = pq.ParquetFile(file).read()
        place = table.schema.get_field_index("license")
        none = pa.nulls(len(table), pa.string())
        table = table.set_column(place, pa.field("license", pa.string()), none)
        pq.write_table(table, file)
        shard["bytes"], shard["sha256"] = file.stat().st_size, sha256_of(file)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConjoinError, match=r"18 rows have no licence, not even 'unknown'"):
        release(folder, tmp_path / "r")


@pytest.mark.parametrize(
    "tally", [{"seen": -5, "kept": 1}, {"seen": 1, "kept": 10**400}, {"seen": 2**63, "kept": 1}]
)
def test_counts_beyond_all_numbers_are_refused(tally: dict[str, int], tmp_path: Path) -> None:
    """A manifest may come from anywhere, and the card computes shares of what it says."""
    folder = candidate_folder(tmp_path / "toy", 20)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"tally": tally}))
    with pytest.raises(ConjoinError, match=r"not a manifest of a corpus: tally\.(seen|kept): "):
        release(folder, tmp_path / "r")


def test_the_same_rows_are_the_same_bytes(tmp_path: Path, corpus: Path) -> None:
    """However generation cut them into units; and a release released again is itself."""
    first = release(candidates_of(corpus), tmp_path / "a", name="x")
    other = candidate_folder(tmp_path / "toy", units=5)
    release(other, tmp_path / "b", name="x")
    release(tmp_path / "a", tmp_path / "c", name="x")
    for folder in ("b", "c"):
        for shard in first["shards"]:
            assert sha256_of(tmp_path / folder / shard["file"]) == shard["sha256"]
    before = sums(tmp_path / "a")
    release(candidates_of(corpus), tmp_path / "a", name="x")
    assert sums(tmp_path / "a") == before


def test_the_seed_changes_the_order_only(corpus: Path, tmp_path: Path) -> None:
    """Another seed shuffles the same rows."""
    zero, one = (release(candidates_of(corpus), tmp_path / str(s), seed=s) for s in (0, 1))
    assert zero["digests"] == one["digests"]
    assert rows(tmp_path / "0") != rows(tmp_path / "1")


def test_files_and_manifest_say_what_they_hold(corpus: Path, tmp_path: Path) -> None:
    """Schema, page index, checksums of every file, rows and generations counted, the source named."""
    manifest = release(candidates_of(corpus), tmp_path / "r")
    for pattern, schema in ((DATA, RELEASED), ("rejected/*.parquet", RELEASED_REJECTS)):
        (file,) = (tmp_path / "r").glob(pattern)
        with pq.ParquetFile(file) as parquet:
            assert parquet.schema_arrow.equals(schema)
            assert parquet.metadata.row_group(0).column(0).has_offset_index
    listed = (tmp_path / "r/SHA256SUMS").read_text().splitlines()
    found = sums(tmp_path / "r")
    del found["SHA256SUMS"]
    assert listed == [f"{digest}  {name}" for name, digest in sorted(found.items())]
    assert manifest["rows"] == {"train": 52, "rejected": 8}
    (generation,) = manifest["generations"].values()
    assert generation["rows"] == manifest["rows"]
    assert {row["generation"] for row in rows(tmp_path / "r")} == set(manifest["generations"])
    (source,) = manifest["sources"]
    assert source["sha256"] == sha256_of(corpus / "sentences.parquet")
    assert (source["corpus"], source["sentences"]) == ("toy", {"train": 60})
    assert manifest["name"] == "conjoin-toy-t5-sync"
    assert manifest["licenses"] == {"CC0-1.0": 60}


def test_without_rejects_there_is_no_file_of_them(tmp_path: Path) -> None:
    """`datasets` cannot read a Parquet file without rows, so there is none."""
    manifest = release(candidate_folder(tmp_path / "toy", 6), tmp_path / "r")
    assert manifest["rows"] == {"train": 6, "rejected": 0}
    assert not (tmp_path / "r/rejected").exists()


def test_what_made_it_goes_along(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the conjoin project has that the corpus lies in; of another nothing."""
    project = tmp_path / "project"
    shutil.copytree(corpus, project / "data/toy")
    for name in ("dvc.yaml", "params.yaml", "cells.yaml"):
        shutil.copy(ROOT / name, project)
    monkeypatch.chdir(project)
    release(candidates_of(project / "data/toy"), tmp_path / "r")
    for name in ("dvc.yaml", "params.yaml", "cells.yaml"):
        assert (tmp_path / "r/provenance" / name).read_bytes() == (ROOT / name).read_bytes()
    release(candidates_of(corpus), tmp_path / "r")
    assert not (tmp_path / "r/provenance").exists()
    (project / "dvc.yaml").unlink()
    (project / "dvc.yaml").mkdir()  # what cannot be read is nobody's
    release(candidates_of(project / "data/toy"), tmp_path / "r")
    assert not (tmp_path / "r/provenance").exists()
    (project / "dvc.yaml").rmdir()
    (project / "dvc.yaml").write_text("stages: {bake: {cmd: bread}}")
    release(candidates_of(project / "data/toy"), tmp_path / "r")
    assert not (tmp_path / "r/provenance").exists()


def test_no_path_of_the_machine_is_published(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of absolute paths the last two parts, relative ones as given; rebuilt releases too."""
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(corpus, tmp_path / "toy"))
    made = release(candidates_of(folder), Path("r"), stand_off=True, corpus=folder)
    said = "conjoin release t5-sync/seed-0 --out r --corpus "
    assert made["command"].startswith(f"{said}{tmp_path.name}/toy --stand-off")
    rehydrate.run(RehydrateSettings(release=tmp_path / "r", source=folder, out=tmp_path / "again"))
    for path in (p for d in ("r", "again") for p in (tmp_path / d).rglob("*") if p.is_file()):
        assert str(tmp_path).encode() not in path.read_bytes()
    command = json.loads((tmp_path / "again/manifest.json").read_text())["command"]
    assert command.endswith(f"--source {tmp_path.name}/toy --out {tmp_path.name}/again")


@pytest.mark.parametrize(
    ("license_", "message"),
    [
        ("unknown", r"licence 'unknown' does not permit .* of 14 rows .*--license.*--stand-off"),
        ("LDC-User-Agreement", "'LDC-User-Agreement' forbids handing on the text of 14 rows"),
        ("CC-BY-3.0 AND LicenseRef-PubMed", "PubMed' forbids .* authors and publishers"),
        ("CC-BY-ND-4.0", "generated sentences are altered text"),
        (
            "CC-BY-3.0 AND unknown",
            r"AND unknown' does not permit .* 14 rows .*`conjoin ingest --license`",
        ),
        ("Own-1.0", r"'Own-1.0' does not permit .* of 14 rows \(conjoin does not know"),
    ],
)
def test_text_that_nobody_may_hand_on_is_refused(
    license_: str, message: str, tmp_path: Path
) -> None:
    """One line with the licence, how many rows, and the remedy; nothing is written."""
    folder = candidate_folder(tmp_path / "toy", 14, license_=license_)
    with pytest.raises(ConjoinError, match=message):
        release(folder, tmp_path / "r")
    assert [p.name for p in tmp_path.iterdir()] == ["toy"]


def test_a_declared_licence_is_written_where_rows_say_unknown(tmp_path: Path) -> None:
    """Rows and manifest have it; one that conjoin does not know is refused."""
    folder = candidate_folder(tmp_path / "toy", 14, license_="unknown")
    manifest = release(folder, tmp_path / "r", license="CC-BY-4.0")
    assert manifest["license"] == "CC-BY-4.0"
    assert {r["license"] for r in rows(tmp_path / "r", "*/train-*.parquet")} == {"CC-BY-4.0"}
    with pytest.raises(ConjoinError, match=r"release.license = 'Mine'"):
        release(folder, tmp_path / "x", license="Mine")


def test_rows_that_join_licences_which_exclude_each_other_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With text alone: without it nothing of either is handed on."""
    both = "CC-BY-NC-4.0 AND CC-BY-SA-4.0"
    folder = candidate_folder(tmp_path / "toy", 14, license_=both)
    release(folder, tmp_path / "r")
    assert f"14 rows join text under {both}, and one text" in capsys.readouterr().err
    release(folder, tmp_path / "s", stand_off=True)
    assert "join text" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expression", "known", "redistributable"),
    [
        ("Apache-2.0", True, True), ("CC-BY-SA-3.0", True, True), ("cc-by-nc-4.0", True, True),
        ("CC-BY-NC-ND-4.0", True, False), ("MIT AND LDC-User-Agreement", True, False),
        ("MIT OR LDC-User-Agreement", True, True), ("MIT AND Foo-1", False, False),
        ("Foo-1 OR MIT", True, True), ("(MIT OR Foo-1) AND CC0-1.0", True, True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", True, True), ("unknown", False, False),
        ("", False, False), ("MIT AND", False, False), ("(MIT", False, False), ("CC BY 4.0", False, False),
        ("MIT WITH", False, False), ("MIT WITH (", False, False), ("MIT WITH AND", False, False),
        ("MIT WITH Foo-exception", False, False), ("MIT WITH llvm-exception AND ISC", True, True),
        ("CC-BY-ND-4.0 WITH LLVM-exception", True, False),
        (f"{'(' * 9}MIT{')' * 9}", True, True), (f"{'(' * 5000}MIT{')' * 5000}", False, False),
    ],
)  # fmt: skip
def test_terms_of_expressions(expression: str, known: bool, redistributable: bool) -> None:
    """AND needs what both permit, OR what one does; what cannot be read permits nothing."""
    found = terms(expression)
    assert (found.known, found.redistributable) == (known, redistributable)


def test_a_licence_of_the_whole_names_each_once() -> None:
    """Parts are joined by AND, alternatives in brackets."""
    assert combined(["MIT", "MIT AND CC0-1.0"]) == "CC0-1.0 AND MIT"
    assert combined(["MIT OR CC0-1.0", "ISC"]) == "ISC AND (MIT OR CC0-1.0)"
    assert combined(["MIT OR CC0-1.0"]) == "MIT OR CC0-1.0"
    assert combined(["MIT AND unknown", "MIT"]) == "MIT AND unknown"
    assert combined(["Jones AND Co of York", "MIT"]) == "Jones AND Co of York AND MIT"
    assert licence_ids("(MIT OR CC0-1.0) AND MIT") == ["MIT", "CC0-1.0"]


def test_identifiers_are_read_in_any_case(tmp_path: Path) -> None:
    """They come out as SPDX spells them, exceptions too; what is no expression stays as it is."""
    assert combined(["apache-2.0", "Apache-2.0", "mit"]) == "Apache-2.0 AND MIT"
    assert canonical(
        "(cc-by-3.0-us  OR gpl-2.0-only WITH CLASSPATH-EXCEPTION-2.0)AND licenseref-pubmed"
    ) == ("(CC-BY-3.0-US OR GPL-2.0-only WITH Classpath-exception-2.0) AND LicenseRef-PubMed")
    assert canonical("mit, and more") == "mit, and more"
    assert licence_ids("gpl-2.0-only WITH Classpath-exception-2.0") == ["GPL-2.0-only"]
    folder = candidate_folder(tmp_path / "toy", 14, license_="apache-2.0")
    assert release(folder, tmp_path / "r")["license"] == "Apache-2.0"
    assert "license: Apache-2.0\n" in (tmp_path / "r/CITATION.cff").read_text()
    assert "Version 2.0, January 2004" in (tmp_path / "r/LICENSE").read_text()
    unnamed = candidate_folder(tmp_path / "unnamed", 14, license_="unknown")
    assert release(unnamed, tmp_path / "u", license="cc-by-4.0")["licenses"] == {"CC-BY-4.0": 14}


def truncate(folder: Path) -> None:
    shard = folder / "candidates-00001-of-00003.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])


def flip(folder: Path) -> None:
    shard = folder / "rejects-00001-of-00003.parquet"
    shard.write_bytes(bytes([shard.read_bytes()[0] ^ 1]) + shard.read_bytes()[1:])


def remove(folder: Path) -> None:
    (folder / "candidates-00002-of-00003.parquet").unlink()


def of_another_run(folder: Path) -> None:
    other = candidate_folder(folder.parents[2] / "toy2", seed=1)
    shutil.copy(other / "candidates-00001-of-00003.parquet", folder)


def one_more(folder: Path) -> None:
    shutil.copy(
        folder / "candidates-00000-of-00003.parquet", folder / "candidates-00000-of-00009.parquet"
    )


def lie(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["rows"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))


def interrupt(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def other_json(folder: Path) -> None:
    (folder / "manifest.json").write_text("[1]")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, r"00001-of-00003.parquet: not as manifest.json says: truncated: \d+ of \d+ bytes"),
        (flip, r"rejects-00001-of-00003.parquet: not as manifest.json says: sha256 differs"),
        (remove, r"candidates-00002-of-00003.parquet: not as manifest.json says: gone"),
        (of_another_run, r"00001-of-00003.parquet: a shard from another run"),
        (one_more, r"00000-of-00009.parquet: a shard from another run"),
        (lie, r"holds \d+ rows, but manifest.json says \d+"),
        (interrupt, "generation has not finished here"),
        (other_json, "not a manifest of conjoin"),
    ],
)  # fmt: skip
def test_a_folder_that_is_not_whole_is_refused(
    damage: Any, message: str, corpus: Path, tmp_path: Path
) -> None:
    """Whatever is missing, damaged or foreign is named, and nothing is written."""
    shutil.copytree(corpus, tmp_path / "toy")
    damage(candidates_of(tmp_path / "toy"))
    with pytest.raises(ConjoinError, match=message):
        release(candidates_of(tmp_path / "toy"), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_only_a_release_is_replaced(corpus: Path, tmp_path: Path) -> None:
    """No folder of other things, no release with other things in it, and not what it is made of."""
    folder = candidates_of(corpus)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").write_text("years of work")
    with pytest.raises(ConjoinError, match="no earlier output of `conjoin release`"):
        release(folder, tmp_path / "home")
    with pytest.raises(ConjoinError, match="there is a file of this name"):
        release(folder, tmp_path / "home/thesis.tex")
    release(folder, tmp_path / "r")
    (tmp_path / "r/notes.txt").write_text("mine")
    with pytest.raises(ConjoinError, match=r"1 files that are not its own, first notes.txt"):
        release(folder, tmp_path / "r")
    write_checksums(tmp_path / "r")  # that a file has a sum does not make it the release's
    with pytest.raises(ConjoinError, match=r"1 files that are not its own, first notes.txt"):
        release(folder, tmp_path / "r")
    assert (tmp_path / "r/notes.txt").read_text() == "mine"
    for out in (folder, folder / "r", corpus):
        with pytest.raises(ConjoinError, match="may not replace, contain or lie inside"):
            release(folder, out)


def test_too_many_shards_wrong_corpora_and_single_files_are_refused(
    corpus: Path, tmp_path: Path
) -> None:
    """Fewer rows than shards; a corpus without these sentences or none; a lone Parquet file."""
    folder = candidates_of(corpus)
    with pytest.raises(ConjoinError, match="52 usable candidates cannot fill 53 shards"):
        release(folder, tmp_path / "r", shards=53)
    candidate_folder(tmp_path / "small", 10)
    with pytest.raises(
        ConjoinError, match=r"50 rows are of sentences that this corpus does not have"
    ):
        release(folder, tmp_path / "r", corpus=tmp_path / "small")
    with pytest.raises(ConjoinError, match="no such corpus"):
        release(folder, tmp_path / "r", corpus=tmp_path)
    with pytest.raises(ConjoinError, match="one file does not say who made its rows"):
        release(folder / "candidates-00000-of-00003.parquet", tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_the_documented_digest_is_the_manifests(corpus: Path, tmp_path: Path) -> None:
    """The plain Python of the documentation, as it stands there, computes it from the rows alone."""
    folder = candidates_of(corpus)
    page = (ROOT / "docs/release.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (code,) = [block for block in blocks if "def row_digest" in block]
    assert len(re.findall(r"\S.*\n", code)) <= 26
    space: dict[str, Any] = {}
    exec(code, space)  # noqa: S102 - our own documentation
    for name, options in (("full", {"shards": 2}), ("bare", {"stand_off": True})):
        manifest = release(folder, tmp_path / name, **options)
        for config, pattern in (("train", DATA), ("rejected", "rejected/*.parquet")):
            found = space["row_digest"](sorted((tmp_path / name).glob(pattern)))
            assert found == manifest["digests"][config]


def test_treebanks_are_released_without_their_words() -> None:
    """params.yaml has stand_off wherever the declared licence does not permit to hand on the text."""
    section = yaml.safe_load((ROOT / "params.yaml").read_text())["release"]
    for corpus in CORPORA.values():
        # Corpora of some readers have names of their own, and of relations nothing is released.
        if re.search("NAME|CORPUS", corpus.place) or corpus.task != COORDINATION:
            continue
        stand_off = section[corpus.reader].get("stand_off", False)
        assert stand_off == (not terms(corpus.licence).redistributable)
