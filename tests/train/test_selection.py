"""Which weights become the predictor, on hand-made validations and in whole runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from tiny import build, history, ingested, sentence, settings
from torch import nn

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.parquet import write_rows
from pipeline.core.runs import read_runs
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Sentence, Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.learner import Learner
from pipeline.train.optimizer import Schedule
from pipeline.train.selection import SELECTIONS, WeightSelection
from pipeline.train.settings import TrainSettings
from pipeline.train.validation import Validation, validate


def schedule(steps: int, warm: int, patience: int = 1000) -> Schedule:
    """The numbers that a choice goes by."""
    return Schedule(steps, warm, 0.01, 0.01, 1.0, 10, patience, 0, 1.0)


class Weight(nn.Module):
    """A model of one number, and a count that is no weight."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))


def stalls(
    rule: WeightSelection, looks: Sequence[tuple[float, float]], every: int = 10
) -> list[bool]:
    """Show a rule (accuracy, loss) of a model whose weight is the step; whether it stalled each time."""
    stalled, model = [], Weight()
    for number, (accuracy, loss) in enumerate(looks, 1):
        step = number * every
        model.w.data.fill_(step)
        model.count.fill_(step)
        rule.look(step, Validation(accuracy, loss), model)
        stalled.append(rule.stalled)
    return stalled


LOOKS = [(0.2, 0.9), (0.6, 0.5), (0.6, 0.4), (0.5, 0.4), (0.5, 0.6), (0.4, 0.7)]


@pytest.mark.parametrize(
    ("name", "step", "weight"),
    [("accuracy", 20, 20.0), ("loss", 40, 40.0), ("last", 60, 60.0), ("average", 60, 55.0)],
)
def test_rules_by_hand(name: str, step: int, weight: float) -> None:
    """Earliest of equal accuracies, latest of equal losses, the last, the mean of steps 50 and 60.

    Of 60 updates after 20 warm ones the second half begins after step 40.
    """
    rule = SELECTIONS[name](schedule(60, 20))
    stalls(rule, LOOKS)
    assert rule.step == step
    assert rule.weights["w"].tolist() == [weight]
    assert rule.weights["w"].dtype == torch.float32
    assert rule.weights["count"].tolist() == [step]
    assert str(step) in rule.describe("accuracy")


@pytest.mark.parametrize(
    ("name", "stalled"),
    [
        ("accuracy", [False, False, False, True, True, True]),
        ("loss", [False, False, False, False, True, True]),  # step 40 has no lower loss than 30
        ("last", [False] * 6),
        ("average", [False] * 6),
    ],
)
def test_patience_by_hand(name: str, stalled: list[bool]) -> None:
    """20 updates without improvement, warm ones not counted; without a criterion there is no end."""
    assert stalls(SELECTIONS[name](schedule(1000, 20, patience=20)), LOOKS) == stalled


def test_the_mean_is_exact() -> None:
    """Thirds summed in float32 would be off; there is a mean even if all updates are warm ones."""
    rule, model = SELECTIONS["average"](schedule(3000, 0)), Weight()
    values = [1 / 3 + number for number in range(1500)]
    for number, value in enumerate(values):
        model.w.data.fill_(value)
        rule.look(1501 + number, Validation(0.5, 1.0), model)
    exact = torch.tensor(values, dtype=torch.float32).double().mean()
    assert rule.weights["w"].item() == exact.float().item()
    warm = SELECTIONS["average"](schedule(60, 60))
    stalls(warm, LOOKS)
    assert warm.weights["w"].tolist() == [60.0]


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("cut", range(1, 6))
def test_a_rule_goes_on_from_its_state(name: str, cut: int) -> None:
    """Interrupted after any validation it chooses and stalls as if it had not been."""
    whole, first, second = (SELECTIONS[name](schedule(60, 20, patience=20)) for _ in range(3))
    expected, model = stalls(whole, LOOKS), Weight()
    stalls(first, LOOKS[:cut])
    second.restore({k: v.clone() for k, v in first.tensors.items()}, first.state)
    for number, (accuracy, loss) in list(enumerate(LOOKS, 1))[cut:]:
        model.w.data.fill_(10 * number)
        model.count.fill_(10 * number)
        second.look(10 * number, Validation(accuracy, loss), model)
        assert second.stalled == expected[number - 1]
    assert second.state == whole.state
    assert {k: v.tolist() for k, v in second.weights.items()} == {
        k: v.tolist() for k, v in whole.weights.items()
    }


def test_every_rule_can_be_chosen() -> None:
    """The choices of --select are the rules there are."""
    field = TrainSettings.model_fields["select"]
    assert set(field.annotation.__args__) == set(SELECTIONS)  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus folder."""
    return build(tmp_path_factory.mktemp("data") / "tiny")


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_predictor_saved_is_the_one_reported(
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    """Accuracy and loss in run.json are those of the saved weights; a mean's is not a history's."""
    out, seen = corpus / f"runs/{name}/40/seed-0", dict[int, torch.Tensor]()
    update = Learner.update

    def noting(self: Learner, *given: Any) -> None:
        update(self, *given)
        seen[self.step] = self.predictor.scorer.first.weight.detach().clone()

    monkeypatch.setattr(Learner, "update", noting)
    train.run(settings(corpus, out=out, select=name))
    card, entries = read_json(out / "run.json"), history(out)
    predictor = CoordinationPredictor.load(out / "predictor")
    _, measured = tiny.learned_of([sentence(n) for n in range(40, 64)], predictor)
    found = validate(predictor, measured)
    assert found.accuracy == card["best_validation_accuracy"]
    assert found.loss == pytest.approx(card["best_validation_loss"], abs=1e-6)
    assert (card["select"], card["steps"]) == (name, 60)
    key = {"accuracy": lambda e: (e["validation_accuracy"], -e["step"]),
           "loss": lambda e: (-e["validation_loss"], e["step"])}  # fmt: skip
    expected = max(entries, key=key[name])["step"] if name in key else 60
    assert card["best_step"] == expected
    weights = (seen[50] + seen[60]) / 2 if name == "average" else seen[expected]
    torch.testing.assert_close(predictor.scorer.first.weight.detach(), weights)
    said = " ".join(capsys.readouterr().out.split())
    assert f"validation accuracy {found.accuracy:.4f}" in said
    assert "learnt from L alone" not in said or expected <= 30
    (run,) = (run for run in read_runs(corpus) if run.folder == out)
    assert run.is_warm_alone == (expected <= 30)


def test_loss_and_accuracy_are_of_one_pass(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what predict and probability say; what cannot be scored is wrong and has no loss."""
    predictor = CoordinationPredictor.create(
        str(corpus / "models/bert"), mlp_hidden=8, dropout=0.5, seed=0
    )
    _, measured = tiny.learned_of([sentence(n) for n in range(12)], predictor)
    words, ks = [e.words for e in measured], [e.coordinators[0] for e in measured]
    gold = [e.extents[0] for e in measured]
    right = sum(p is not None and p.span == g for p, g in
                zip(predictor.predict(words, ks), gold, strict=True))  # fmt: skip
    likely = [p for p in tiny.probabilities(predictor, words, ks, gold) if p is not None]
    loss = -sum(torch.tensor(likely).double().log().tolist()) / 12
    passes, forward = [], predictor.encoder.forward

    def counted(*args: Any, **given: Any) -> Any:
        passes.append(1)
        return forward(*args, **given)

    monkeypatch.setattr(predictor.encoder, "forward", counted)
    predictor.predict(words, ks)
    once = len(passes)
    found = validate(predictor, measured)
    assert len(passes) == 2 * once
    assert found == Validation(right / 12, pytest.approx(loss, abs=1e-5))  # type: ignore[arg-type]
    long = CoordinationExample(("we", "and", *["fish"] * 40), (1,), (Span(0, 3),))
    beyond = CoordinationExample(measured[0].words, (ks[0],), (Span(ks[0] + 1, ks[0] + 2),))
    more = validate(predictor, [*measured, long, beyond])
    assert more.accuracy == right / 14
    assert more.loss == pytest.approx(found.loss)
    assert validate(predictor, [long]) == Validation(0.0, None)


def test_no_loss_to_choose_by(tmp_path: Path) -> None:
    """Validation sentences that the encoder cannot read: one line says so, and the paper's rule runs."""
    corpus = build(tmp_path / "tiny")
    rows = [sentence(n) for n in range(41)]
    old = rows[40]
    words = (*old.words, *["here"] * 40)
    rows[40] = Sentence("s40", "d", "train", words, None, None, old.coordinations, "test")
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, rows))
    draw = corpus / "draws/seed-0/40.json"
    write_json(draw, {**read_json(draw), "validation": ["s40"]})
    ingested(corpus)
    with pytest.raises(InputError, match="no loss to choose the weights by"):
        train.run(settings(corpus, select="loss", mode="baseline"))
    train.run(settings(corpus, mode="baseline", steps=10, out=tmp_path / "run"))
    assert [e["validation_loss"] for e in history(tmp_path / "run")] == [None]
