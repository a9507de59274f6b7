"""Interrupted training ends as if it had not been: checkpoints, kills, and what is refused."""

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from tiny import build, digest, history, ingested, release, scored, settings

from pipeline.core import files
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.fingerprint import Fingerprint
from pipeline.executor.checkpoints import TrainingCheckpoints
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.learner import Learner

EVERYTHING = {
    "accept": "quantile", "encoder_rate": 0.5, "select": "average", "weight": 0.5,
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus folder."""
    return build(tmp_path_factory.mktemp("data") / "tiny")


def die_in(step: int) -> None:
    """Have this process kill itself in the middle of an update or validation of a step."""
    update = Learner.update

    def dying(self: Learner, *given: Any) -> None:
        before = self.step + 1 == step and step % 2
        if before:
            os.kill(os.getpid(), signal.SIGKILL)
        update(self, *given)
        if self.step == step:  # the weights have changed, and no checkpoint says so yet
            os.kill(os.getpid(), signal.SIGKILL)

    Learner.update = dying  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="corpus folder"),
        pytest.param(EVERYTHING, id="release folder", marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_kills_at_random_steps_change_nothing(
    corpus: Path, tmp_path: Path, forks: Any, given: dict[str, Any]
) -> None:
    """Weights, history and accepted ids are those of the uninterrupted run, bit for bit."""
    usual = {"checkpoint_every": 4, "eval_every": 5, **given}
    if given:
        usual["candidates"] = release(corpus, tmp_path / "release")
    train.run(settings(corpus, out=tmp_path / "whole", **usual))
    killed = settings(corpus, out=tmp_path / "killed", resume=True, **usual)
    steps = sorted(random.Random(7).sample(range(2, 60), 4))
    for step in steps:

        def work(step: int = step) -> None:
            die_in(step)
            train.run(killed)

        assert forks.end(forks.start(work)) == -signal.SIGKILL
    train.run(killed)
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")
    assert history(tmp_path / "killed") == history(tmp_path / "whole")
    assert any(row["accepted"] for row in scored(tmp_path / "killed"))
    assert not (tmp_path / "killed" / "checkpoints").exists()


@pytest.mark.long
def test_kills_change_nothing_of_what_brackets_teach(tmp_path: Path, forks: Any) -> None:
    """A checkpoint holds the head and its moments: without them the encoder would learn otherwise."""
    corpus = build(tmp_path / "tiny", trees=True)
    usual = {"checkpoint_every": 4, "brackets": 0.7, "accept": "relative"}
    train.run(settings(corpus, out=tmp_path / "whole", **usual))
    killed = settings(corpus, out=tmp_path / "killed", resume=True, **usual)
    for step in (10, 33, 50):

        def work(step: int = step) -> None:
            die_in(step)
            train.run(killed)

        assert forks.end(forks.start(work)) == -signal.SIGKILL
    train.run(killed)
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")
    assert history(tmp_path / "killed") == history(tmp_path / "whole")


@pytest.mark.long
@pytest.mark.parametrize("select", ["loss", "last", "average"])
def test_kills_change_no_choice_of_weights(
    corpus: Path, tmp_path: Path, forks: Any, select: str
) -> None:
    """Before, between and after the validations that count the predictor is the same to the bit."""
    usual = {"checkpoint_every": 3, "eval_every": 4, "select": select, "k": 4}
    train.run(settings(corpus, out=tmp_path / "whole", **usual))
    killed = settings(corpus, out=tmp_path / "killed", resume=True, **usual)
    for step in (29, 53):

        def work(step: int = step) -> None:
            die_in(step)
            train.run(killed)

        assert forks.end(forks.start(work)) == -signal.SIGKILL
    train.run(killed)
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")


@pytest.mark.long
def test_a_release_trains_as_its_corpus(
    corpus: Path, tmp_path: Path, whole: dict[str, str]
) -> None:
    """Shards and the order of rows make no difference to any byte but the source's name."""
    folder = release(corpus, tmp_path / "release")
    train.run(settings(corpus, candidates=folder, out=tmp_path / "run"))
    own = digest(tmp_path / "run")
    assert own.pop("run.json") != whole["run.json"]
    assert own == {name: value for name, value in whole.items() if name != "run.json"}


def interrupted(corpus: Path, out: Path, **given: Any) -> Path:
    """A run stopped at step 41 with checkpoints of steps 30 and 40; their folder."""

    def stop(step: int, _: object) -> None:
        if step == 41:
            raise KeyboardInterrupt

    update = Learner.update

    def stopping(self: Learner, *args: Any) -> None:
        update(self, *args)
        stop(self.step, None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "update", stopping)
        with pytest.raises(KeyboardInterrupt):
            train.run(settings(corpus, out=out, checkpoint_every=10, **given))
    folder = out / "checkpoints"
    assert sorted(p.name for p in folder.iterdir()) == ["step-00000030", "step-00000040"]
    return folder


@pytest.fixture(scope="module")
def whole(corpus: Path) -> dict[str, str]:
    """What an uninterrupted run writes."""
    train.run(settings(corpus, out=corpus / "whole"))
    return digest(corpus / "whole")


@pytest.mark.long
@pytest.mark.parametrize("window", ["fsync", "replace", "replaced"])
def test_a_kill_while_a_checkpoint_is_written(
    corpus: Path, tmp_path: Path, forks: Any, whole: dict[str, str], window: str
) -> None:
    """Half written, before and after the rename: the next run goes on from what is whole."""

    def work() -> None:
        sync, replace = files.os.fsync, files.os.replace
        calls = {"fsync": 0, "replace": 0}

        def now(name: str) -> bool:
            calls[name] += 1
            return calls[name] == {"fsync": 9, "replace": 9}[name]

        def dying_sync(handle: int) -> None:
            if window == "fsync" and now("fsync"):
                os.kill(os.getpid(), signal.SIGKILL)
            sync(handle)

        def dying_replace(source: Path, target: Path) -> None:
            die = window != "fsync" and now("replace")
            if die and window == "replace":
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)
            if die:
                os.kill(os.getpid(), signal.SIGKILL)

        files.os.fsync, files.os.replace = dying_sync, dying_replace  # type: ignore[attr-defined]
        train.run(settings(corpus, out=tmp_path, checkpoint_every=10))

    assert forks.end(forks.start(work)) == -signal.SIGKILL
    assert any((tmp_path / "checkpoints").glob("step-*"))
    train.run(settings(corpus, out=tmp_path, checkpoint_every=10, resume=True))
    assert digest(tmp_path) == whole


def flip(path: Path, bit: int) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= bit
    path.write_bytes(data)


def replace_by_file(path: Path) -> None:
    """A file where a checkpoint should be."""
    shutil.rmtree(path.parent)
    path.parent.write_text("")


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("tensors.pt", lambda path: flip(path, 1)),
        ("rows.parquet", Path.unlink),
        ("card.json", lambda path: flip(path, 1)),
        ("card.json", lambda path: flip(path, 0x80)),
        ("card.json", lambda path: path.write_text("[]")),
        ("card.json", replace_by_file),
    ],
)
def test_a_damaged_checkpoint_is_passed_over(
    corpus: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    damage: Callable[[Path], object],
) -> None:
    """The one before it is taken, and the damaged one is named."""
    folder = interrupted(corpus, tmp_path)
    damage(folder / "step-00000040" / file)
    checkpoints = TrainingCheckpoints(folder, Fingerprint(), 2)
    with pytest.raises(InputError, match=r"step-00000030: this checkpoint is of another run"):
        checkpoints.latest(torch.device("cpu"))
    if damage is not replace_by_file:
        assert [fault.split(":")[0] for fault in checkpoints.damaged] == ["step-00000040"]
    if file == "tensors.pt":
        train.run(settings(corpus, out=tmp_path, checkpoint_every=10, resume=True))
        printed = capsys.readouterr()
        assert "checkpoint passed over: step-00000040: tensors.pt: sha256 differs" in printed.err
        assert "resumed after step 30" in printed.out


@pytest.mark.long
def test_a_finished_run_is_known_again(
    corpus: Path, tmp_path: Path, whole: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """--resume leaves it alone; without it, with other settings or a file changed it is made again."""
    train.run(settings(corpus, out=tmp_path))
    capsys.readouterr()

    def said(**given: Any) -> bool:
        train.run(settings(corpus, out=tmp_path, **given))
        return "this very run is finished" in capsys.readouterr().out

    assert said(resume=True)
    assert digest(tmp_path) == whole
    flip(tmp_path / "scored.parquet", 1)
    assert not said(resume=True)
    assert digest(tmp_path) == whole
    assert not said(resume=True, steps=31)
    assert not said(steps=31)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"learning_rate": 0.02}, "learning_rate 0.01 → 0.02"),
        ({"delta": 0.5, "k": 4}, "delta 0.4 → 0.5"),
        ({"encoder": "models/other"}, "encoder models/bert → models/other"),
    ],
)
def test_another_runs_checkpoint_is_refused(
    corpus: Path, tmp_path: Path, given: dict[str, Any], named: str
) -> None:
    """The line names what differs, and nothing is lost; --no-resume starts over."""
    other = corpus / "models/other"
    if not other.exists():
        other.symlink_to(corpus / "models/bert")
    folder = interrupted(corpus, tmp_path)
    with pytest.raises(InputError, match="this checkpoint is of another run") as caught:
        train.run(settings(corpus, out=tmp_path, resume=True, **given))
    assert named in str(caught.value)
    assert str(folder / "step-00000040") in str(caught.value)
    assert len(list(folder.iterdir())) == 2


def test_changed_data_are_named(tmp_path: Path) -> None:
    """Other labelled sentences or other weights of the encoder make it another run too."""
    corpus = build(tmp_path / "tiny")
    interrupted(corpus, tmp_path / "run")
    path = corpus / "draws/seed-0/40.json"
    draw = read_json(path)
    write_json(path, {**draw, "labelled": draw["labelled"][::-1]})
    ingested(corpus)
    with pytest.raises(InputError, match="input labelled sentences changed;"):
        train.run(settings(corpus, out=tmp_path / "run", resume=True))
    write_json(path, draw)
    ingested(corpus)
    config = corpus / "models/bert/config.json"
    config.write_text(config.read_text() + "\n")
    with pytest.raises(InputError, match="model weights changed;"):
        train.run(settings(corpus, out=tmp_path / "run", resume=True))


@pytest.mark.long
def test_without_resume_it_starts_over(
    corpus: Path, tmp_path: Path, whole: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Old checkpoints are removed, whatever run they are of."""
    interrupted(corpus, tmp_path, learning_rate=0.02)
    train.run(settings(corpus, out=tmp_path))
    assert "resumed" not in capsys.readouterr().out
    assert digest(tmp_path) == whole


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    """The oldest go as new ones come; tensors and numbers come back as they were."""
    checkpoints = TrainingCheckpoints(tmp_path / "s", Fingerprint({"seed": 1}), keep=2)
    rows = pa.table({"a": [1, 2]})
    assert checkpoints.latest(torch.device("cpu")) is None
    for step in (5, 10, 15):
        checkpoints.write(step, ({"w": torch.tensor([step / 3])}, {"loss": step / 7}, rows))
    assert [p.name for p in sorted((tmp_path / "s").iterdir())] == [
        "step-00000010",
        "step-00000015",
    ]
    found = checkpoints.latest(torch.device("cpu"))
    assert found is not None
    assert found[0]["w"].equal(torch.tensor([5.0]))
    assert found[1] == {"loss": 15 / 7}
    assert found[2].equals(rows)


@pytest.mark.long
def test_a_team_is_killed_and_goes_on(
    corpus: Path, tmp_path: Path, start: Callable[..., list[int]], forks: Any
) -> None:
    """With every option: as a team never interrupted, and of another size it is another run."""
    usual = {"steps": 36, "checkpoint_every": 10, "resume": True, **EVERYTHING}

    def team(out: Path, kill: int | None = None) -> list[int]:
        def work() -> None:
            if kill:
                die_in(kill)
            train.run(settings(corpus, out=out, **usual))

        return [forks.end(rank) for rank in start(work, work)]

    assert team(tmp_path / "whole") == [0, 0], (tmp_path / "log-0").read_text()
    assert -signal.SIGKILL in team(tmp_path / "killed", kill=34)
    with pytest.raises(InputError, match="this checkpoint is of another run: processes 2 → 1;"):
        train.run(settings(corpus, out=tmp_path / "killed", **usual))
    assert team(tmp_path / "killed") == [0, 0], (tmp_path / "log-0").read_text()
    assert "resumed after step 30" in (tmp_path / "log-0").read_text()
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")
    assert any(row["accepted"] for row in scored(tmp_path / "whole"))


@pytest.mark.parametrize("given", [{}, {"weight": 0.5, "select": "average"}])
@pytest.mark.long
def test_without_dropout_a_team_is_one_process(
    corpus: Path,
    tmp_path: Path,
    start: Callable[..., list[int]],
    forks: Any,
    given: dict[str, Any],
) -> None:
    """Same losses to five digits, same candidates accepted, in batches that two divide unevenly."""
    usual = {"steps": 40, "dropout": 0.0, "encoder_dropout": 0.0, "n_batch": 5, "k": 3, "k_max": 6}
    usual |= given
    train.run(settings(corpus, out=tmp_path / "one", **usual))
    ranks = start(*[lambda: train.run(settings(corpus, out=tmp_path / "two", **usual))] * 2)
    assert [forks.end(rank) for rank in ranks] == [0, 0], (tmp_path / "log-0").read_text()
    for entry, same in zip(history(tmp_path / "two"), history(tmp_path / "one"), strict=True):
        assert entry["loss"] == pytest.approx(same["loss"], abs=1e-4)
        assert entry["validation_loss"] == pytest.approx(same["validation_loss"], abs=1e-4)
    for row, other in zip(scored(tmp_path / "two"), scored(tmp_path / "one"), strict=True):
        assert row.pop("probability") == pytest.approx(other.pop("probability"), abs=1e-3)
        assert row == other


@pytest.mark.long
def test_bf16_computes_in_bf16_and_keeps_float32_weights(corpus: Path, tmp_path: Path) -> None:
    """It learns; losses differ from float32's in late digits; weights are saved in float32."""
    train.run(settings(corpus, mode="baseline", out=tmp_path / "fp32"))
    train.run(settings(corpus, mode="baseline", mixed_precision="bf16", out=tmp_path / "bf16"))
    losses = [[e["loss"] for e in history(tmp_path / name)] for name in ("fp32", "bf16")]
    assert losses[0] != losses[1]
    assert losses[1][0] == pytest.approx(losses[0][0], rel=0.05)
    assert losses[1][-1] < losses[1][0] / 2
    weights = CoordinationPredictor.load(tmp_path / "bf16" / "predictor").state_dict().values()
    assert {w.dtype for w in weights if w.is_floating_point()} == {torch.float32}


@pytest.mark.long
def test_a_drought_is_reported(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Steps without an accepted candidate: a warning with the best probability and what to look at."""
    monkeypatch.setattr("pipeline.train.learner._BARREN", 10)
    train.run(settings(corpus, delta=1.0, out=tmp_path))
    warnings = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")
    ]
    assert [line.split(":")[1] for line in warnings] == [" step 40", " step 50", " step 60"]
    assert (
        "no candidate was accepted in the last 10 steps; the highest probability was "
        in warnings[0]
    )
    assert "--delta" in warnings[0]
    capsys.readouterr()
    train.run(settings(corpus, delta=0.0, out=tmp_path))
    assert "warning" not in capsys.readouterr().err


def test_labels_restrict_what_is_drawn(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only candidates of these labels are drawn; a label without any is named; so is one of L."""
    train.run(settings(corpus, labels=["VP"], steps=32, out=tmp_path / "vp"))
    assert {row["label"] for row in scored(tmp_path / "vp")} == {"VP"}
    assert read_json(tmp_path / "vp" / "run.json")["candidates"] == 20
    assert "no candidate has a label of these in L: NP" in capsys.readouterr().err
    with pytest.raises(InputError, match="no candidate has the label 'ADJP'; there are: NP, VP"):
        train.run(settings(corpus, labels=["NP", "ADJP"], out=tmp_path / "none"))
