"""What other commands make of a harvested folder: validate, release, select, train and others."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import harvested
import pyarrow.parquet as pq
import pytest
import tiny
from shared_corpora import candidate_folder

from pipeline.core.candidates import candidate_shards
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import CANDIDATES, read_candidates
from pipeline.core.types import Sentence, Span, candidate_id
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import STAND_OFF
from pipeline.harvest.stage import default_out, run
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stand_off import STRANGE, Repeats, StandOff
from pipeline.report.results import read_generation
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.sharing.browse.corpus import _made
from pipeline.sharing.export import command as export
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge import command as merge
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.rehydrate import command as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.stats import command as stats
from pipeline.sharing.stats.settings import StatsSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.train import stage as train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A harvested folder in its corpus."""
    corpus = harvested.with_ready_parser(
        harvested.corpus_of(tmp_path_factory.mktemp("c") / "world")
    )
    with pytest.MonkeyPatch.context() as patch:
        harvested.knowing(patch)
        run(harvested.settings(corpus))
    return corpus / "candidates/harvest-10/seed-0"


def violations(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    with suppress(SystemExit):
        validate.run(ValidateSettings(place=place, json_=True))
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
    """Its documents have no four words of a sentence in a row; with the source all rows come back."""
    full, bare, back = tmp_path / "full", tmp_path / "bare", tmp_path / "back"
    release.run(ReleaseSettings(candidates=folder, out=full, license=None))
    release.run(ReleaseSettings(candidates=folder, out=bare, stand_off=True))
    for place in (full, bare):
        assert violations(place, capsys) == {}
    (shard,) = (bare / "data").glob("*.parquet")
    rows = list(read_rows(shard, STAND_OFF))
    count = sum(1 for path in candidate_shards(folder) for _ in read_candidates(path))
    assert len(rows) == count
    assert {(row["fill"], row["fill_words"], row["donor"]) for row in rows} == {(None, None, None)}
    assert {row["word"].lower() for row in rows} <= {"and", "or", "but", "nor", "and/or"}
    assert not {"words", "text", "offsets"} & set(pq.read_schema(shard).names)
    text = "".join(p.read_text() for p in bare.rglob("*") if p.suffix in {".md", ".json", ".cff"})
    runs = {
        " ".join(s.words[i : i + 4]) for s in harvested.COORDINATED for i in range(len(s.words) - 3)
    }
    assert not {each for each in runs if each in text}
    assert "a language model wrote the second" not in (full / "README.md").read_text()
    assert "a parser found the structures" in (full / "README.md").read_text()
    assert "marked the conjuncts of a coordination" in (full / "LICENSE").read_text()
    rehydrate.run(RehydrateSettings(release=bare, source=folder.parents[2], out=back))
    assert violations(back, capsys) == {}
    assert (
        read_json(back / "manifest.json")["digests"] == read_json(full / "manifest.json")["digests"]
    )
    assert read_json(full / "manifest.json")["name"] == "conjoin-world-harvest"


def test_a_word_that_is_no_coordinator_is_withheld() -> None:
    """A forged row could hand a sentence on word by word; one with another fill is none of the source."""
    words = ["we", "saw", "cats", ",", "dogs", "and", "old", "birds"]
    spans = [Span(2, 3), Span(4, 5), Span(6, 8)]

    def judged(k: int, fill: str, conjuncts: list[Span]) -> tuple[Any, StandOff]:
        row = {
            "words": words, "source": words, "coordinator": k, "donor": None, "donated": None,
            "conjuncts": [{"start": s.start, "end": s.end} for s in conjuncts], "license": "CC0-1.0",
            "reference": {"start": conjuncts[0].start, "end": conjuncts[0].end}, "fill": fill,
            "sentence_id": "s", "candidate_id": candidate_id("s", words, k, conjuncts[0], conjuncts),
        }  # fmt: skip
        hiding = StandOff(Repeats([words]))
        return hiding._judged(row, "train"), hiding

    parts, hiding = judged(5, "old birds", spans)
    assert parts == ("and", None, None)
    assert not hiding.withheld["train"]
    parts, hiding = judged(3, "dogs", spans[:2])
    assert parts is None
    assert hiding.withheld["train"] == {STRANGE: 1}
    parts, hiding = judged(5, "young birds", spans)
    assert parts is None
    with pytest.raises(InputError, match="1 rows are not what this corpus has"):
        hiding.require_own(Path("source"))


@pytest.mark.long
def test_other_commands_take_a_harvested_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is selected from, merged with generated rows, exported, counted and named in reports."""
    chosen, both = tmp_path / "chosen", tmp_path / "both"
    select.run(SelectSettings(places=[folder], label=["NP"], out=chosen))
    assert violations(chosen, capsys) == {}
    merge.run(MergeSettings(places=[folder, candidate_folder(tmp_path / "toy")], out=both))
    assert violations(both, capsys) == {}
    release.run(ReleaseSettings(candidates=both, out=tmp_path / "release"))
    assert violations(tmp_path / "release", capsys) == {}
    card = " ".join((tmp_path / "release/README.md").read_text().split())
    assert "but for those that a parser found in the text of the source (harvested)" in card
    assert "into each sentence that was not harvested" in (tmp_path / "release/LICENSE").read_text()
    for name in ("ptb-ext", "conllu", "brat", "jsonl"):
        export.run(ExportSettings(place=folder, format=name, out=tmp_path / name))
    longest = max(
        (c for path in candidate_shards(folder) for c in read_candidates(path)),
        key=lambda c: len(c.conjuncts),
    )
    assert len(longest.conjuncts) > 2
    spans = ",".join(f"{span.start + 1}-{span.end}" for span in longest.conjuncts)
    assert f"CoordConjuncts={spans}" in (tmp_path / "conllu").read_text()
    capsys.readouterr()
    stats.run(StatsSettings(place=folder))
    assert "harvested natural text, parser corpus, labelled 10" in capsys.readouterr().out
    generation = read_generation(folder.parents[2], "harvest-10")
    assert generation.name == "harvested, parser of the corpus's trees"
    assert generation.fills == "harvested"
    assert _made(find_shards(folder).manifest or {}) == "harvested, parser corpus, seed 0"


def _with_tree(sentence: Sentence) -> Sentence:
    """The sentence with a tree that is flat but for its coordination."""
    (gold,) = sentence.coordinations
    parts = [f"(XX {word})" for word in sentence.words]
    one, two = (" ".join(parts[s.start : s.end]) for s in gold.conjuncts)
    inside = f"(NP (NP {one}) (CC and) (NP {two}))"
    around = " ".join(parts[: gold.start]), " ".join(parts[gold.end :])
    return replace(sentence, tree=f"(S1 (S {around[0]} {inside} {around[1]}))")


def test_a_predictor_learns_from_harvested_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are drawn like any candidates, and have no score."""
    own, sentences = tiny.build(tmp_path / "tiny"), [tiny.sentence(n) for n in range(100, 160)]
    harvested.knowing(monkeypatch, map(_with_tree, sentences))
    drawn = [*harvested.LABELLED, *harvested.VALIDATION]
    settings = harvested.settings(
        harvested.with_ready_parser(harvested.corpus_of(tmp_path / "more", [*drawn, *sentences]))
    )
    run(settings)
    given = {"mode": "no-filter", "steps": 6, "warm_steps": 2, "eval_every": 2}
    train.run(tiny.settings(own, candidates=default_out(settings), **given))
    (seen,) = own.glob("runs/*/*/*/run.json")
    assert read_json(seen)["accepted"] > 0
