"""Commands and pipelines that are none: one line each."""

from pathlib import Path

import pytest

from pipeline.core.errors import InputError, SettingsError
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.experiments.cells import Cells, settings_of
from pipeline.experiments.grid import grid
from pipeline.experiments.plan.settings import PlanSettings


@pytest.mark.parametrize(
    "command", ["conjoin evaluate 'x", "conjoin evaluate x y", "conjoin evaluate x --limit"]
)
def test_a_command_that_is_none_is_named(command: str) -> None:
    """Half a quote, a word too many, an option without its value."""
    with pytest.raises(SettingsError, match="not a command of conjoin's: conjoin evaluate"):
        settings_of(command, EvaluateSettings)


def test_an_option_may_have_its_value_behind_a_sign() -> None:
    """As the command line takes it, and as browse prints it."""
    settings = settings_of(
        "conjoin evaluate x --split=dev --limit=3 --parser=a=b", EvaluateSettings
    )
    assert (settings.split, settings.limit, settings.parser) == ("dev", 3, ["a=b"])


def project(folder: Path, stages: str) -> None:
    """A DVC project without git."""
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    (folder / "dvc.yaml").write_text(stages)


def test_what_is_only_tracked_is_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`dvc add` gives a stage without a command, which others may need."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path, "stages:\n  a:\n    cmd: cat raw > out\n    deps: [raw]\n    outs: [out]\n")
    (tmp_path / "raw").write_text("x")
    (tmp_path / "raw.dvc").write_text(
        "outs:\n- path: raw\n  hash: md5\n  md5: 9dd4e461268c8034f5c8564e155c67a6\n"
    )
    (cell,) = Cells().all
    assert (cell.name, cell.needs) == ("a", frozenset())


def test_a_cell_without_its_input_keeps_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be made again, so nothing is removed before that is said."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path, "stages:\n  a:\n    cmd: cat raw > out\n    deps: [raw]\n    outs: [out]\n")
    (tmp_path / "raw").write_text("x")
    pipeline = Cells()
    (cell,) = pipeline.all
    assert pipeline.begin(cell)
    (tmp_path / "out").write_text("x")
    pipeline.finish(cell)
    assert not pipeline.begin(cell)
    (tmp_path / "raw").unlink()
    with pytest.raises(InputError, match="an input of a is missing"):
        Cells().begin(cell)
    assert (tmp_path / "out").read_text() == "x"


def test_many_cells_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DVC reads some sixty a second, and says nothing meanwhile."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path, "stages: {}\n")
    for cells, announced in ((500, False), (501, True)):
        (tmp_path / "cells.yaml").write_text("- a\n" * cells)
        Cells()
        assert ("501 cells" in capsys.readouterr().out) == announced


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ("stages: {a: {cmd: [x, y]}}", "stage a: several commands; join them with &&"),
        ("[" * 3000, "no usable DVC pipeline: dvc.yaml"),
        ("a: 2026-99-99", "no usable DVC pipeline: dvc.yaml: a value cannot be read"),
    ],
)
def test_a_pipeline_that_is_none_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: str, said: str
) -> None:
    """DVC would show its own traceback, or read without end."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path, stages)
    with pytest.raises(InputError, match=said), grid(PlanSettings()):
        pass
