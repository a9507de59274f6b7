"""The predictors behind CalcScore: M (the paper), M at a fitted temperature, or M and held-out judges.

A predictor that has seen few labels many times is too sure of itself. Two remedies: divide its
scores by a temperature fitted on sentences it has not learned from, and let predictors that were
each warmed up without a part of L judge with it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pipeline.core.errors import ModelError
from pipeline.core.types import Span
from pipeline.predictor.encoding import Example, instances
from pipeline.predictor.model import Opinion, Prediction, Predictor
from pipeline.train.distributed import ProcessGroup
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.stream import LabelledStream

COLDEST, HOTTEST = 0.25, 20.0
"""Bounds of a fitted temperature."""

_FOR_JUDGES = 4  # apart from the other streams of the same seed in stream.py and optimizer.py
_ROUNDS = 60  # golden-section steps, far beyond float precision


@dataclass(frozen=True, slots=True)
class Ensemble:
    """CALCSCORE's predictors: their score is the mean of the probabilities softmax(scores / T).

    Attributes:
        model: M, or its averaged weights.
        judges: further predictors, with the same weight and temperature each.
        temperature: T.
    """

    model: Predictor
    judges: Sequence[Predictor] = ()
    temperature: float = 1.0

    def probability(
        self,
        sentences: Sequence[Sequence[str]],
        coordinators: Sequence[int],
        extents: Sequence[Span],
    ) -> list[float | None]:
        """The mean probability of each structure; None where none can be given."""
        found = self.opinions(sentences, coordinators, extents)
        return [None if each is None else each.probability for each in found]

    def opinions(
        self,
        sentences: Sequence[Sequence[str]],
        coordinators: Sequence[int],
        extents: Sequence[Span],
    ) -> list[Opinion | None]:
        """The mean probability of each structure, and whether it is the best of every predictor alone.

        The share is the least that one of them gives: that of the mean distribution would take the whole of
        each, and a mean of shares would let one of them believe for all.

        Returns:
            None where no probability can be given.
        """
        opinions = [
            judge.opinions(sentences, coordinators, extents, temperature=self.temperature)
            for judge in (self.model, *self.judges)
        ]
        # All predictors read the same tokens, so what one cannot score none can.
        known = ([o for o in each if o is not None] for each in zip(*opinions, strict=True))
        return [
            Opinion(
                sum(o.probability for o in each) / len(each),
                min(o.share for o in each),
                all(o.best for o in each),
            )
            if each
            else None
            for each in known
        ]

    def predict(
        self, sentences: Sequence[Sequence[str]], coordinators: Sequence[int]
    ) -> list[Prediction | None]:
        """M's own boundary of each coordinator, with its mean probability (self-training)."""
        found = self.model.predict(sentences, coordinators, temperature=self.temperature)
        if not self.judges:
            return found
        kept = [index for index, prediction in enumerate(found) if prediction is not None]
        spans = [prediction.span for prediction in found if prediction is not None]
        values = self.probability(
            [sentences[index] for index in kept], [coordinators[index] for index in kept], spans
        )
        for index, span, value in zip(kept, spans, values, strict=True):
            found[index] = None if value is None else Prediction(span, value)
        return found


def fit_temperature(predictor: Predictor, examples: Sequence[Example]) -> float:
    """The T in [``COLDEST``, ``HOTTEST``] with the least negative log-likelihood of examples.

    That is convex in 1 / T, so golden-section search over log T finds it.

    Raises:
        ModelError: no structure of the examples can be scored.
    """
    words, ks, extents = instances(examples)
    rows: list[Tensor] = []
    for index, scores in predictor.distributions(words, ks):
        place = extents[index].start, extents[index].end - 2 - ks[index]
        # The right pair first, so that padded rows all have it in one column.
        rows.append(torch.cat([scores[place][None], scores.flatten()]).double())
    if not rows:
        raise ModelError("no validation sentence can be scored, so no temperature can be fitted")
    table = pad_sequence(rows, batch_first=True, padding_value=-torch.inf)

    def loss(log_t: float) -> float:
        scaled = table / math.exp(log_t)
        return float((scaled[:, 1:].logsumexp(1) - scaled[:, 0]).mean())

    return math.exp(_golden_section(loss, math.log(COLDEST), math.log(HOTTEST)))


def _golden_section(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one minimum is least in [low, high]."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(_ROUNDS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(right)
    return (low + high) / 2


def held_out_judges(
    count: int,
    L: Sequence[Example],  # noqa: N803 - the paper's name
    N_batch: int,  # noqa: N803
    schedule: Schedule,
    create: Callable[[int], Predictor],
    *,
    group: ProcessGroup | None = None,
) -> list[Predictor]:
    """Predictors that took line 1 of Algorithm 1 on L without one of ``count`` folds each.

    Args:
        count: judges and folds; example m is in fold m mod ``count``. At least 2, at most |L|.
        L: the labelled examples.
        N_batch: examples per update.
        schedule: M's; a judge takes its ``warm_steps``.
        create: makes a fresh predictor from the seed of its head.
        group: whose number format judges learn in; each process makes all of them by itself.
    """
    judges = []
    for fold in range(count):
        state = np.random.SeedSequence([schedule.seed, _FOR_JUDGES, fold]).generate_state(1)
        seed = int(state[0])
        rest = [example for place, example in enumerate(L) if place % count != fold]
        judge, examples = create(seed), LabelledStream(rest, seed)
        optimizer = Optimizer(judge, schedule, seed, group.alone() if group else None)
        for step in range(schedule.warm_steps):
            optimizer.update(examples.sample(step * N_batch, N_batch), step)
        judges.append(judge.eval().requires_grad_(requires_grad=False))
    return judges
