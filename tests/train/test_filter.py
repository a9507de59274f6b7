"""The filter's options apart from Algorithm 1: temperature, judges, averaged weights, encoder rate."""

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.core.errors import ModelError
from pipeline.core.types import Span
from pipeline.models.optim import Average
from pipeline.predictor.encoding import Example
from pipeline.predictor.model import Predictor
from pipeline.train import scoring
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.scoring import Ensemble, fit_temperature, held_out_judges

VOCABULARY = "the old man saw small dog near harbor girl sold lamp zygote".split()  # noqa: SIM905


def example(number: int) -> Example:
    """A random sentence with "and" at its third word and a random structure around it."""
    draw = random.Random(number)
    words = draw.choices(VOCABULARY, k=draw.randint(5, 9))
    words[2] = "and"
    return Example(tuple(words), (2,), (Span(draw.randint(0, 1), draw.randint(4, len(words))),))


EXAMPLES = [example(number) for number in range(12)]
ASKED = ([e.words for e in EXAMPLES], [2] * len(EXAMPLES), [e.extents[0] for e in EXAMPLES])


def schedule(**given: float) -> Schedule:
    """Ten updates at a rate that shows."""
    usual = {
        "steps": 10, "warm_steps": 4, "learning_rate": 0.01, "weight_decay": 0.01, "clip": 1.0,
        "eval_every": 5, "patience": 10, "seed": 0, "encoder_rate": 1.0, "average": 0.0,
    }  # fmt: skip
    return Schedule(**usual | given)  # type: ignore[arg-type]


def create(tiny_bert: Path, seed: int = 0) -> Predictor:
    return Predictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=seed).eval()


def train(predictor: Predictor, numbers: Schedule, updates: int = 4) -> Optimizer:
    optimizer = Optimizer(predictor, numbers, numbers.seed)
    for step in range(updates):
        optimizer.update(EXAMPLES, step)
    return optimizer


def naive_loss(model: Predictor, examples: Sequence[Example], temperature: float) -> float:
    """Mean negative log-likelihood at T, a sentence at a time, from the softmax as it is printed."""
    losses = []
    for index, scores in model.distributions(*ASKED[:2], 1):
        e = examples[index]
        p = np.exp(scores.double().numpy() / temperature)
        losses.append(-math.log(p[e.extents[0].start, e.extents[0].end - 4] / p.sum()))
    return sum(losses) / len(losses)


def test_temperature_is_the_softmax_of_divided_scores(tiny_bert: Path) -> None:
    """T = 2 gives the square root of each probability, normalised; T = 1 changes no bit."""
    model = create(tiny_bert)
    own, divided = (
        dict(model.distributions(*ASKED[:2])),
        dict(model.distributions(*ASKED[:2], temperature=2.0)),
    )
    for index, scores in own.items():
        root = scores.exp().sqrt()
        torch.testing.assert_close(divided[index].exp(), root / root.sum())
    assert Ensemble(model).probability(*ASKED) == model.probability(*ASKED)
    assert Ensemble(model).predict(*ASKED[:2]) == model.predict(*ASKED[:2])
    hot = Ensemble(model, temperature=2.0)
    assert [p.span for p in hot.predict(*ASKED[:2]) if p] == [
        p.span for p in model.predict(*ASKED[:2]) if p
    ]
    assert hot.probability(*ASKED) != model.probability(*ASKED)


def test_fitted_temperature_is_the_best(tiny_bert: Path) -> None:
    """No T of a fine grid has less loss; scores made 3 times as large want 3 times the T."""
    model = create(tiny_bert)
    with torch.no_grad():
        model.scorer.second.weight *= 5
    found = [p.span for p in model.predict(*ASKED[:2]) if p is not None]
    mixed = [  # the model's own opinion of two thirds, something else of the others
        Example(e.words, (2,), (span,)) if number % 3 else e
        for number, (e, span) in enumerate(zip(EXAMPLES, found, strict=True))
    ]
    fitted = fit_temperature(model, mixed)
    assert 2 * scoring.COLDEST < fitted < scoring.HOTTEST / 6
    assert fitted == fit_temperature(model, mixed)
    least = naive_loss(model, mixed, fitted)
    assert all(naive_loss(model, mixed, t) > least - 1e-9 for t in np.geomspace(0.25, 20, 60))
    assert naive_loss(model, mixed, 1.1 * fitted) > least
    with torch.no_grad():
        model.scorer.second.weight *= 3
    assert fit_temperature(model, mixed) == pytest.approx(3 * fitted, rel=1e-3)


def test_fitted_temperature_stays_in_its_bounds(tiny_bert: Path) -> None:
    """A model that is always right wants T = 0, and one that is surely wrong an endless T."""
    model = create(tiny_bert)
    found = [p for p in model.predict(*ASKED[:2]) if p is not None]
    right = [Example(e.words, (2,), (p.span,)) for e, p in zip(EXAMPLES, found, strict=True)]
    assert fit_temperature(model, right) == pytest.approx(scoring.COLDEST)
    with torch.no_grad():
        model.scorer.second.weight *= -100
    assert fit_temperature(model, right) == pytest.approx(scoring.HOTTEST)


def test_nothing_to_fit_a_temperature_to(tiny_bert: Path) -> None:
    """Only sentences that the encoder cannot read: one line says so."""
    long = Example(("man", "and", *["zygote"] * 160), (1,), (Span(0, 3),))
    with pytest.raises(ModelError, match="no temperature can be fitted"):
        fit_temperature(create(tiny_bert), [long])


def test_jury_gives_the_mean(tiny_bert: Path) -> None:
    """The model and its judges have one voice each; what none can read has no score."""
    models = [create(tiny_bert, seed) for seed in range(3)]
    together = Ensemble(models[0], models[1:])
    each = [model.probability(*ASKED) for model in models]
    for mean, *values in zip(together.probability(*ASKED), *each, strict=True):
        assert mean == pytest.approx(sum(v for v in values if v is not None) / 3)
    own = models[0].predict(*ASKED[:2])
    spans = [p.span for p in own if p is not None]
    found = together.predict(*ASKED[:2])
    assert [p.span for p in found if p is not None] == spans
    assert [p.probability for p in found if p is not None] == together.probability(
        *ASKED[:2], spans
    )
    edge = [("and", "man", "saw"), EXAMPLES[0].words], [0, 2]
    assert [p is None for p in together.predict(*edge)] == [True, False]
    assert together.probability(*edge, [Span(0, 3), Span(0, 4)])[0] is None


def test_judges_never_see_their_fold(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each learns from all of L but its fold, from a seed of its own, and is frozen afterwards."""
    seen: list[set[tuple[str, ...]]] = []
    loss = Predictor.forward

    def noted(self: Predictor, batch: Sequence[Example], *weights: None) -> torch.Tensor:
        seen.append({e.words for e in batch})
        return loss(self, batch, *weights)

    monkeypatch.setattr(Predictor, "forward", noted)
    seeds: list[int] = []

    def made(seed: int) -> Predictor:
        seeds.append(seed)
        return create(tiny_bert, seed)

    judges = held_out_judges(3, EXAMPLES, 4, schedule(), made)
    assert len(judges) == len(set(seeds)) == 3
    assert len(seen) == 3 * 4  # warm_steps each
    for fold in range(3):
        learned = set().union(*seen[4 * fold : 4 * fold + 4])
        assert learned == {e.words for place, e in enumerate(EXAMPLES) if place % 3 != fold}
    assert not any(
        p.requires_grad or judge.training for judge in judges for p in judge.parameters()
    )
    again = held_out_judges(3, EXAMPLES, 4, schedule(), made)
    for one, other in zip(judges, again, strict=True):
        assert one.probability(*ASKED) == other.probability(*ASKED)


def test_average_is_bias_corrected(tiny_bert: Path) -> None:
    """After t updates it is Σ β^(t-s) w_s / Σ β^(t-s), so after one it is the weights."""
    model, beta = create(tiny_bert), 0.8
    average = Average(model, beta, model.encoding)
    assert average.model.encoding is model.encoding
    optimizer, weights = Optimizer(model, schedule(), 0), []
    for step in range(5):
        optimizer.update(EXAMPLES, step)
        average.update()
        weights.append(model.scorer.first.weight.detach().clone())
        factors = [beta ** (step - s) for s in range(step + 1)]
        expected = sum(f * w for f, w in zip(factors, weights, strict=True)) / sum(factors)
        torch.testing.assert_close(average.model.scorer.first.weight, expected)
    for one, other in zip(average.model.parameters(), model.parameters(), strict=True):
        assert not one.requires_grad
        assert not torch.equal(one, other)
    assert not average.model.training


def distance(one: torch.nn.Module, other: torch.nn.Module) -> float:
    """Sum of absolute differences of all weights."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return sum(float((a - b).detach().abs().sum()) for a, b in pairs)


def test_encoder_rate(tiny_bert: Path) -> None:
    """At 0 the encoder stays as it was and the scorer learns; below 1 the encoder moves less."""
    start = create(tiny_bert)
    moved = {}
    for rate in (0.0, 0.1, 1.0):
        model = create(tiny_bert)
        train(model, schedule(encoder_rate=rate, weight_decay=0.0))
        pairs = (model.encoder, start.encoder), (model.scorer, start.scorer)
        moved[rate] = [distance(*pair) for pair in pairs]
    assert moved[0.0][0] == 0 < moved[0.0][1]
    assert 0 < moved[0.1][0] < 0.3 * moved[1.0][0]


def test_a_frozen_encoder_has_no_part_in_clipping(tiny_bert: Path) -> None:
    """It has no gradient, so the norm that is clipped is the scorer's alone."""
    model = create(tiny_bert)
    train(model, schedule(encoder_rate=0.0), 1)
    assert all(weights.grad is None for weights in model.encoder.parameters())
    assert all(weights.grad is not None for weights in model.scorer.parameters())


def test_every_weight_is_learned(tiny_bert: Path) -> None:
    """The parameter groups hold all of the predictor, each weight once."""
    model = create(tiny_bert)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train(model, schedule(), 1)
    same = {n for n, value in model.state_dict().items() if torch.equal(value, before[n])}
    assert same == set()
