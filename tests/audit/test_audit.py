"""The audit stage: its counts on hand-made candidates whose verdicts are known."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny

from pipeline.audit.auditor import ScoredCandidate, draw_scored
from pipeline.audit.settings import AuditSettings
from pipeline.audit.stage import run
from pipeline.core.candidates import HARVESTED
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import (
    CANDIDATES,
    SCORED,
    SENTENCES,
    VERDICTS,
    candidate_row,
    sentence_row,
)
from pipeline.core.types import Candidate, Sentence, Span
from pipeline.report.audit import annotation_table, read_audit

SOURCE = Path(__file__).resolve().parents[2] / "data" / "raw" / "world"

FILLS = {
    "a": "the surgeon",  # right and sensible
    "b": "the baker",  # right, of another class
    "c": "the nurses",  # right, repeats the reference's noun
    "d": "the the the",  # no sentence
    "e": "the surgeon who slept near the mill near the tavern",  # right, ten words
}


def candidate(name: str, fill: str, label: str = "NP") -> Candidate:
    """The sentence "The nurse and FILL laughed ." with the reference "The nurse"."""
    words = ("The", "nurse", "and", *fill.split(), "laughed", ".")
    second = Span(3, len(words) - 2)
    return Candidate(name, f"s{name}", words, 2, (Span(0, 2), second), label, Span(0, 2),
                     fill, -1.0, -1.0, -1.0, "Apache-2.0")  # fmt: skip


def shard(folder: Path, candidates: list[Candidate]) -> None:
    """One shard of candidates."""
    rows = [candidate_row(c) for c in candidates]
    write_rows(folder / "candidates-00000-of-00001.parquet", CANDIDATES, rows)


def trained(
    corpus: Path, system: str, mode: str, rows: list[dict[str, Any]], seed: int = 0
) -> Path:
    """A run folder that judged candidates of bert-sync."""
    folder = corpus / "runs" / system / "100" / f"seed-{seed}"
    settings = {} if mode == "baseline" else {"candidates": f"candidates/bert-sync/seed-{seed}"}
    card = {"system": system, "mode": mode, "labelled": 100, "seed": seed, "settings": settings}
    write_json(folder / "run.json", card)
    common = {"step": 1, "label": "NP", "probability": 0.5}
    write_rows(folder / "scored.parquet", SCORED, [common | row for row in rows])
    return folder


def scored(name: str, accepted: bool, start: int = 0, end: int = 5) -> dict[str, Any]:
    """What a run noted of a candidate."""
    return {"candidate_id": name, "accepted": accepted, "start": start, "end": end}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two seeds of candidates and four runs."""
    corpus = tmp_path / "world"
    made = [candidate(name, fill) for name, fill in FILLS.items()]
    shard(corpus / "candidates" / "bert-sync" / "seed-0", made)
    other = candidate("f", "the dentist", "PP")
    shard(corpus / "candidates" / "bert-sync" / "seed-1", [other])
    shard(corpus / "candidates" / "t5-sync" / "seed-10", [candidate("d", FILLS["d"])])
    trained(corpus, "baseline", "baseline", [])
    trained(corpus, "bert", "filter", [scored("a", True), scored("b", True), scored("d", False),
                                       scored("d", False), scored("e", False)])  # fmt: skip
    trained(corpus, "bert", "filter", [scored("f", False) | {"label": "PP"}], seed=1)
    trained(corpus, "bert-self-train", "self-train", [scored("a", True), scored("c", True, 1)])
    return corpus


def audit(corpus: Path, **given: Any) -> dict[str, Any]:
    """The document the stage writes."""
    run(AuditSettings(corpus=corpus, source=SOURCE, **given))
    document: dict[str, Any] = read_json(corpus / "audit" / "audit.json")
    return document


def test_candidates_that_are_gone_end_it(corpus: Path) -> None:
    """Their manifest says that there were some: the rest is not audited as if it were all."""
    folder = corpus / "candidates/bert-sync/seed-1"
    entry = {"file": "candidates-00000-of-00001.parquet", "rows": 1, "bytes": 1, "sha256": "0" * 64}
    write_json(folder / "manifest.json", {"shards": [entry]})
    (folder / entry["file"]).unlink()
    with pytest.raises(InputError, match="seed-1: all shards that"):
        audit(corpus)


def test_shares_of_generation(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each share has the judged candidates of all seeds below it."""
    document = audit(corpus)
    bert, t5 = document["generation"]
    assert document["oracle"] is True
    assert (bert["candidates"], bert["seeds"], bert["judged"]) == ("bert-sync", [0, 1], 6)
    assert bert["right"] == pytest.approx(5 / 6)
    assert bert["sensible"] == pytest.approx(4 / 6)
    assert (bert["other"], bert["ungrammatical"]) == (0, pytest.approx(1 / 6))
    assert (bert["repeats"], bert["distinct"]) == (pytest.approx(1 / 6), 1)
    assert bert["by_label"]["PP"] == {"judged": 1, "right": 1, "sensible": 1}
    assert {name: e["judged"] for name, e in bert["by_fill_length"].items()} == {
        "2": 4, "3-4": 1, "9+": 1
    }  # fmt: skip
    assert (t5["seeds"], t5["judged"], t5["right"], t5["ungrammatical"]) == ([10], 1, 0, 1)
    shown = capsys.readouterr().out
    assert "bert-sync" in shown
    assert "83.3" in shown


def test_shares_of_the_filter(corpus: Path) -> None:
    """Accepted and rejected annotations, each candidate once, over the seeds together."""
    bert, self_train = audit(corpus)["filter"]
    assert (bert["system"], bert["labelled"], bert["seeds"]) == ("bert", 100, [0, 1])
    assert bert["accepted"] == {"judged": 2, "right": 1, "sensible": 0.5}
    assert bert["rejected"]["judged"] == 3
    assert bert["rejected"]["right"] == pytest.approx(2 / 3)
    assert bert["by_label"]["NP"] == {
        "judged": 4, "acceptance": 0.5, "accepted_right": 1, "rejected_right": 0.5
    }  # fmt: skip
    assert bert["by_label"]["PP"]["accepted_right"] is None
    assert self_train["rejected"] == {"judged": 0, "right": None, "sensible": None}


def test_self_training_is_judged_by_its_own_boundaries(corpus: Path) -> None:
    """A predictor that says "nurse and the nurses" is wrong where generation was right."""
    assert audit(corpus)["filter"][1]["accepted"] == {"judged": 2, "right": 0.5, "sensible": 0.5}


def test_verdicts_name_the_folder_of_the_boundaries(corpus: Path) -> None:
    """One row per candidate and folder; a self-training run is the folder of its own boundaries."""
    audit(corpus)
    rows = list(read_rows(corpus / "audit" / "verdicts.parquet", VERDICTS))
    verdicts = {(r["folder"], r["candidate_id"]): (r["kind"], r["sensible"]) for r in rows}
    made, own = "candidates/bert-sync/seed-0", "runs/bert-self-train/100/seed-0"
    assert len(verdicts) == len(rows) == 9
    assert verdicts[made, "a"] == verdicts[own, "a"] == ("right", True)
    assert verdicts[made, "b"] == ("right", False)
    assert verdicts[made, "d"] == ("ungrammatical", False)
    assert verdicts[made, "c"] == ("right", True)
    assert verdicts[own, "c"] == ("other", True)


def test_the_sample_is_seeded_and_bounded(corpus: Path) -> None:
    """So many per folder of candidates and per system, the same ones for the same seed."""
    first = audit(corpus, sample=2)
    assert [e["judged"] for e in first["generation"]] == [3, 1]
    assert [sum(e[half]["judged"] for half in ("accepted", "rejected")) for e in first["filter"]] \
        == [2, 2]  # fmt: skip
    assert audit(corpus, sample=2) == first
    rows = [list(read_rows(corpus / "audit" / "verdicts.parquet", VERDICTS))]
    for seed in range(1, 6):
        audit(corpus, sample=2, seed=seed)
        rows.append(list(read_rows(corpus / "audit" / "verdicts.parquet", VERDICTS)))
    assert any(other != rows[0] for other in rows[1:])


def test_every_candidate_is_as_likely_however_often_it_was_drawn() -> None:
    """A candidate that training met a hundred times does not crowd out the others."""
    often = [ScoredCandidate("run", "often", accepted=True, extent=None)] * 100
    rare = [ScoredCandidate("run", name, accepted=False, extent=None) for name in "abc"]
    drawn = [draw_scored([*often, *rare], 1, str(key))[0].candidate_id for key in range(200)]
    assert 20 < drawn.count("often") < 80


def test_a_corpus_without_grammar_is_reported_in_one_line(
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No lexicon: {"oracle": false} and an empty, well-formed file."""
    monkeypatch.chdir(tmp_path)
    run(AuditSettings(corpus=corpus))
    assert read_json(corpus / "audit" / "audit.json") == {"oracle": False}
    assert not list(read_rows(corpus / "audit" / "verdicts.parquet", VERDICTS))
    assert capsys.readouterr().out.count("\n") == 1


def test_a_grammar_that_is_named_must_be_there(corpus: Path, tmp_path: Path) -> None:
    """A slip in its name costs no earlier audit."""
    first = audit(corpus)
    with pytest.raises(InputError, match=r"wrold: no lexicon\.yaml here"):
        run(AuditSettings(corpus=corpus, source=tmp_path / "wrold"))
    assert read_json(corpus / "audit/audit.json") == first


@pytest.mark.parametrize("theirs", ["audit.json", "verdicts.parquet", "notes.txt"])
def test_what_somebody_put_there_stays(corpus: Path, theirs: str) -> None:
    """Whatever it is called: what stands in it tells."""
    (corpus / "audit").mkdir()
    (corpus / "audit" / theirs).write_text("{}")
    with pytest.raises(InputError, match="no earlier output of `conjoin audit`"):
        audit(corpus)
    assert [path.name for path in (corpus / "audit").iterdir()] == [theirs]
    assert (corpus / "audit" / theirs).read_text() == "{}"


def test_an_earlier_audit_alone_is_made_anew(corpus: Path) -> None:
    """A damaged one, too; but not with files of others beside it."""
    first = audit(corpus)
    write_json(corpus / "audit/audit.json", {"oracle": True, "filter": 1})
    assert audit(corpus) == first
    (corpus / "audit/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not its own, first notes\.txt"):
        audit(corpus)
    assert (corpus / "audit/notes.txt").read_text() == "mine"


def test_problems_are_input_errors(corpus: Path, tmp_path: Path) -> None:
    """A missing corpus, no candidates, candidates made anew, a card that is none."""
    with pytest.raises(InputError, match="no such corpus folder"):
        audit(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no candidates here"):
        audit(tmp_path / "empty")
    shard(corpus / "candidates" / "bert-sync" / "seed-0", [candidate("z", "the tutor")])
    with pytest.raises(InputError, match="was judged in training but is not here"):
        audit(corpus)
    write_json(corpus / "runs" / "bert" / "100" / "seed-0" / "run.json", {"system": "bert"})
    with pytest.raises(InputError, match="not as conjoin writes it: mode"):
        audit(corpus)


def test_candidates_from_elsewhere_are_not_audited(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs on a hub data set or a release folder are named in one line; the others are audited."""
    card = corpus / "runs" / "bert" / "100" / "seed-0" / "run.json"
    write_json(card, read_json(card) | {"settings": {"candidates": "someone/released"}})
    bert, _ = audit(corpus)["filter"]
    assert bert["seeds"] == [1]
    printed = capsys.readouterr().out
    assert printed.count("someone/released (of 1 run of bert). They are not audited.") == 1
    shutil.rmtree(corpus / "candidates")
    document = audit(corpus)
    assert document["generation"] == document["filter"] == []


def natural(number: int, label: str = "NP") -> tuple[Sentence, Candidate]:
    """A treebank's sentence, and a candidate that took it as it stands; right if its number is even."""
    sentence = tiny.sentence(number, label=label)
    gold = sentence.coordinations[0]
    spans = gold.conjuncts
    if number % 2:
        spans = (*spans[:-1], Span(spans[-1].start, spans[-1].end + 1))
    return replace(sentence, tree="(S1 (X x))"), Candidate(
        f"c{number}", sentence.sentence_id, sentence.words, gold.coordinator, spans, label, spans[0], "x",
        None, None, None, "test",
    )  # fmt: skip


def test_a_treebank_knows_of_harvested_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its gold conjuncts are right, others are not; of generated sentences it says nothing, and counts them.

    A folder that has none but such counts as well.
    """
    monkeypatch.chdir(tmp_path)
    corpus = tmp_path / "bank"
    pairs = [natural(n, "VP" if n < 4 else "NP") for n in range(10)]
    write_rows(corpus / "sentences.parquet", SENTENCES, [sentence_row(s) for s, _ in pairs])
    folder = corpus / "candidates/harvest-250/seed-0"
    made = candidate("g", "the surgeon")
    shard(folder, [*(c for _, c in pairs), made])
    write_json(folder / "manifest.json", {"settings": {"fills": HARVESTED}})
    shard(corpus / "candidates/t5-sync/seed-0", [made])
    elsewhere = corpus / "candidates/harvest-of-text/seed-0"
    shard(elsewhere, [made, candidate("h", "the tailor")])
    write_json(elsewhere / "manifest.json", {"settings": {"fills": HARVESTED}})
    settings = {"candidates": "candidates/harvest-250/seed-0"}
    run_folder = trained(corpus, "harvested", "filter",
                         [scored(f"c{n}", n % 2 == 0) for n in range(8)])  # fmt: skip
    card = read_json(run_folder / "run.json")
    write_json(run_folder / "run.json", {**card, "settings": settings})
    run(AuditSettings(corpus=corpus))
    document = read_json(corpus / "audit/audit.json")
    (found,) = document["generation"]
    assert (document["oracle"], document["judge"]) == (True, "treebank")
    assert (found["candidates"], found["judged"], found["unknown"]) == ("harvest-250", 10, 1)
    assert (found["right"], found["other"], found["repeats"]) == (0.5, 0.5, None)
    assert found["by_label"]["VP"] == {"judged": 4, "right": 0.5, "sensible": 0.5}
    (filtered,) = document["filter"]
    assert (filtered["accepted"]["right"], filtered["rejected"]["right"]) == (1, 0)
    printed = capsys.readouterr().out
    assert "by the treebank" in printed
    assert "3 of the candidates drawn are no sentences that the treebank knows" in printed
    audit, _ = read_audit(corpus)
    assert audit is not None
    assert annotation_table(audit).columns == (
        "Candidates", "Right", "Other conjuncts", "Distinct", "judged"
    )  # fmt: skip
    assert [row.cells for row in annotation_table(audit).rows] == [
        ("harvested, parser of the corpus's trees", "50.0", "50.0", "10.0", "10")
    ]
    shutil.copytree(folder, corpus / "candidates/harvest/250/seed-0")
    run(AuditSettings(corpus=corpus))
    again, deeper = read_json(corpus / "audit/audit.json")["generation"]
    assert (again, deeper) == (found, {**found, "candidates": "harvest/250"})
