"""A second task is a room of its own and a line: training, variants and evaluation take it as it is."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import tiny
from tasks.marking import ANIMALS, MarkedRows, MarkingTask  # type: ignore[import-not-found]

from pipeline.cli import app
from pipeline.core.corpus_folder import ingest_output
from pipeline.core.documents import read_json
from pipeline.core.errors import SettingsError
from pipeline.core.files import FileFacts, write_json
from pipeline.core.parquet import write_rows
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.tasks import known
from pipeline.train import stage as train
from pipeline.train.settings import TrainSettings

FILLERS = ["we", "saw", "near", "with", "today", "it", "was", "here"]


def words(number: int) -> tuple[tuple[str, ...], int]:
    """A sentence with one animal in it, and which."""
    draw = random.Random(number)
    animal = draw.randrange(len(ANIMALS))
    found = draw.choices(FILLERS, k=draw.randint(3, 7))
    found.insert(draw.randrange(len(found)), ANIMALS[animal])
    return tuple(found), animal


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of notes: 30 in L, 20 to validate, 40 to test, and 40 candidates, every fourth wrong."""
    task = MarkingTask()
    monkeypatch.setattr(known, "TASKS", {**known.TASKS, task.name: task})
    monkeypatch.setattr(train, "TASKS", known.TASKS)
    folder = tiny.build(tmp_path / "tiny")
    notes = []
    for n in range(90):
        text, animal = words(n)
        notes.append({"sentence_id": f"n{n}", "split": "train" if n < 50 else "test", "words": list(text),
                      "animal": animal})  # fmt: skip
    (folder / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    ids = [str(note["sentence_id"]) for note in notes]
    write_json(
        folder / "draws/seed-0/30.json",
        {"labelled": ids[:30], "validation": ids[30:50], "test": []},
    )
    files = [folder / "sentences.parquet", *folder.glob("draws/*/*.json")]
    facts = {file.relative_to(folder).as_posix(): FileFacts.of(file) for file in files}
    ingest_output(folder).finish(facts, {"task": task.name})
    rows = []
    for n in range(40):
        text, animal = words(1000 + n)
        answer = (animal + (n % 4 == 0)) % len(ANIMALS)
        rows.append({"candidate_id": f"c{n}", "sentence_id": f"u{n}", "words": list(text), "animal": answer,
                     "label": ANIMALS[answer]})  # fmt: skip
    write_rows(
        folder / "candidates/made/candidates-00000-of-00001.parquet", MarkedRows.columns, rows
    )
    return folder


def settings(corpus: Path, **given: Any) -> TrainSettings:
    usual = {
        "candidates": corpus / "candidates/made",
        "labelled": "30",
        "steps": 40,
        "warm_steps": 20,
        **{name: TrainSettings.model_fields[name].default for name in ("mlp_hidden", "dropout")},
    }
    return tiny.settings(corpus, **usual | given)


def test_it_learns_filters_and_is_evaluated(corpus: Path) -> None:
    """Algorithm 1 with δ, a baseline with variants; what is examined, and macro-F1 with its interval."""
    train.run(settings(corpus))
    train.run(settings(corpus, mode="baseline", augment="mask", system="masked"))
    scored = pq.read_table(corpus / "runs/filter/30/seed-0/scored.parquet").to_pylist()
    assert {"step", "candidate_id", "label", "animal", "probability", "accepted"} == set(scored[0])
    accepted = [row for row in scored if row["accepted"]]
    assert 0 < len(accepted) < len(scored)
    evaluate.run(EvaluateSettings(corpus=corpus))
    metrics = read_json(corpus / "evaluation/metrics.json")
    assert {row["system"] for row in metrics["runs"]} == {"filter", "masked"}
    for row in metrics["runs"]:
        assert 0.5 < row["accuracy"]["overall"] <= 1
        assert row["criteria"] == {}
    assert metrics["instances"] == {"overall": 40}
    card = read_json(corpus / "runs/filter/30/seed-0/run.json")
    assert card["best_validation_accuracy"] > 0.5


def test_options_of_another_task_are_refused(corpus: Path) -> None:
    """Each in one line that names the task."""
    with pytest.raises(SettingsError, match="a corpus of marking has no --brackets"):
        train.run(settings(corpus, mode="baseline", brackets=1.0))
    with pytest.raises(SettingsError, match="a corpus of marking has no --augment substitute"):
        train.run(settings(corpus, mode="baseline", augment="substitute"))
    train.run(settings(corpus, mode="baseline"))
    with pytest.raises(SettingsError, match=r"of marking, and parsers .*; evaluate it without --p"):
        evaluate.run(EvaluateSettings(corpus=corpus, parser=["corpus"]))


def test_resuming_is_the_same_run(corpus: Path) -> None:
    """What is finished stays so, and a second run has the same weights."""
    for out in ("one", "two"):
        train.run(settings(corpus, out=corpus / out))
    assert tiny.digest(corpus / "one") == tiny.digest(corpus / "two")
    assert np.isfinite(read_json(corpus / "one/run.json")["best_validation_loss"])


@pytest.mark.parametrize("command", ["generate", "harvest", "audit", "preparse"])
def test_what_is_for_coordination_alone_refuses_the_corpus(
    corpus: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names the task, before anything of the corpus is read."""
    lm = ("--lm", "t5") if command == "generate" else ()
    with pytest.raises(SystemExit) as ended:
        app([command, str(corpus), *lm])
    assert ended.value.code == 2
    assert "one of the task 'marking'" in capsys.readouterr().err
