"""How much generated examples count: λ against labelled ones, ranks among themselves."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import build, candidate, digest, history, settings

from pipeline.core.documents import read_json
from pipeline.core.errors import SettingsError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_row
from pipeline.core.types import Span
from pipeline.predictor.encoding import Example
from pipeline.predictor.model import Predictor
from pipeline.train import stage as train
from pipeline.train.learner import Learner
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.settings import Train
from pipeline.train.stream import Drawn
from pipeline.train.weighting import WEIGHTINGS, ByRank, loss_shares


def drawn(score: float | None = None, label: str = "NP", length: int = 1) -> Drawn:
    return Drawn("c", label, ("a", "and", "b"), 1, Span(0, 3), length, score)


def example(number: int, structures: int = 1) -> Example:
    """A sentence with as many structures, all around one coordinator."""
    words = ("the", "old", "and", "small", "dog", "saw", "lamp", "girl")[: 6 + number % 3]
    return Example((*words, f"{number}"), (2,) * structures, (Span(0, 5), Span(1, 4))[:structures])


GENERATED = [example(0), example(1)]
LABELLED = [example(2, 2), example(3), example(4, 2)]


def model(tiny_bert: Path) -> Predictor:
    """A predictor without dropout, so that a loss can be computed twice."""
    made = Predictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.0, seed=0, encoder_dropout=0.0)
    return made.eval()


def losses(predictor: Predictor, examples: Sequence[Example]) -> list[list[float]]:
    """-log p of each structure of each example, one sentence at a time."""
    found = []
    for e in examples:
        p = predictor.probability([e.words] * len(e.extents), e.coordinators, e.extents)
        found.append([-float(torch.tensor(value).double().log()) for value in p])
    return found


@pytest.mark.parametrize("factor", [None, 0.25, 1.0, 2.0])
@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.5, 1.75]])
def test_the_loss_by_hand(tiny_bert: Path, factor: float | None, weights: list[float]) -> None:
    """Mean over labelled + λ · Σ w nll / their number; without λ one mean in which they count w."""
    predictor = model(tiny_bert)
    theirs = [each[0] for each in losses(predictor, GENERATED)]
    ours = [nll for each in losses(predictor, LABELLED) for nll in each]
    assert (len(theirs), len(ours)) == (2, 5)
    weighted = sum(w * nll for w, nll in zip(weights, theirs, strict=True))
    expected = (weighted + sum(ours)) / 7
    if factor is not None:
        expected = sum(ours) / 5 + factor * weighted / 2
    shares = loss_shares(GENERATED, LABELLED, weights, factor)
    assert (shares is None) == (factor is None and weights == [1.0, 1.0])
    numbers = Schedule(10, 4, 0.01, 0.01, 1.0, 5, 10, 0, 1.0, 0.0)
    told = Optimizer(predictor, numbers, 0).update([*GENERATED, *LABELLED], 0, shares)
    assert told == pytest.approx(expected, rel=1e-5)


def test_a_term_without_examples_is_nothing() -> None:
    """Without generated examples it is the labelled ones' mean, without labelled λ times theirs."""
    assert loss_shares([], LABELLED, [], 0.3) is None
    assert loss_shares([], LABELLED, [], None) is None
    assert loss_shares(GENERATED, [], [1.0, 0.5], 0.3) == pytest.approx([0.15, 0.075])
    assert loss_shares(GENERATED, [], [1.0, 1.0], None) is None


def test_ranks_by_hand() -> None:
    """Twice the mean of the share below, half of the equal ones with it, in p and in score."""
    rule = ByRank()
    asked = [(0.5, 0.1), (0.9, 0.3), (0.5, None), (0.7, 0.0)]
    # p:     1/2 of 1;  1 + 1/2 of 2;  (0 + 2/2) of 3;  (2 + 1/2) of 4
    # score: 1/2 of 1;  1 + 1/2 of 2;  none;            1/2 of 3
    expected = [1.0, 1.5, 2 / 3, 2.5 / 4 + 0.5 / 3]
    assert [rule.weigh(drawn(s), p) for p, s in asked] == pytest.approx(expected)


def test_ranks_equal_but_for_rounding() -> None:
    """The same candidate again, scored in a batch of another shape, ranks as an equal."""
    rule = ByRank()
    assert [rule.weigh(drawn(), p) for p in (0.5, 0.5 + 1e-7, 0.5 - 1e-7)] == [1, 1, 1]


def test_ranks_are_among_their_like() -> None:
    """Label and length have windows of their own; 8 words and more are one; -inf leaves no trace."""
    rule = ByRank()
    assert rule.weigh(drawn(), 0.9) == 1
    for label, length in (("VP", 1), ("NP", 2), ("NP", 8)):
        assert rule.weigh(drawn(label=label, length=length), 0.1) == 1
    assert rule.weigh(drawn(length=30), 0.2) == 1.5
    before = json.dumps(rule.state)
    assert rule.weigh(drawn(), -float("inf")) == 0
    assert json.dumps(rule.state) == before
    short = ByRank(window=2)
    assert [short.weigh(drawn(), p) for p in (0.9, 0.1, 0.2)] == [1, 0.5, 1.5]


def stream(count: int) -> list[tuple[Drawn, float]]:
    """Candidates of all kinds with probabilities, some of which are equal or missing."""
    draw = random.Random(5)
    return [
        (
            drawn(
                draw.choice([None, draw.gauss(0, 1)]), draw.choice(["NP", "VP"]), draw.randint(1, 10)
            ),
            draw.choice([round(draw.random(), 2), 0.5, -float("inf")]),
        )
        for _ in range(count)
    ]  # fmt: skip


def test_weights_are_a_function_of_the_stream_and_go_on_from_a_state() -> None:
    """Restored after any number of candidates, through JSON, they are the same; their mean is 1."""
    asked, whole = stream(4000), ByRank(50)
    weights = [whole.weigh(*each) for each in asked]
    known = [w for w, (_, p) in zip(weights, asked, strict=True) if p >= 0]
    assert all(0 < w < 2 for w in known)
    assert sum(known) / len(known) == pytest.approx(1, abs=0.02)
    for cut in (0, 1, 17, 2500):
        first, second = ByRank(50), ByRank(50)
        for each in asked[:cut]:
            first.weigh(*each)
        second.restore(json.loads(json.dumps(first.state)))
        assert [second.weigh(*each) for each in asked[cut:]] == weights[cut:]


def test_every_way_can_be_chosen() -> None:
    """The choices of --weigh are the ways there are."""
    field = Train.model_fields["weigh"]
    assert set(field.annotation.__args__) == set(WEIGHTINGS)  # type: ignore[union-attr]


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
        batch: Sequence[Example],
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
    """Line 1 is the paper's whatever is chosen; then λ, ranks, or both share the loss out."""
    plain = shares_of(monkeypatch, corpus, tmp_path / "plain")
    assert {shares for _, shares in plain} == {None}  # type: ignore[arg-type]
    for name, given in (("weight", {"weight": 0.5}), ("rank", {"weigh": "rank"}),
                        ("both", {"weight": 0.5, "weigh": "rank"})):  # fmt: skip
        found = shares_of(monkeypatch, corpus, tmp_path / name, mode="no-filter", **given)
        assert [each for each in found[:30] if each[1] is not None] == []
        assert history(tmp_path / name)[:3] == history(tmp_path / "plain")[:3]
        for count, shares in found[30:]:
            assert count == 16
            assert shares is not None
            assert shares[8:] == [1 / 8 if "weight" in given else 1 / 16] * 8
            usual = 0.5 / 8 if "weight" in given else 1 / 16
            assert (set(shares[:8]) == {usual}) == (name == "weight")
        every = [share for _, shares in found[30:] for share in shares or []]
        if name != "weight":
            generated = [s for n, s in enumerate(every) if n % 16 < 8]
            assert sum(generated) / len(generated) == pytest.approx(
                usual, rel=0.15
            )  # M grows surer, so above 1


def test_lambda_0_learns_from_l_alone(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates are examined and accepted, and no batch has any."""
    found = shares_of(monkeypatch, corpus, tmp_path, weight=0, mode="no-filter")
    assert found == [(16, None)] * 30 + [(8, None)] * 30
    assert read_json(tmp_path / "run.json")["accepted"] == 240
    only = shares_of(monkeypatch, corpus, tmp_path / "k", weight=0, mode="no-filter", k=16)
    assert only == [(16, None)] * 30


def test_no_candidate_accepted_is_the_same_for_all(corpus: Path, tmp_path: Path) -> None:
    """Without generated examples λ and ranks change no bit of the weights."""
    made = []
    for name, given in (("plain", {}), ("both", {"weight": 0.25, "weigh": "rank"})):
        train.run(settings(corpus, delta=1.0, out=tmp_path / name, **given))
        made.append(digest(tmp_path / name))
        assert read_json(tmp_path / name / "run.json")["accepted"] == 0
    assert made[0].pop("run.json") != made[1].pop("run.json")
    assert made[0] == made[1]


def test_a_baseline_ignores_them(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A section of params.yaml may give them to all systems: a finished baseline stays finished."""
    train.run(settings(corpus, mode="baseline", out=tmp_path))
    before = digest(tmp_path)
    given = {"weight": 0.5, "weigh": "rank", "resume": True}
    train.run(settings(corpus, mode="baseline", out=tmp_path, **given))
    assert "this very run is finished" in capsys.readouterr().out
    assert digest(tmp_path) == before
    card = read_json(tmp_path / "run.json")
    assert not {"weight", "weigh"} & card["settings"].keys()
    assert "select" in card["paper"]["alike"]


def test_they_are_recorded_beside_the_paper(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """run.json has them with the paper's value; without any score of a language model it is said."""
    given = {"weight": 0.5, "weigh": "rank", "select": "last"}
    train.run(settings(corpus, out=tmp_path, steps=32, **given))
    unlike = dict(read_json(tmp_path / "run.json")["paper"]["unlike"])
    assert {"select": "accuracy", "weight": None, "weigh": "none"}.items() <= unlike.items()
    assert "no candidate has a score of its language model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weight": -1}, "train.weight = -1: Input should be greater than or equal to 0"),
        ({"weight": float("nan")}, "train.weight = nan: Input should be"),
        ({"weight": float("inf")}, "train.weight = inf: Input should be a finite number"),
        ({"weigh": "all"}, "train.weigh = 'all': Input should be 'none' or 'rank'"),
        (
            {"select": "best"},
            "train.select = 'best': Input should be 'accuracy', 'loss', 'last' or",
        ),
    ],
)
def test_values_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    """Each is one line that names the setting, its value and the rule."""
    with pytest.raises(SettingsError) as caught:
        Train.build({"corpus": "data/x", "candidates": "c", **given}, None)
    assert str(caught.value).startswith(message)


def test_other_scores_are_another_run_only_where_they_count(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Candidates that differ in scores alone leave a finished run finished, but one by ranks."""
    for name, again in (("none", False), ("rank", True)):
        out = tmp_path / name
        train.run(settings(corpus, out=out, steps=32, weigh=name))
        given = {"steps": 32, "weigh": name, "resume": True, "out": out}
        rows = [candidate_row(candidate(n)) for n in range(60)]
        rows[7]["score"] = -1.0
        other = corpus / "candidates" / "t5-sync" / "seed-0"
        kept = {path: path.read_bytes() for path in other.glob("candidates-*")}
        for path in kept:
            path.unlink()
        write_rows(other / "candidates-00000-of-00001.parquet", CANDIDATES, rows)
        capsys.readouterr()
        train.run(settings(corpus, **given))
        assert ("this very run is finished" not in capsys.readouterr().out) == again
        (other / "candidates-00000-of-00001.parquet").unlink()
        for path, data in kept.items():
            path.write_bytes(data)


def test_learner_state_has_the_ranks(corpus: Path) -> None:
    """What is remembered of the candidates is part of a checkpoint."""
    predictor = Predictor.create(str(corpus / "models/bert"), mlp_hidden=8, dropout=0.5, seed=0)
    numbers = Schedule(10, 4, 0.01, 0.01, 1.0, 5, 10, 0, 1.0, 0.0)
    learner = Learner(predictor, GENERATED, numbers, weighting=(rule := ByRank()))
    rule.weigh(drawn(0.5), 0.25)
    _, facts, _ = learner.state()
    assert json.loads(json.dumps(facts))["weighting"] == {"1 NP": [[0.25, 0.5]]}
