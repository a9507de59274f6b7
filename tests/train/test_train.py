"""Training and prediction end to end on a corpus whose coordination is obvious."""
# ruff: noqa: N803 - U and M are the paper's names

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import build, candidate, digest, history, ingested, scored, sentence, settings

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import (
    CANDIDATES,
    SCORED,
    SENTENCES,
    candidate_row,
    sentence_row,
)
from pipeline.core.types import Sentence
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import algorithm1
from pipeline.train import stage as train
from pipeline.train.settings import TrainSettings
from pipeline.train.stream import CandidateStream
from pipeline.train.validation import Validation
from pipeline.trying.predict import command as predict
from pipeline.trying.predict.settings import PredictSettings


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus folder, for tests that add runs to it and change nothing else."""
    return build(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture(scope="module")
def runs(corpus: Path) -> Callable[[str], Path]:
    """A finished run of each mode by name, trained when first asked for."""

    def finished(mode: str) -> Path:
        out = corpus / "runs" / mode / "40" / "seed-0"
        if not out.exists():
            train.run(settings(corpus, mode=mode))
        return out

    return finished


def test_baseline_learns(runs: Callable[[str], Path]) -> None:
    """Validation accuracy rises from below 40 % to above 70 %; no candidate is looked at."""
    run = read_json(runs("baseline") / "run.json")
    first, *_ = entries = history(runs("baseline"))
    assert first["validation_accuracy"] < 0.4
    assert run["best_validation_accuracy"] > 0.7
    assert entries[-1]["loss"] < first["loss"] / 2
    assert (run["seen"], run["candidates"], run["steps"]) == (0, 0, 60)
    assert [entry["step"] for entry in entries] == [10, 20, 30, 40, 50, 60]
    assert list(read_rows(runs("baseline") / "scored.parquet", SCORED)) == []


def test_filter_prefers_right_candidates(runs: Callable[[str], Path]) -> None:
    """More of the right (even) than of the wrong (odd) candidates pass δ, and only those above it."""
    rows = scored(runs("filter"))
    assert all(row["accepted"] == (row["probability"] >= 0.4) for row in rows)
    rate = [
        sum(row["accepted"] for row in part) / len(part)
        for part in ([row for row in rows if int(row["candidate_id"][1:]) % 2 == odd] for odd in (0, 1))
    ]  # fmt: skip
    assert rate[0] > 2 * rate[1]


def test_books_balance(runs: Callable[[str], Path]) -> None:
    """History, run.json and scored.parquet agree on what was seen and accepted, by step and label."""
    run, entries, rows = (
        read_json(runs("filter") / "run.json"), history(runs("filter")), scored(runs("filter")),
    )  # fmt: skip
    accepted = [row for row in rows if row["accepted"]]
    assert run["seen"] == entries[-1]["seen"] == len(rows)
    assert run["accepted"] == entries[-1]["accepted"] == len(accepted)
    assert run["distinct"] == len({row["candidate_id"] for row in rows})
    assert run["candidates"] == 60
    for place, index in (("NP", 0), ("VP", 0), ("NP", 1), ("VP", 1)):
        count = sum(e["acceptance"].get(place, [0, 0])[index] for e in entries)
        assert count == sum(row["label"] == place for row in (accepted, rows)[index])
    assert {row["step"] for row in rows} == set(range(31, 61))
    for step in range(31, 61):
        trials = [row["accepted"] for row in rows if row["step"] == step]
        assert sum(trials) <= 8
        assert len(trials) == 16 or (sum(trials) == 8 and trials[-1])
    assert run["excluded"]["candidates"] == {"seen": len(rows), "kept": len(rows), "refused": {}}


@pytest.mark.parametrize("given", [{"warm_steps": 20}, {"k": 0}])
def test_a_run_that_looks_at_no_candidate_says_so(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: dict[str, int]
) -> None:
    """For its name, and its place among systems with candidates, say otherwise."""
    train.run(settings(corpus, steps=20, out=tmp_path / "run", **given))
    assert "so this predictor learnt from L alone" in " ".join(capsys.readouterr().out.split())


def test_no_filter_accepts_all(runs: Callable[[str], Path]) -> None:
    """δ = 0: the first K candidates of every step are taken, and no probability is asked for."""
    rows = scored(runs("no-filter"))
    assert len(rows) == 30 * 8
    assert all(row["accepted"] and row["probability"] is None for row in rows)


def test_no_filter_is_delta_0(corpus: Path, runs: Callable[[str], Path], tmp_path: Path) -> None:
    """The same weights, bit for bit; the scores that δ asks for change nothing."""
    train.run(settings(corpus, mode="filter", delta=0, out=tmp_path / "run"))
    assert all(row["probability"] > 0 for row in scored(tmp_path / "run"))
    one, other = (
        sha256_of(folder / "predictor/model.safetensors")
        for folder in (tmp_path / "run", runs("no-filter"))
    )
    assert one == other


def test_self_training_learns_its_own_boundaries(runs: Callable[[str], Path]) -> None:
    """The boundary recorded is the predictor's argmax, so it differs from many generated ones."""
    given = {f"c{n}": candidate(n).coordination for n in range(60)}
    rows = scored(runs("self-train"))
    own = [(row["start"], row["end"]) for row in rows]
    generated = [(given[r["candidate_id"]].start, given[r["candidate_id"]].end) for r in rows]
    wrong = [int(row["candidate_id"][1:]) % 2 == 1 for row in rows]
    agree = [a == b for a, b in zip(own, generated, strict=True)]
    assert sum(a for a, w in zip(agree, wrong, strict=True) if not w) > sum(
        a for a, w in zip(agree, wrong, strict=True) if w
    )
    assert all(row["accepted"] == (row["probability"] >= 0.4) for row in rows)


def test_equal_settings_give_equal_runs(runs: Callable[[str], Path], corpus: Path) -> None:
    """A second run writes the same bytes, and another seed of fine-tuning would not."""
    again = corpus / "again"
    train.run(settings(corpus, mode="filter", out=again))
    assert digest(again) == digest(runs("filter"))
    assert set(digest(again)) == {"predictor", "history.jsonl", "run.json", "scored.parquet"}
    assert str(corpus.parent) not in (again / "run.json").read_text()
    write_json(corpus / "draws/seed-1/40.json", read_json(corpus / "draws/seed-0/40.json"))
    ingested(corpus)
    train.run(settings(corpus, mode="filter", seed=1, out=corpus / "other"))
    assert digest(corpus / "other")["predictor"] != digest(again)["predictor"]


def test_training_reads_no_test_sentence(runs: Callable[[str], Path], tmp_path: Path) -> None:
    """Without the test split in the corpus the run is the same, but for what it says was held out."""
    corpus = build(tmp_path / "tiny")
    kept = [sentence_row(sentence(n)) for n in range(64)]
    write_rows(corpus / "sentences.parquet", SENTENCES, kept)
    ingested(corpus)
    train.run(settings(corpus, mode="baseline"))
    without, whole = corpus / "runs/baseline/40/seed-0", runs("baseline")
    said = [read_json(run / "run.json") for run in (without, whole)]
    assert said[0].pop("held_out") != said[1].pop("held_out")
    assert said[0] == said[1]
    files = [digest(run) for run in (without, whole)]
    for each in files:
        del each["run.json"]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], (2, 7)),  # counted from step 3; earliest of equals
        ([0.1, 0.5, 0.5, 0.5, 0.6, 0.5, 0.6, 0.5, 0.5], (5, 9)),
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], (10, 10)),
    ],
)
def test_early_stopping(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    accuracies: list[float],
    expected: tuple[int, int],
) -> None:
    """Training stops after ``patience`` steps without improvement beyond the warm steps."""
    given = iter(accuracies)
    weights = []

    def given_accuracy(predictor: CoordinationPredictor, *_: object) -> Validation:
        weights.append(predictor.scorer.first.weight.detach().clone())
        return Validation(next(given), 1.0)

    monkeypatch.setattr("pipeline.train.learner.validate", given_accuracy)
    train.run(
        settings(corpus, mode="baseline", steps=10, warm_steps=3, eval_every=1, patience=4, out=tmp_path)
    )  # fmt: skip
    run = read_json(tmp_path / "run.json")
    assert (run["best_step"], run["steps"]) == expected
    saved = CoordinationPredictor.load(tmp_path / "predictor").scorer.first.weight
    assert torch.equal(saved, weights[run["best_step"] - 1])


def test_what_cannot_be_learned_is_counted(tmp_path: Path) -> None:
    """A long sentence is left out of L, wrong in validation, and never accepted as a candidate."""
    corpus = build(tmp_path / "tiny")
    sentences = [sentence(n) for n in range(64)]

    def longer(old: Sentence) -> Sentence:
        words = (*old.words, *["here"] * 40)
        return Sentence(old.sentence_id, "d", "train", words, None, None, old.coordinations, "test")

    sentences[3], sentences[50] = longer(sentences[3]), longer(sentences[50])
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    ingested(corpus)
    rows = [candidate_row(candidate(n)) for n in range(20)]
    for row in rows[:10]:
        row["words"] += ["here"] * 40
    folder = corpus / "long"
    write_rows(folder / "candidates-00000-of-00001.parquet", CANDIDATES, rows)
    train.run(settings(corpus, mode="no-filter", candidates=folder, steps=31, out=tmp_path / "run"))
    excluded = read_json(tmp_path / "run" / "run.json")["excluded"]
    reason = "sentence longer than the encoder"
    assert excluded["labelled"] == {"seen": 40, "kept": 39, "refused": {reason: 1}}
    assert excluded["validation"] == {"seen": 24, "kept": 23, "refused": {reason: 1}}
    assert excluded["candidates"]["refused"][reason] > 0
    for row in scored(tmp_path / "run"):
        assert row["accepted"] == (int(row["candidate_id"][1:]) >= 10)
        assert row["probability"] == (None if row["accepted"] else 0)
    assert [entry["step"] for entry in history(tmp_path / "run")] == [10, 20, 30, 31]
    accuracies = [entry["validation_accuracy"] * 24 for entry in history(tmp_path / "run")]
    assert accuracies == [pytest.approx(round(a)) for a in accuracies]


def test_empty_batches_change_nothing(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With K = N_batch and nothing accepted there is no update, no loss to tell, and it says so."""
    train.run(settings(corpus, k=16, delta=1.0, steps=50, warm_steps=30, out=tmp_path))
    entries = history(tmp_path)
    assert [entry["loss"] is None for entry in entries] == [False] * 3 + [True] * 2
    assert len({entry["validation_accuracy"] for entry in entries[2:]}) == 1
    assert "this predictor learnt from L alone" in " ".join("".join(capsys.readouterr()).split())


def one_by_one(
    U: CandidateStream,
    M: algorithm1.TrainableModel,
    constants: algorithm1.Constants,
    rule: algorithm1.Acceptance,
    first: int,
) -> list[algorithm1.Trial]:
    """Lines 3-12 without rounds."""
    trials: list[algorithm1.Trial] = []
    while sum(t.accepted for t in trials) < constants.K and len(trials) < constants.K_max:
        drawn = U.sample(first + len(trials))
        (verdict,) = M.calc_score([drawn])
        accepted = rule.accepts(drawn.label, verdict.score, best=verdict.best, share=verdict.share)
        trials.append(algorithm1.Trial(drawn, verdict, accepted, turn=len(trials)))
    return trials


@pytest.mark.long
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"accept": "quantile"},
        {"accept": "agree"},
        {"accept": "relative", "relative": 0.2},
    ],
)
def test_a_run_is_the_loop_that_takes_one_candidate_at_a_time(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    """Rounds change neither losses nor accuracies nor the candidates examined and accepted."""
    train.run(settings(corpus, out=tmp_path / "rounds", **given))
    monkeypatch.setattr(algorithm1, "inspect", one_by_one)
    train.run(settings(corpus, out=tmp_path / "single", **given))
    assert history(tmp_path / "rounds") == history(tmp_path / "single")
    one, other = scored(tmp_path / "rounds"), scored(tmp_path / "single")
    assert len(one) == len(other) > 200
    for row, same in zip(one, other, strict=True):
        assert row.pop("probability") == pytest.approx(same.pop("probability"), abs=1e-5)
        assert row == same


def test_the_defaults_are_the_paper(runs: Callable[[str], Path], corpus: Path) -> None:
    """Options written out at their defaults, and those their rule does not use, change no byte."""
    out = corpus / "neutral"
    neutral = {"accept": "delta", "encoder_rate": 1}
    train.run(settings(corpus, out=out, share=0.1, **neutral))
    one, other = digest(out), digest(runs("filter"))
    assert one.pop("run.json") != other.pop("run.json")  # for its share
    assert one == other
    recorded = read_json(out / "run.json")["settings"]
    assert recorded.items() >= train.GONE.items()  # as in runs made when these were settings


def test_quantile_accepts_its_share_of_each_label(corpus: Path, tmp_path: Path) -> None:
    """About a third of the NPs and of the VPs are accepted, and more of the right candidates."""
    train.run(settings(corpus, accept="quantile", share=0.33, k_max=16, out=tmp_path))
    rows = scored(tmp_path)
    for label in ("NP", "VP"):
        own = [row["accepted"] for row in rows if row["label"] == label]
        assert len(own) > 100
        assert 0.2 < sum(own) / len(own) < 0.46
    odd = [row["accepted"] for row in rows if int(row["candidate_id"][1:]) % 2]
    even = [row["accepted"] for row in rows if not int(row["candidate_id"][1:]) % 2]
    assert sum(even) / len(even) > 1.5 * sum(odd) / len(odd)


def test_the_encoders_rate_is_recorded_and_makes_a_difference(
    runs: Callable[[str], Path], corpus: Path, tmp_path: Path
) -> None:
    """Other scores, from line 1 on."""
    train.run(settings(corpus, encoder_rate=0.1, out=tmp_path))
    assert read_json(tmp_path / "run.json")["settings"]["encoder_rate"] == 0.1
    changed = [row["probability"] for row in scored(tmp_path)]
    assert changed[:8] != [row["probability"] for row in scored(runs("filter"))][:8]
    assert history(tmp_path)[:3] != history(runs("filter"))[:3]


def test_options_together_give_equal_runs(corpus: Path, tmp_path: Path) -> None:
    """With all of them a second run writes the same bytes."""
    given = {"accept": "quantile", "encoder_rate": 0.5, "steps": 40}
    for name in ("one", "two"):
        train.run(settings(corpus, out=tmp_path / name, **given))
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0.0}, "train.share = 0.0: Input should be greater than 0"),
        ({"share": 1.5}, "train.share = 1.5: Input should be less than or equal to 1"),
        (
            {"accept": "best"},
            "train.accept = 'best': Input should be 'delta', 'quantile', 'agree' or 'relative'",
        ),
        ({"encoder_rate": -1.0}, "train.encoder_rate = -1.0: Input should be greater than"),
    ],
)
def test_options_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    """Each is one line that names the setting, its value and the rule."""
    with pytest.raises(SettingsError) as caught:
        TrainSettings.build({"corpus": "data/x", "candidates": "c", **given}, None)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail at alloc_cpu.cpp] can't allocate memory")]
)
def test_too_little_memory_is_one_line_with_what_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Whoever ran out of it: torch, NumPy, Arrow or Python."""

    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(train._Run, "train", fail)
    with pytest.raises(ModelError, match="the memory of cpu is full; take a smaller --n-batch"):
        train.run(settings(build(tmp_path / "tiny")))


def refusal(kind: type[ConjoinError], corpus: Path, out: Path, **given: Any) -> str:
    """The message training stops with; nothing may have been written."""
    ingested(corpus)
    with pytest.raises(kind) as caught:
        train.run(settings(corpus, out=out, **given))
    assert not out.exists() or {p.name for p in out.iterdir()} <= {".lock", ".workers"}
    return str(caught.value)


def test_bad_input_is_named(tmp_path: Path) -> None:
    """Each mistake is one line with its place and its remedy, and leaves no file behind."""
    corpus, out = build(tmp_path / "tiny"), tmp_path / "run"
    draw = corpus / "draws/seed-0/40.json"
    assert (
        "250.json: no such file; there are: 40; e.g. --labelled 40; or run `conjoin ingest`"
        in refusal(InputError, corpus, out, labelled=250)
    )
    empty = corpus / "nothing"
    assert "nothing: no such folder of candidates; name a corpus folder" in refusal(
        InputError, corpus, out, candidates=empty
    )
    assert "no such model folder" in refusal(ModelError, corpus, out, encoder="models/none")
    for name in ("a/b", "a\x1b[1mb", "x" * 201):
        assert "names a folder" in refusal(SettingsError, corpus, out, system=name)
    assert "the loss is" in refusal(ModelError, corpus, out, mode="baseline", learning_rate=1e30)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file/run: cannot write here"):
        train.run(settings(corpus, out=tmp_path / "file/run"))
    file = corpus / "sentences.parquet"
    good = read_json(draw)
    write_json(draw, good | {"validation": []})
    assert "nothing in the validation" in refusal(InputError, corpus, out)
    write_json(draw, good | {"validation": good["labelled"][:3]})
    assert "the draw has a validation sentence in L (sentence s0)" in refusal(
        InputError, corpus, out
    )
    rows = [sentence_row(sentence(n)) for n in range(64)]
    k = rows[50]["coordinations"][0]["coordinator"]
    write_json(draw, good)
    for key, value, fault in (
        ("coordinator", 99, "coordinator 99 of"),
        ("coordinator", 0, "word 0 is"),
        ("conjuncts", [{"start": 0, "end": k}, {"start": k + 1, "end": 99}], "-99 of"),
        ("conjuncts", [{"start": k + 1, "end": k + 2}, {"start": 0, "end": k}], "conjunct 0-"),
        ("conjuncts", [{"start": 0, "end": k + 1}], "contains its coordinator"),
    ):
        rows[50] = sentence_row(sentence(50))
        rows[50]["coordinations"][0][key] = value
        write_rows(corpus / "sentences.parquet", SENTENCES, rows)
        message = refusal(InputError, corpus, out)
        assert "the words disagree with the annotation: " in message
        assert fault in message
        assert "(sentence s50)" in message
    rows[50] = sentence_row(sentence(50))
    write_rows(file, SENTENCES, [*rows, sentence_row(sentence(70, "test"))])
    write_json(draw, good | {"labelled": ["s70"]})
    assert "not in the training split (sentence s70)" in refusal(InputError, corpus, out)
    write_json(draw, good | {"labelled": []})
    assert "no labelled sentence" in refusal(InputError, corpus, out)
    for wrong in ([], {"labelled": 3}, {**good, "labelled": [3]}, {"labelled": ["s1"]}):
        write_json(draw, wrong)
        assert "40.json: not as conjoin writes it: " in refusal(InputError, corpus, out)
    draw.write_text("{")
    assert "40.json:1: not JSON" in refusal(InputError, corpus, out)


def test_what_tables_call_a_run_makes_no_finished_run_stale(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other fields of a system are written into run.json without training, and settings are not."""
    out = tmp_path / "run"
    train.run(settings(corpus, mode="baseline", steps=20, warm_steps=10, out=out))
    before, card = digest(out), read_json(out / "run.json")
    assert card["shown_as"] == {}
    assert ["steps", 10000] in card["paper"]["unlike"]
    assert {"k", "k_max"} <= set(card["paper"]["alike"])
    with monkeypatch.context() as patch:
        patch.setattr(train, "algorithm1", None)  # to be called is to fail
        for fields in ({"generator": "none"}, {"generator": "none", "caption": "b"}, {}):
            given = {"mode": "baseline", "steps": 20, "warm_steps": 10, "out": out, "resume": True}
            train.run(settings(corpus, **given, system="zug", **fields))
            named = {"system": "zug", "shown_as": fields}
            assert read_json(out / "run.json") == card | named
            unchanged = {k: v for k, v in digest(out).items() if k != "run.json"}
            assert unchanged == {k: v for k, v in before.items() if k != "run.json"}


def test_a_finished_run_learns_what_its_candidates_rest_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that they got since is written without training; a damaged one costs none."""
    place = Path(shutil.copytree(corpus / "candidates/t5-sync/seed-0", tmp_path / "known"))
    others = {"corpus": "gum", "part": "others", "ids": "x", "sentences": 9, "trees": 9}
    given = {"steps": 4, "warm_steps": 2, "eval_every": 2, "candidates": place}
    out = tmp_path / "run"
    train.run(settings(corpus, **given, out=out))
    assert "unknown" in {part["part"] for part in read_json(out / "run.json")["annotation"]}
    write_json(place / "manifest.json", {"annotation": [others]})
    monkeypatch.setattr(train, "algorithm1", None)  # to be called is to fail
    train.run(settings(corpus, **given, out=out, resume=True))
    found = read_json(out / "run.json")["annotation"]
    assert others in found
    assert "unknown" not in {part["part"] for part in found}
    (place / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="manifest"):
        train.run(settings(corpus, **given, out=tmp_path / "new"))


def test_predict_prints_brackets(
    runs: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each coordinator of a file gets a line; what has none is shown with the reason."""
    text = tmp_path / "text.txt"
    text.write_text(
        "we saw cats and dogs near it\n\nAnd we saw fish.\n" + "here and " * 30 + "here\n"
    )
    predictor = runs("baseline") / "predictor"
    capsys.readouterr()  # of its training
    predict.run(PredictSettings(predictor=predictor, text=text))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 1
    sentence_, word, probability = lines[0].split("\t")
    assert (sentence_, word) == ("we saw [cats] and [dogs] near it", "and")
    assert 0.3 < float(probability) <= 1
    assert lines[1] == "And we saw fish .\tAnd\tcoordinator at the edge of the sentence"
    assert lines[2].endswith("\t-\tsentence longer than the encoder")


def test_predict_names_bad_text(runs: Callable[[str], Path], tmp_path: Path) -> None:
    """A missing, an empty and a binary file are one line each."""
    for name, content, message in (
        ("empty", b"\n \n", "no sentence here"), ("binary", b"\xff\xfe", "not UTF-8 text"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            predict.run(
                PredictSettings(predictor=runs("baseline") / "predictor", text=tmp_path / name)
            )
    with pytest.raises(InputError, match="no such file"):
        predict.run(
            PredictSettings(predictor=runs("baseline") / "predictor", text=tmp_path / "none")
        )


def test_candidates_of_the_corpus_are_recorded_as_such_however_they_are_named(
    tmp_path: Path,
) -> None:
    """By a path with steps back: later stages look for them in the corpus."""
    corpus = build(tmp_path / "tiny")
    (tmp_path / "x").mkdir()
    named = tmp_path / "x/../tiny/candidates/t5-sync/seed-0"
    given = {"mode": "no-filter", "candidates": named, "steps": 1}
    train.run(settings(corpus, out=tmp_path / "run", **given))
    recorded = read_json(tmp_path / "run/run.json")["settings"]
    assert recorded["candidates"] == "candidates/t5-sync/seed-0"


def test_what_tables_call_a_run_is_one_line(tmp_path: Path) -> None:
    """A block of YAML ends in a line break, which is no part of it; one within is refused."""
    assert settings(tmp_path, caption="copied once\n").caption == "copied once"
    with pytest.raises(ValueError, match="must be one line of text"):
        settings(tmp_path, caption="copied\nonce")
