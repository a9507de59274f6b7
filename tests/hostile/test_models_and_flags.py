"""Hostile flags and model folders: a line each, no trace, nothing that waits for ever.

More of them: CONJOIN_HOSTILE=5000 pytest tests/hostile/test_models_and_flags.py
"""

import os
from pathlib import Path

import pytest
from hostile import flags, model_folders
from hostile.case import run_all

from pipeline.tasks.coordination.model import CoordinationPredictor

MORE = int(os.environ.get("CONJOIN_HOSTILE", "0"))


def test_flags(tmp_path: Path) -> None:
    """A sample of all flags of all commands."""
    _, failed = run_all(flags.cases(MORE or 200, 0), tmp_path)
    assert not failed, "\n".join(failed[:20])


def test_model_folders(tmp_path: Path, tiny_bert: Path) -> None:
    """Damage of every kind to a predictor's and a language model's folder."""
    predictor = tmp_path / "predictor"
    CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).save(predictor)
    cases = model_folders.cases(MORE or 60, 0, predictor, tiny_bert)
    _, failed = run_all(cases, tmp_path / "cases")
    assert not failed, "\n".join(failed[:20])


@pytest.mark.parametrize("number", [0, 1, 7])
def test_a_case_is_a_function_of_its_number(tmp_path: Path, tiny_bert: Path, number: int) -> None:
    """So that one that fails can be made again."""
    made = []
    for copy in "ab":
        case = model_folders.cases(8, 3, tiny_bert, tiny_bert)[number]
        (tmp_path / copy).mkdir()
        case.make(tmp_path / copy)
        files = sorted(p for p in (tmp_path / copy).rglob("*") if p.is_file())
        made.append([(p.name, p.read_bytes()) for p in files])
    assert made[0] == made[1]
