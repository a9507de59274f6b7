"""The study benchmarks/questions: its queue, what is kept of its runs, and its tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from tasks.questions import quiz  # type: ignore[import-not-found]

from benchmarks import said
from benchmarks.questions import bands_study as study
from benchmarks.questions.questions_tables import EVALUATION
from benchmarks.units import done_file
from pipeline.cli import app
from pipeline.core.corpus_folder import QUESTIONS_FILE, ingest_output
from pipeline.core.files import FileFacts
from pipeline.core.parquet import write_rows
from pipeline.core.questions import QUESTION_ROWS, question_row

CORPUS = Path("data/study/world-questions")


def options(*more: str) -> Any:
    return study._options(["units", "--corpus", str(CORPUS), *more])


def test_what_a_unit_needs_stands_before_it_and_is_done_once() -> None:
    units = list(study.every_unit(options("--seeds", "0", "1")))
    known: set[str] = set()
    for unit in units:
        assert known.issuperset(unit.needs), unit
        known.add(unit.name)
    assert len(known) == len(units) == len({unit.command for unit in units})
    assert len({done_file(CORPUS, unit) for unit in units}) == len(units)


def test_a_seed_more_leaves_what_is_done_as_it_is() -> None:
    few, more = (list(study.every_unit(options("--seeds", *s))) for s in (["0"], ["0", "1"]))
    assert set(few) < set(more)


def test_parts_are_made_alone() -> None:
    names = {
        part: {u.name for u in study.every_unit(options("--parts", part))}
        for part in ("gains", "reuse")
    }
    assert not any("reuse" in name or "default" in name for name in names["gains"])
    assert "train reuse-5 choices-only seed-9" in names["reuse"]
    assert not any("no-upper" in name or "pseudo" in name for name in names["reuse"])


@pytest.mark.parametrize("scale", study.SCALES)
def test_each_band_lacks_one_bound_of_the_default(scale: str) -> None:
    made = study.data_sets((scale,), ("bands", "reuse"))
    default = made.pop(f"{scale}default")
    assert len(made) == 5
    for name, own in made.items():
        changed = [(a, b) for a, b in zip(default, own, strict=False) if a != b]
        assert len(changed) == (0 if name.endswith("reuse-5") else 1)
    assert study.SCALES[""].options("lower-context")[-2:] == (
        "--choice-band=0.4-0.6", "--context-band=-0.7",
    )  # fmt: skip


def test_every_command_is_one_of_conjoin() -> None:
    group: Any = typer.main.get_command(app)
    for unit in study.every_unit(options("--seeds", "0", "--sentences", "300")):
        name, *rest = unit.command
        group.commands[name].make_context(name, rest)  # an option that there is not is an error


def kept(folder: Path, events: range, said_by: dict[str, list[str]]) -> None:
    """A corpus of four-choice questions of these event pairs, and what models chose of each by seed."""
    questions = [
        replace(
            quiz.question(3 * n + 1, "test"), question_id=f"q{n}", events=f"a{n} → b{n}", answer=0
        )
        for n in events
    ]
    write_rows(folder / QUESTIONS_FILE, QUESTION_ROWS, map(question_row, questions))
    file = folder / QUESTIONS_FILE
    card = {"reader": "asked", "name": folder.name, "task": "questions"}
    ingest_output(folder).finish({QUESTIONS_FILE: FileFacts.of(file)}, card)
    digest = EVALUATION.digest(questions)
    lines: list[Any] = [{"split": "test", "digest": digest, "senses": []}]
    lines += [
        {"system": system, "seed": seed, "steps": 1, "synthetic": 0, "said": chosen}
        for system, runs in said_by.items()
        for seed, chosen in enumerate(runs)
    ]
    path = said.file_of(folder)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_bands_are_compared_on_event_pairs_that_both_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(said, "FOLDER", tmp_path)
    corpus = tmp_path / "small"
    half = ["0" * 20 + "1" * 20, "0" * 20 + "1" * 20]
    kept(
        study.folder_of(corpus, "default"),
        range(40),
        {"baseline": half, "choices-only": ["1" * 40]},
    )
    # Of the 20 pairs that both have it gets 10 right where the default gets none.
    kept(study.folder_of(corpus, "no-upper-choice"), range(20, 60), {"baseline": ["01" * 20] * 2})
    study.print_data_sets(corpus, "")
    default, hard = capsys.readouterr().out.splitlines()[-3:-1]
    assert default == "| default | 40 | 2 | 50.0 ± 0.0 | 40 |  |  | 0.0 |"
    name, count, seeds, accuracy, common, gain, *_ = (c.strip() for c in hard.strip("|").split("|"))
    assert (name, count, seeds, accuracy, common) == (
        "no-upper-choice",
        "40",
        "2",
        "50.0 ± 0.0",
        "20",
    )
    assert gain.startswith("**+50.00 [")
