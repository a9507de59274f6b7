"""`conjoin repro`: DVC's cells in order, several at a time, timed, resumed, and clear when one fails."""

import shutil
from pathlib import Path

import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import CellError, InputError, SettingsError
from pipeline.experiments.cells import Cell, check_texts
from pipeline.experiments.durations import TIMES
from pipeline.experiments.grid import grid
from pipeline.experiments.repro.command import run
from pipeline.experiments.repro.settings import ReproSettings

DVC = """\
stages:
  ingest:
    cmd: echo raw > a.txt
    outs: [a.txt]
  train:
    matrix: {seed: [0, 1]}
    cmd: >-
      cat a.txt > b${item.seed}.txt;
      if test -e stop${item.seed}; then echo "conjoin: seed ${item.seed} broke"; exit 2; fi
    deps: [a.txt]
    outs: ["b${item.seed}.txt"]
  report:
    cmd: cat b0.txt b1.txt > c.txt
    deps: [b0.txt, b1.txt]
    outs: [c.txt]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A DVC project of four cells, without git."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    (tmp_path / "dvc.yaml").write_text(DVC)
    return tmp_path


@pytest.mark.long
def test_cells_run_in_order_and_only_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything is made and timed; a second call runs nothing; a failure is named and resumed."""
    (project / "stop1").touch()
    with pytest.raises(
        CellError, match=r"train@1 failed: seed 1 broke; its log is data.*train@1\.log"
    ):
        run(ReproSettings(jobs=2))
    assert not (project / "c.txt").exists()
    (project / "stop1").unlink()
    run(ReproSettings(jobs=2))
    assert (project / "c.txt").read_text() == "raw\nraw\n"
    times = read_json(project / TIMES)
    assert {"train@1", "report"} <= times.keys()
    assert times["report"]["stage"] == "report"
    assert times["report"]["cpu_seconds"] > 0
    shown = capsys.readouterr().out
    assert "Time by stage" in shown
    assert "GiB of memory at once" in shown
    run(ReproSettings(jobs=2, skip="b0"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    counts = {line[0]: (line[2], line[4]) for line in lines if len(line) > 4 and line[1] == "│"}
    assert counts["ingest"] == ("0", "1")
    assert counts["train"] == ("0", "1")


def test_what_cannot_be_run_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad expression, one that leaves nothing, no pipeline: one line each."""
    with pytest.raises(SettingsError, match=r"repro.skip = '\('"):
        run(ReproSettings(skip="("))
    with pytest.raises(SettingsError, match="leaves no cell"):
        run(ReproSettings(skip="."))
    (project / "dvc.yaml").write_text("stages: [")
    with pytest.raises(InputError, match="no usable DVC pipeline"):
        run(ReproSettings())
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    shutil.rmtree(project / ".dvc")
    with pytest.raises(InputError, match="no usable DVC pipeline"):
        run(ReproSettings())


def test_missing_raw_text_is_reported_before_anything_runs(project: Path) -> None:
    """The line says where to put what, and how to do without; a folder without text is as good as none."""
    (project / "dvc.yaml").write_text(
        "stages:\n  ingest:\n    cmd: echo > a.txt\n    outs: [a.txt]\n  pretrain:\n"
        "    cmd: conjoin pretrain data/genia --lm t5-x --params params.yaml\n    deps: [a.txt]\n"
    )
    (project / "params.yaml").write_text("pretrain: {genia: {texts: [raw/text]}}\n")
    for name in ("", "README.md", "more/text.txt"):
        with pytest.raises(
            InputError,
            match=r"raw/text: no raw text .* \(pretrain.genia.texts\); put .txt, .*genia.texts=\[\]'",
        ):
            run(ReproSettings(jobs=1))
        (project / "raw/text/more").mkdir(parents=True, exist_ok=True)
        (project / "raw/text" / name).touch()
    assert not (project / "a.txt").exists()
    with grid(ReproSettings()) as (_, cells, _):
        check_texts(cells)
    with grid(ReproSettings(skip="conjoin pretrain")) as (_, cells, _):
        check_texts(cells)


def test_raw_text_is_asked_for_only_where_it_is_read(project: Path) -> None:
    """Not for twins, a ready model, or a section whose own texts are none."""
    models = ("t5-twins --objective twins --base models/t5", "t5-more", "t5-hub", "t5")
    command = "conjoin pretrain data/genia --lm {} --params params.yaml"
    cells = [Cell(f"pretrain@{m}", command.format(m), frozenset()) for m in models]
    (project / "params.yaml").write_text(
        "pretrain: {genia: {texts: [raw/text], t5-more: {texts: []}, t5-hub: {ready: google-t5/t5-base}}}"
    )
    check_texts(cells[:3])
    with pytest.raises(InputError, match="no raw text"):
        check_texts(cells)


@pytest.mark.long
def test_settings_of_one_run_are_put_back(project: Path) -> None:
    """`--set` is what the cells see, and params.yaml is its old self afterwards; typos are refused."""
    (project / "params.yaml").write_text("word: {is: old}  # a comment\n")
    (project / "dvc.yaml").write_text(
        "stages:\n  ingest:\n    cmd: echo ${word.is} > a.txt\n    outs: [a.txt]\n"
    )
    run(ReproSettings(jobs=1, set=["word.is=new"]))
    assert (project / "a.txt").read_text() == "new\n"
    assert (project / "params.yaml").read_text() == "word: {is: old}  # a comment\n"
    for wrong in ("word.is.it=1", "word.is", "ward.is=1"):
        with pytest.raises(SettingsError, match="no such place"):
            run(ReproSettings(jobs=1, set=[wrong]))
    for wrong, meant in (("wort=1", "did you mean 'word'"), ("seed=[0]", "did you mean 'seeds'")):
        with pytest.raises(SettingsError, match=f"no section of .*{meant}.*lists are corpora"):
            run(ReproSettings(jobs=1, set=[wrong]))
    assert (project / "params.yaml").read_text() == "word: {is: old}  # a comment\n"


REDONE = """\
stages:
  train:
    matrix: {seed: [0, 1]}
    cmd: echo run > b${item.seed}.txt; echo train${item.seed} >> log.txt
    deps: [a.txt]
    outs: [OUTS]
  report:
    cmd: cat b0.txt b1.txt > c.txt; echo report >> log.txt
    deps: [b0.txt, b1.txt]
    outs: [c.txt]
"""


@pytest.mark.parametrize("persist", [False, True])
@pytest.mark.long
def test_after_a_run_is_deleted_only_it_is_redone(project: Path, persist: bool) -> None:
    """What it feeds is not run again; an out that does not persist even comes from the run cache."""
    again = ["train1"] if persist else []
    (project / "a.txt").write_text("a")
    out = "b${item.seed}.txt" + (": {persist: true}" if persist else "")
    (project / "dvc.yaml").write_text(REDONE.replace("[OUTS]", f"\n      - {out}"))
    run(ReproSettings(jobs=2))
    made = (project / "log.txt").read_text().split()
    assert sorted(made) == ["report", "train0", "train1"]
    (project / "b1.txt").unlink()
    with grid(ReproSettings()) as (pipeline, cells, _):
        stale = {cell.name for cell in pipeline.stale(cells)}
    assert stale == ({"train@1", "report"} if again else set())
    run(ReproSettings(jobs=2))
    assert (project / "b1.txt").read_text() == "run\n"
    assert (project / "log.txt").read_text().split()[3:] == again
    (project / "a.txt").write_text("b")
    with grid(ReproSettings()) as (pipeline, cells, _):
        assert len(pipeline.stale(cells)) == 3


GROWS = """\
stages:
  ingest:
    cmd: echo all > all.txt; true --labelled ${sizes}
    params: [ingest.size]
    outs: [all.txt]
  train:
    cmd: mkdir -p b; echo b > b/weights; date +%N > b/timing.json
    deps: [all.txt]
    outs: [b]
  report:
    cmd: cat b/weights > c.txt; echo report >> log.txt
    deps: [b]
    outs: [c.txt]
"""


def test_a_grown_grid_makes_stale_only_what_it_adds(project: Path) -> None:
    """Other sizes of L, which a command names, leave the corpus as it is; other settings may change it."""
    (project / "dvc.yaml").write_text(GROWS)
    (project / "params.yaml").write_text("sizes: 1\ningest: {size: 1}\n")
    run(ReproSettings(jobs=1))
    for pair, expected in (
        ("sizes=2", {"ingest"}),
        ("ingest.size=2", {"ingest", "train", "report"}),
    ):
        with grid(ReproSettings(set=[pair])) as (pipeline, cells, _):
            assert {cell.name for cell in pipeline.stale(cells)} == expected


@pytest.mark.long
def test_how_long_a_run_took_is_no_part_of_it(project: Path) -> None:
    """A run redone with the same weights makes nothing after it stale, by the project's .dvcignore."""
    shutil.copy(Path(__file__).resolve().parents[2] / ".dvcignore", project)
    persistent = GROWS.replace("outs: [b]", "outs: [{b: {persist: true}}]")
    (project / "dvc.yaml").write_text(persistent)
    (project / "params.yaml").write_text("sizes: 1\ningest: {size: 1}\n")
    run(ReproSettings(jobs=1))
    shutil.rmtree(project / "b")
    run(ReproSettings(jobs=1))
    assert (project / "b/timing.json").is_file()
    assert (project / "log.txt").read_text() == "report\n"
