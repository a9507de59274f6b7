"""What an update changes: the encoder's rate, and which weights learn."""

import random
from pathlib import Path

import pytest
import torch

from pipeline.core.types import Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train.optimizer import Optimizer, Schedule

VOCABULARY = "the old man saw small dog near harbor girl sold lamp zygote".split()  # noqa: SIM905


def example(number: int) -> CoordinationExample:
    """A random sentence with "and" at its third word and a random structure around it."""
    draw = random.Random(number)
    words = draw.choices(VOCABULARY, k=draw.randint(5, 9))
    words[2] = "and"
    return CoordinationExample(
        tuple(words), (2,), (Span(draw.randint(0, 1), draw.randint(4, len(words))),)
    )


EXAMPLES = [example(number) for number in range(12)]
ASKED = ([e.words for e in EXAMPLES], [2] * len(EXAMPLES), [e.extents[0] for e in EXAMPLES])


def schedule(**given: float) -> Schedule:
    """Ten updates at a rate that shows."""
    usual = {
        "steps": 10, "warm_steps": 4, "learning_rate": 0.01, "weight_decay": 0.01, "clip": 1.0,
        "eval_every": 5, "patience": 10, "seed": 0, "encoder_rate": 1.0,
    }  # fmt: skip
    return Schedule(**usual | given)  # type: ignore[arg-type]


def create(tiny_bert: Path, seed: int = 0) -> CoordinationPredictor:
    return CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=seed).eval()


def train(predictor: CoordinationPredictor, numbers: Schedule, updates: int = 4) -> Optimizer:
    optimizer = Optimizer(predictor, numbers, numbers.seed)
    for step in range(updates):
        optimizer.update(EXAMPLES, step)
    return optimizer


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


def test_gradients_are_clipped_to_the_norm_that_is_set(tiny_bert: Path) -> None:
    """Of all weights together; a smaller one stays as it is."""
    norms = []
    for clip in (1e9, 1e-3):
        model = create(tiny_bert)
        train(model, schedule(clip=clip), 1)
        every = torch.cat([w.grad.flatten() for w in model.parameters() if w.grad is not None])
        norms.append(float(every.norm()))
    assert norms[1] == pytest.approx(1e-3, rel=1e-3)
    assert norms[0] > 0.01


def test_every_weight_is_learned(tiny_bert: Path) -> None:
    """The parameter groups hold all of the predictor, each weight once."""
    model = create(tiny_bert)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train(model, schedule(), 1)
    same = {n for n, value in model.state_dict().items() if torch.equal(value, before[n])}
    assert same == set()
