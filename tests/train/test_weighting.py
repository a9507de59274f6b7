"""How much generated examples count against labelled ones: λ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from tiny import build, candidate, digest, history, settings

from pipeline.core.documents import read_json
from pipeline.core.errors import SettingsError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_row
from pipeline.core.types import Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.settings import TrainSettings
from pipeline.train.weighting import loss_shares


def example(number: int, structures: int = 1) -> CoordinationExample:
    """A sentence with as many structures, all around one coordinator."""
    words = ("the", "old", "and", "small", "dog", "saw", "lamp", "girl")[: 6 + number % 3]
    return CoordinationExample(
        (*words, f"{number}"), (2,) * structures, (Span(0, 5), Span(1, 4))[:structures]
    )


GENERATED = [example(0), example(1)]
LABELLED = [example(2, 2), example(3), example(4, 2)]


def model(tiny_bert: Path) -> CoordinationPredictor:
    """A predictor without dropout, so that a loss can be computed twice."""
    made = CoordinationPredictor.create(
        str(tiny_bert), mlp_hidden=8, dropout=0.0, seed=0, encoder_dropout=0.0
    )
    return made.eval()


def losses(
    predictor: CoordinationPredictor, examples: Sequence[CoordinationExample]
) -> list[list[float]]:
    """-log p of each structure of each example, one sentence at a time."""
    found = []
    for e in examples:
        p = tiny.probabilities(predictor, [e.words] * len(e.extents), e.coordinators, e.extents)
        found.append([-float(torch.tensor(value).double().log()) for value in p])
    return found


@pytest.mark.parametrize("factor", [None, 0.25, 1.0, 2.0])
def test_the_loss_by_hand(tiny_bert: Path, factor: float | None) -> None:
    """Mean over labelled + λ · mean over generated; without λ one mean over both."""
    predictor = model(tiny_bert)
    theirs = [each[0] for each in losses(predictor, GENERATED)]
    ours = [nll for each in losses(predictor, LABELLED) for nll in each]
    assert (len(theirs), len(ours)) == (2, 5)
    expected = sum([*theirs, *ours]) / 7
    if factor is not None:
        expected = sum(ours) / 5 + factor * sum(theirs) / 2
    shares = loss_shares(GENERATED, LABELLED, factor)
    assert (shares is None) == (factor is None)
    numbers = Schedule(10, 4, 0.01, 0.01, 1.0, 5, 10, 0, 1.0)
    loss = Optimizer(predictor, numbers, 0).update([*GENERATED, *LABELLED], 0, shares)
    assert loss == pytest.approx(expected, rel=1e-5)


def test_a_term_without_examples_is_nothing() -> None:
    """Without generated examples it is the labelled ones' mean, without labelled λ times theirs."""
    assert loss_shares([], LABELLED, 0.3) is None
    assert loss_shares([], LABELLED, None) is None
    assert loss_shares(GENERATED, [], 0.3) == pytest.approx([0.15, 0.15])
    assert loss_shares(GENERATED, [], None) is None


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus folder, whose candidates have scores."""
    folder = build(tmp_path_factory.mktemp("data") / "tiny")
    rows = [{**candidate_row(candidate(n)), "score": -float(n % 7)} for n in range(60)]
    write_rows(folder / "scored/candidates-00000-of-00001.parquet", CANDIDATES, rows)
    return folder


def shares_of(
    monkeypatch: pytest.MonkeyPatch, corpus: Path, out: Path, **given: Any
) -> list[tuple[int, list[float] | None]]:
    """The length of each batch of a run, and what its examples count in the loss."""
    noted: list[tuple[int, list[float] | None]] = []
    update = Optimizer.update

    def noting(
        self: Optimizer,
        batch: Sequence[CoordinationExample],
        step: int,
        shares: Any = None,
        brackets: Any = None,
    ) -> float:
        noted.append((len(batch), shares))
        return update(self, batch, step, shares, brackets)

    with monkeypatch.context() as patch:
        patch.setattr(Optimizer, "update", noting)
        train.run(settings(corpus, out=out, candidates=corpus / "scored", **given))
    return noted


def test_weights_of_a_run(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line 1 is the paper's whatever is chosen; then λ shares the loss out."""
    plain = shares_of(monkeypatch, corpus, tmp_path / "plain")
    assert {shares for _, shares in plain} == {None}  # type: ignore[arg-type]
    found = shares_of(monkeypatch, corpus, tmp_path / "weight", mode="no-filter", weight=0.5)
    assert [each for each in found[:30] if each[1] is not None] == []
    assert history(tmp_path / "weight")[:3] == history(tmp_path / "plain")[:3]
    assert found[30:] == [(16, [0.5 / 8] * 8 + [1 / 8] * 8)] * 30


def test_lambda_0_learns_from_l_alone(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates are examined and accepted, and no batch has any."""
    found = shares_of(monkeypatch, corpus, tmp_path, weight=0, mode="no-filter")
    assert found == [(16, None)] * 30 + [(8, None)] * 30
    assert read_json(tmp_path / "run.json")["accepted"] == 240
    only = shares_of(monkeypatch, corpus, tmp_path / "k", weight=0, mode="no-filter", k=16)
    assert only == [(16, None)] * 30


@pytest.mark.long
def test_no_candidate_accepted_is_the_same_for_all(corpus: Path, tmp_path: Path) -> None:
    """Without generated examples λ changes no bit of the weights."""
    made = []
    for name, given in (("plain", {}), ("weighed", {"weight": 0.25})):
        train.run(settings(corpus, delta=1.0, out=tmp_path / name, **given))
        made.append(digest(tmp_path / name))
        assert read_json(tmp_path / name / "run.json")["accepted"] == 0
    assert made[0].pop("run.json") != made[1].pop("run.json")
    assert made[0] == made[1]


def test_a_baseline_ignores_them(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A section of params.yaml may give λ to all systems: a finished baseline stays finished."""
    train.run(settings(corpus, mode="baseline", out=tmp_path))
    before = digest(tmp_path)
    given = {"weight": 0.5, "resume": True}
    train.run(settings(corpus, mode="baseline", out=tmp_path, **given))
    assert "this very run is finished" in capsys.readouterr().out
    assert digest(tmp_path) == before
    card = read_json(tmp_path / "run.json")
    assert not {"weight", "weigh"} & card["settings"].keys()  # the second is no setting any more
    assert "select" in card["paper"]["alike"]


def test_it_is_recorded_beside_the_paper(corpus: Path, tmp_path: Path) -> None:
    """run.json has λ with the paper's value."""
    train.run(settings(corpus, out=tmp_path, steps=32, weight=0.5, select="last"))
    unlike = dict(read_json(tmp_path / "run.json")["paper"]["unlike"])
    assert {"select": "accuracy", "weight": None}.items() <= unlike.items()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weight": -1}, "train.weight = -1: Input should be greater than or equal to 0"),
        ({"weight": float("nan")}, "train.weight = nan: Input should be"),
        ({"weight": float("inf")}, "train.weight = inf: Input should be a finite number"),
        (
            {"select": "best"},
            "train.select = 'best': Input should be 'accuracy', 'loss', 'last' or",
        ),
    ],
)
def test_values_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    """Each is one line that names the setting, its value and the rule."""
    with pytest.raises(SettingsError) as caught:
        TrainSettings.build({"corpus": "data/x", "candidates": "c", **given}, None)
    assert str(caught.value).startswith(message)
