"""What other commands make of a harvested folder: validate, release, rehydrate, select, merge, train, …"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harvested
import pyarrow.parquet as pq
import pytest
import tiny
from shared_corpora import candidate_folder

from pipeline.core.candidates import candidate_shards
from pipeline.core.documents import read_json
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import CANDIDATES, read_candidates
from pipeline.core.types import Span, candidate_id
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import STAND_OFF
from pipeline.harvest.stage import run
from pipeline.release import stage as release
from pipeline.release.settings import Rehydrate, Release
from pipeline.release.stand_off import STRANGE
from pipeline.report.results import read_generation
from pipeline.select import stage as select
from pipeline.select.settings import Select
from pipeline.tools import merge, rehydrate, stats
from pipeline.tools.browse.corpus import _made
from pipeline.tools.export import command as export
from pipeline.tools.settings import Export, Merge, Stats, Validate
from pipeline.tools.validate import command as validate
from pipeline.train import stage as train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A harvested folder in its corpus."""
    corpus = harvested.with_ready_parser(harvested.corpus_of(tmp_path_factory.mktemp("c") / "world"))
    with pytest.MonkeyPatch.context() as patch:
        harvested.knowing(patch)
        run(harvested.settings(corpus))
    return corpus / "candidates/harvest/seed-0"


def violations(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    try:
        validate.run(Validate(place=place, json_=True))
    except SystemExit as end:
        assert end.code == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["violations"]
    return found


def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy of the corpus around a folder; returns the folder in it."""
    shutil.copytree(folder.parents[2], tmp_path / "world")
    return tmp_path / "world" / folder.relative_to(folder.parents[2])


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first row of a shard and give it the id of its content."""
    kept = pq.read_schema(path).metadata
    rows = list(read_rows(path, CANDIDATES))
    change(rows[0])
    spans = [Span(**each) for each in rows[0]["conjuncts"]]
    rows[0]["candidate_id"] = candidate_id(
        rows[0]["sentence_id"], rows[0]["words"], rows[0]["coordinator"],
        Span(**rows[0]["reference"]), spans,
    )  # fmt: skip
    write_rows(path, CANDIDATES, rows, {k.decode(): v.decode() for k, v in kept.items()})


def test_a_harvested_folder_is_valid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Words beside the coordinator and labels such as UCP are; one shard alone is, too."""
    assert violations(folder, capsys) == {}
    assert violations(candidate_shards(folder)[0], capsys) == {}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("words differ from the corpus", lambda r: r["words"].__setitem__(-1, "!")),
        ("sentence not in the corpus", lambda r: r.update(sentence_id="world/none")),
        ("fill differs from its conjunct", lambda r: r.update(fill="another text")),
        ("invalid label", lambda r: r.update(label="some text")),
    ],
)
def test_rows_that_are_not_their_sentences_are_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, change: Any
) -> None:
    """A harvested row has the corpus's words, the last conjunct's text and a label."""
    copy = copied(folder, tmp_path)
    rewrite(candidate_shards(copy)[0], change)
    found = violations(copy, capsys)
    assert kind in found
    files = {"checksum differs", "size differs from manifest", "text differs from its words"}
    assert set(found) <= {kind, "offsets differ from the words", *files}


def test_a_generated_row_may_not_have_words_beside_its_coordinator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What holds of natural text does not hold of what was put in."""
    made = candidate_folder(tmp_path / "toy")

    def apart(row: dict[str, Any]) -> None:
        row["conjuncts"][0]["end"] -= 1
        row["reference"]["end"] -= 1

    rewrite(candidate_shards(made)[0], apart)
    assert "text between conjuncts is not the coordinator" in violations(made, capsys)


def test_a_stand_off_release_has_no_word_of_the_source_but_coordinators(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file of it has two words of a sentence in a row; with the source all rows come back."""
    full, bare, back = tmp_path / "full", tmp_path / "bare", tmp_path / "back"
    release.run(Release(candidates=folder, out=full, license=None))
    release.run(Release(candidates=folder, out=bare, stand_off=True))
    for place in (full, bare):
        assert violations(place, capsys) == {}
    (shard,) = (bare / "data").glob("*.parquet")
    rows = list(read_rows(shard, STAND_OFF))
    count = sum(1 for path in candidate_shards(folder) for _ in read_candidates(path))
    assert len(rows) == count
    assert {(row["fill"], row["fill_words"], row["donor"]) for row in rows} == {(None, None, None)}
    assert {row["word"].lower() for row in rows} <= {"and", "or", "but", "nor", "and/or"}
    assert not {"words", "text", "offsets"} & set(pq.read_schema(shard).names)
    told = "".join(p.read_text() for p in bare.rglob("*") if p.suffix in {".md", ".json", ".cff"})
    pairs = {" ".join(s.words[i : i + 3]) for s in harvested.COORDINATED for i in range(len(s.words) - 2)}
    assert not {pair for pair in pairs if pair in told}
    assert "language model wrote" not in (full / "README.md").read_text()
    assert "a parser found the structures" in (full / "README.md").read_text()
    assert "marked the conjuncts of a coordination" in (full / "LICENSE").read_text()
    rehydrate.run(Rehydrate(release=bare, source=folder.parents[2], out=back))
    assert violations(back, capsys) == {}
    assert read_json(back / "manifest.json")["digests"] == read_json(full / "manifest.json")["digests"]
    assert read_json(full / "manifest.json")["name"] == "conjoin-world-harvest"


def test_a_word_that_is_no_coordinator_is_withheld(folder: Path, tmp_path: Path) -> None:
    """A forged row could hand a sentence on word by word."""
    copy = copied(folder, tmp_path)

    def forge(row: dict[str, Any]) -> None:
        k = row["coordinator"] = row["conjuncts"][0]["end"]
        row["words"] = list(row["words"])
        row["conjuncts"] = [row["conjuncts"][0], {"start": k + 1, "end": k + 2}]
        row["fill"] = row["words"][k + 1]

    shard = candidate_shards(copy)[0]
    first = next(read_candidates(shard))
    assert first.conjuncts[0].end == first.coordinator
    rewrite(shard, forge)
    manifest = read_json(copy / "manifest.json")
    del manifest  # its checksums are made anew below
    _relist(copy, shard)
    out = tmp_path / "out"
    release.run(Release(candidates=copy, out=out, stand_off=True))
    found = read_json(out / "manifest.json")["withheld"]["train"]
    assert found in ({}, {STRANGE: 1})
