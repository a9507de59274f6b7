"""Confusions: the thesis's Table 4.4, ties, several senses, and what `diagnose` writes."""

import json
from pathlib import Path

import numpy as np
import pytest
from tasks.relations import pairwise  # type: ignore[import-not-found]

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.experiments.diagnose import command as diagnose
from pipeline.experiments.diagnose.settings import DiagnoseSettings
from pipeline.tasks.relations.confusions import Confusion, confusions, largest
from pipeline.tasks.relations.model import RelationModel
from pipeline.train import stage as train

SHARED = Path(__file__).resolve().parents[4] / "shared"


def test_the_largest_cells_are_those_of_table_4_4() -> None:
    """Of the run that the thesis shows; the fifth wins a tie by the lower column."""
    path = SHARED / "data/idrr-confusions/confusions.json"
    if not path.exists():
        pytest.skip("needs ../shared, which is not part of the repository")
    document = json.loads(path.read_text())
    matrix = np.array(document["matrices"]["roberta-base_2_2e-05"])
    found = largest(matrix, document["senses"], 6)
    assert [(c.true, c.predicted, c.errors, c.there) for c in found] == [
        ("Contingency.Cause+Belief", "Contingency.Cause", 6, 13),
        ("Temporal.Synchronous", "Expansion.Conjunction", 13, 33),
        ("Expansion.Equivalence", "Contingency.Cause", 8, 25),
        ("Expansion.Substitution", "Contingency.Cause", 10, 32),
        ("Expansion.Equivalence", "Comparison.Concession", 5, 25),
        ("Expansion.Equivalence", "Expansion.Level-of-detail", 5, 25),
    ]


def test_a_prediction_that_is_one_of_the_senses_is_right_for_all() -> None:
    """Else each sense is taken for it; what is said of nothing, and unknown senses, are left out."""
    right = [("a",), ("a",), ("a", "b"), ("a", "b"), ("b",), ("c", "d"), ("c",)]
    said = ["a", "b", "b", "c", None, "a", "d"]
    matrix = confusions(right, said, ("a", "b", "c"))
    assert matrix.tolist() == [[2, 1, 1], [0, 1, 1], [1, 0, 0]]


def test_few_errors_are_no_confusion_and_ties_go_by_row_and_column() -> None:
    """A high share of a rare sense is passed over; the diagonal is none."""
    matrix = np.array([[10, 5, 5], [4, 4, 4], [2, 0, 0]])
    assert [(c.true, c.predicted) for c in largest(matrix, "abc", 9)] == [
        ("b", "a"), ("b", "c"), ("a", "b"), ("a", "c"),
    ]  # fmt: skip
    assert largest(matrix, "abc", 1, 1) == [Confusion("c", "a", 2, 2)]
    assert largest(np.zeros((2, 2), dtype=int), "ab", 3, 1) == []


def test_diagnose_writes_the_confusions_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The matrix of the validation pairs, its largest cells; no folds, and no other run's file."""
    corpus = pairwise.build(tmp_path / "small")
    for name in ("vanilla", "other"):
        train.run(pairwise.settings(corpus, mode="baseline", system=name, steps=4, warm_steps=0))
    run = corpus / "runs/vanilla/36/seed-0"
    with pytest.raises(SettingsError, match="a corpus of relations has no --folds"):
        diagnose.run(DiagnoseSettings(run=run, folds=3))
    diagnose.run(DiagnoseSettings(run=run, least_errors=1))
    printed = capsys.readouterr().out
    path = corpus / "diagnosis/vanilla-36-0/confusions.json"
    found = read_json(path)
    assert found["senses"] == list(pairwise.SENSES)
    assert np.sum(found["matrix"]) == 18
    assert [sum(row) for row in found["matrix"]] == [9, 6, 3]
    wrong = np.sum(found["matrix"]) - np.trace(found["matrix"])
    assert 0 < sum(cell["errors"] for cell in found["largest"]) <= wrong
    assert all(cell["true"] in printed for cell in found["largest"])
    parts = [
        (part["part"], part.get("use", "learned"), part["pairs"]) for part in found["annotation"]
    ]
    assert parts == [("labelled", "learned", 36), ("validation", "chosen", 18)]
    diagnose.run(DiagnoseSettings(run=run))  # again: its own file is made anew
    with pytest.raises(InputError, match="the confusions of another run are here"):
        diagnose.run(DiagnoseSettings(run=corpus / "runs/other/36/seed-0", out=path.parent))


def run_of(corpus: Path, system: str, senses: tuple[str, ...] = pairwise.SENSES) -> Path:
    """A run of a draw whose model was never trained."""
    run = corpus / "runs/vanilla/36/seed-0"
    RelationModel.create(str(corpus / "models/bert"), senses, seed=0).save(run / "predictor")
    card = {"system": system, "mode": "baseline", "labelled": 36, "seed": 0, "draw": "36"}
    write_json(run / "run.json", card)
    return run


@pytest.mark.parametrize("system", ["../../../evil", "a/b", "\x1b[1mx", ".x", ""])
def test_a_run_cannot_name_a_folder_elsewhere(tmp_path: Path, system: str) -> None:
    """Its system is a part of the name of the folder that is written."""
    run = run_of(pairwise.build(tmp_path / "there/small"), system)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"run\.json: .* system: names a folder"):
        diagnose.run(DiagnoseSettings(run=run, least_errors=1))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_model_of_another_corpus_is_refused(tmp_path: Path) -> None:
    """It tells senses that the pairs do not have, and would be right or wrong about none of them."""
    run = run_of(pairwise.build(tmp_path / "small"), "vanilla", ("expansion.manner", "expansion.x"))
    with pytest.raises(InputError, match="tells no sense of this pair: expansion"):
        diagnose.run(DiagnoseSettings(run=run, least_errors=1))
