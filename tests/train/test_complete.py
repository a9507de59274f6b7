"""What a run learns after its weights were chosen: where conjuncts end, from L and accepted candidates."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import tiny
import torch
from safetensors.torch import load_file

from pipeline.core.documents import read_json
from pipeline.core.files import digest_of
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import CANDIDATES, SENTENCES, read_sentences, sentence_row
from pipeline.core.types import Coordination, Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.train import data
from pipeline.train import stage as train
from pipeline.train.algorithm1 import Constants
from pipeline.train.believed import last_accepted
from pipeline.train.stream import CandidateStream

RUN = "runs/filter/40/seed-0"


def with_lists(folder: Path) -> Path:
    """The tiny corpus in which every second left conjunct of two words is a list of two: ``cats , dogs``."""
    corpus = tiny.build(folder)

    def listed(
        words: list[str], conjuncts: list[Span], k: int
    ) -> tuple[list[str], list[Span], int]:
        first, last = conjuncts
        if len(first) != 2 or words[first.start] not in tiny.NOUNS[:3]:
            return words, conjuncts, k
        at = first.start + 1
        shifted = [Span(first.start, at), Span(at + 1, at + 2), Span(last.start + 1, last.end + 1)]
        return [*words[:at], ",", *words[at:]], shifted, k + 1

    sentences = []
    for each in read_sentences(corpus / "sentences.parquet"):
        (gold,) = each.coordinations
        words, spans, k = listed(list(each.words), list(gold.conjuncts), gold.coordinator)
        made = Coordination(k, "and", gold.label, tuple(spans))
        sentences.append(sentence_row(replace(each, words=tuple(words), coordinations=(made,))))
    write_rows(corpus / "sentences.parquet", SENTENCES, sentences)
    for path in corpus.glob("candidates/*/*/*.parquet"):
        rows = []
        for row in read_rows(path, CANDIDATES):
            spans = [Span(**span) for span in row["conjuncts"]]
            words, spans, k = listed(row["words"], spans, row["coordinator"])
            conjuncts = [{"start": s.start, "end": s.end} for s in spans]
            reference = conjuncts[0] if len(spans) > 2 else row["reference"]
            rows.append(
                row
                | {"words": words, "conjuncts": conjuncts, "coordinator": k, "reference": reference}
            )
        write_rows(path, CANDIDATES, rows, {"fingerprint": "x"})
    return tiny.ingested(corpus)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus with a run, and in ``runs/before`` the same as an earlier version left it."""
    folder = with_lists(tmp_path_factory.mktemp("complete") / "tiny")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CoordinationPredictor, "complete", lambda *_: {})
        train.run(tiny.settings(folder))
    shutil.copytree(folder / RUN, folder / "before")
    train.run(tiny.settings(folder))
    return folder


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "predictor/model.safetensors")


def test_a_run_learns_where_conjuncts_end(corpus: Path) -> None:
    """Of L and of candidates that it accepted, said in the predictor's card; three conjuncts come out."""
    model = CoordinationPredictor.load(corpus / RUN / "predictor")
    learned = read_json(corpus / RUN / "predictor/predictor.json")["ends"]
    assert learned["places in L"] == learned["ends in L"] > 0
    assert learned["places in candidates"] == learned["ends in candidates"] > 0
    lists = [
        s
        for s in read_sentences(corpus / "sentences.parquet")
        if len(s.coordinations[0].conjuncts) > 2
    ]
    found = model.predict([s.words for s in lists], [s.coordinations[0].coordinator for s in lists])
    right = [
        one is not None and one.conjuncts == s.coordinations[0].conjuncts
        for s, one in zip(lists, found, strict=True)
    ]
    whole = [
        one is not None and one.span == Span(s.coordinations[0].start, s.coordinations[0].end)
        for s, one in zip(lists, found, strict=True)
    ]
    assert right == whole
    assert any(right)


@pytest.mark.parametrize("alone", [{"weight": 0.0}, {"learning_rate": 1e-12}])
def test_candidates_that_taught_no_weight_teach_no_end(corpus: Path, alone: dict[str, Any]) -> None:
    """With λ = 0, and where the first weights stay the best: candidates joined after these."""
    settings = tiny.settings(corpus, system="alone", out=corpus / "alone", **alone)
    train.run(settings)
    learned = read_json(corpus / "alone/predictor/predictor.json")["ends"]
    assert learned["places in L"] > 0
    assert learned.get("places in candidates", 0) == 0
    shutil.rmtree(corpus / "alone")


def test_nothing_else_of_a_run_changes(corpus: Path) -> None:
    """Weights, history, candidates examined and the run's card are those of a run without, bit for bit."""
    before, now = corpus / "before", corpus / RUN
    own = weights(now)
    assert all(torch.equal(own[name], value) for name, value in weights(before).items())
    assert {name.split(".")[0] for name in own.keys() - weights(before).keys()} == {"ends"}
    for name in ("history.jsonl", "scored.parquet", "run.json"):
        assert (now / name).read_bytes() == (before / name).read_bytes()


def test_a_finished_run_is_completed(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of an earlier version gets its scorer of ends without being trained again; then nothing happens."""
    out = corpus / "again"
    shutil.copytree(corpus / "before", out)
    settings = tiny.settings(corpus, out=out, system="filter", resume=True)
    train.run(settings)
    assert "this very run is finished" in capsys.readouterr().out
    own, wanted = weights(out), weights(corpus / RUN)
    assert own.keys() == wanted.keys()
    assert all(torch.equal(own[name], value) for name, value in wanted.items())
    assert read_json(out / "run.json") == read_json(corpus / "before/run.json")
    stamp = (out / "predictor/predictor.json").stat().st_mtime_ns
    train.run(settings)
    assert (out / "predictor/predictor.json").stat().st_mtime_ns == stamp


def test_a_finished_run_learns_conjuncts_that_were_corrected(tmp_path: Path) -> None:
    """Boundaries are as they were, so the weights stay; where conjuncts end is learned anew."""
    corpus = with_lists(tmp_path / "tiny")
    train.run(tiny.settings(corpus, mode="baseline"))
    before = weights(corpus / "runs/baseline/40/seed-0")
    sentences = []
    for number, each in enumerate(read_sentences(corpus / "sentences.parquet")):
        (gold,) = each.coordinations
        first, *rest = gold.conjuncts
        is_wrong = len(rest) > 1 and number % 2
        two = (Span(first.start, rest[-2].end), rest[-1]) if is_wrong else gold.conjuncts
        sentences.append(sentence_row(replace(each, coordinations=(replace(gold, conjuncts=two),))))
    write_rows(corpus / "sentences.parquet", SENTENCES, sentences)
    tiny.ingested(corpus)
    for out in ("baseline", "afresh"):
        out_of = corpus / f"runs/{out}/40/seed-0"
        train.run(tiny.settings(corpus, mode="baseline", out=out_of, resume=True))
    found = weights(corpus / "runs/baseline/40/seed-0")
    afresh = weights(corpus / "runs/afresh/40/seed-0")
    assert found.keys() == afresh.keys() == before.keys()
    assert all(torch.equal(found[name], value) for name, value in afresh.items())
    assert not all(torch.equal(before[name], value) for name, value in afresh.items())


def test_a_baseline_learns_of_l_alone(corpus: Path) -> None:
    """As does self-training, whose boundaries are the model's own and no candidate's."""
    for mode in ("baseline", "self-train"):
        train.run(tiny.settings(corpus, mode=mode, steps=34, eval_every=34))
        run = corpus / f"runs/{mode}/40/seed-0"
        learned = read_json(run / "predictor/predictor.json")["ends"]
        assert learned["places in L"] > 0
        assert learned["places in candidates"] == 0


def test_accepted_candidates_are_drawn_again(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the log has, each once, the last steps first, and no more than the most."""
    stream = CandidateStream(corpus / "candidates/t5-sync/seed-0", CoordinationTask.rows, 0)
    settings = tiny.settings(corpus)
    constants = Constants(settings.n_batch, settings.k, settings.k_max, settings.warm_steps)
    log = pq.read_table(corpus / RUN / "scored.parquet")
    rows = [row for row in log.to_pylist() if row["accepted"]]
    by_id = {
        row["candidate_id"]: tuple(row["words"])
        for path in corpus.glob("candidates/*/*/*.parquet")
        for row in read_rows(path, CANDIDATES)
    }
    found = last_accepted(stream, log, constants)
    wanted = dict.fromkeys(row["candidate_id"] for row in rows)
    assert sorted(e.words for e in found) == sorted(by_id[one] for one in wanted)
    assert all(e.conjuncts for e in found)
    last = {
        by_id[row["candidate_id"]] for row in rows if row["step"] == max(r["step"] for r in rows)
    }
    assert {e.words for e in found[: len(last)]} == last
    monkeypatch.setattr("pipeline.train.believed.MOST", 3)
    assert last_accepted(stream, log, constants) == found[:3]


def test_runs_of_before_stay_current() -> None:
    """What a run's fingerprint has of L is what it had before examples knew their conjuncts."""
    example = CoordinationExample(("a", "and", "b"), (1,), (Span(0, 3),))
    own = replace(example, conjuncts=((Span(0, 1), Span(2, 3)),))
    was = {"words": ("a", "and", "b"), "coordinators": (1,), "extents": ({"start": 0, "end": 3},)}
    assert data.digest_of_examples([own]) == digest_of([was])
