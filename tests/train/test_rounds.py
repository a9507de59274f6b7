"""Adaptive rounds with a real model: the candidates and the outcome of the printed loop."""
# ruff: noqa: D102, N806 - the fake has its protocols' docstrings; names are the paper's

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
import tiny

from pipeline.core.types import Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.protocol import Drawn
from pipeline.train.acceptance import Delta
from pipeline.train.algorithm1 import Constants, Verdict, inspect

WORDS = "the old man saw small dog near harbor girl sold lamp zygote".split()  # noqa: SIM905


class World:
    """A random predictor as M, and random candidates of 5 to 30 words as U."""

    def __init__(self, encoder: Path) -> None:
        self.model = CoordinationPredictor.create(
            str(encoder), mlp_hidden=8, dropout=0.5, seed=1
        ).eval()
        self.rounds: list[int] = []

    def sample(self, index: int) -> Drawn[CoordinationExample]:
        random = Random(index)
        words = random.choices(WORDS, k=random.randint(5, 30))
        k = random.randrange(1, len(words) - 1)
        extent = Span(random.randrange(k), random.randrange(k + 2, len(words) + 1))
        words[k] = "and"
        return tiny.drawn_of(f"c{index}", "NP", tuple(words), k, extent, extent.end - k - 1)

    def together(self, index: int) -> list[Drawn[CoordinationExample]]:
        return [self.sample(index)]

    def calc_score(self, candidates: Sequence[Drawn[CoordinationExample]]) -> list[Verdict]:
        self.rounds.append(len(candidates))
        found = self.model.opinions([c.example for c in candidates])
        assert None not in found
        return [
            Verdict(c.example, each.probability if each else 0.0)
            for c, each in zip(candidates, found, strict=True)
        ]


@pytest.mark.parametrize("seed", range(6))
def test_rounds_of_a_model_are_the_printed_loop(tiny_bert: Path, seed: int) -> None:
    """With K, K_max and δ drawn at random: the same trials and the same B, in fewer passes."""
    random, world = Random(seed), World(tiny_bert)
    K, K_max = random.randint(2, 8), random.randint(2, 16)
    first = 100 * seed
    known = world.calc_score([world.sample(first + ahead) for ahead in range(K_max)])
    # Between two scores: rounding, which batching does change, must not decide.
    scores = sorted(verdict.score for verdict in known)
    gaps = [(high - low, (high + low) / 2) for low, high in pairwise(scores)]
    delta = max(random.sample(gaps, min(3, len(gaps))))[1]
    B, k, examined = [], 0, []
    while len(B) < K and k < K_max:
        (verdict,) = world.calc_score([world.sample(first + k)])
        accepted = verdict.score >= delta
        B += [verdict.example] * accepted
        examined.append((f"c{first + k}", accepted, verdict.example))
        k += 1
    world.rounds.clear()
    constants = Constants(16, K, K_max, 0)
    trials = inspect(world, world, constants, Delta(delta), first)  # type: ignore[arg-type]
    assert [(t.drawn.candidate_id, t.accepted, t.verdict.example) for t in trials] == examined
    assert [t.verdict.example for t in trials if t.accepted] == B
    assert sum(world.rounds) == len(trials)
    assert len(world.rounds) < len(trials)
    for trial, before in zip(trials, known, strict=False):
        assert trial.verdict.score == pytest.approx(before.score, abs=1e-5)


def test_the_best_boundary_is_the_predicted_one(tiny_bert: Path) -> None:
    """Of a candidate: M's own argmax; the probability is as before."""
    model = World(tiny_bert).model
    other = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=2).eval()
    drawn = [World(tiny_bert).sample(index) for index in range(12)]
    words = [d.example.words for d in drawn]
    ks = [d.example.coordinators[0] for d in drawn]
    own = [p.span for p in model.predict(words, ks) if p is not None]
    others = [p.span for p in other.predict(words, ks) if p is not None]
    assert len(own) == len(others) == len(drawn)
    assert own != others
    for extents in (own, others):
        found = model.opinions(tiny.examples_of(words, ks, extents))
        same = [one == extent for one, extent in zip(own, extents, strict=True)]
        assert [o is not None and o.best for o in found] == same
        expected = tiny.probabilities(model, words, ks, extents)
        assert [o and o.probability for o in found] == expected
