"""Algorithm 1's step for the trainer benchmark: its three ways of scoring, and one update's parts."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertModel

from benchmarks.generation.generation_costs import clock
from benchmarks.generation.generation_pairs import references, tokenizer_of
from pipeline.core.types import Reference, Span
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.scorer import EndpointScorer
from pipeline.tasks.protocol import Drawn
from pipeline.train.acceptance import Acceptance
from pipeline.train.algorithm1 import Constants, Trial, Verdict, inspect
from pipeline.train.optimizer import Optimizer, Schedule

__all__ = [
    "PAPER",
    "SHAPES",
    "WAYS",
    "Bench",
    "Coin",
    "Shape",
    "parts",
]

PAPER = Constants(N_batch=16, K=8, K_max=16, warm_steps=0)


@dataclass(frozen=True)
class Shape:
    """An encoder's architecture; weights are random."""

    width: int
    feed: int
    layers: int
    heads: int
    hidden: int

    def flops(self, tokens: int) -> float:
        """FLOPs of reading one sentence of so many subwords."""
        matrices = 4 * self.width**2 + 2 * self.width * self.feed
        return 2.0 * self.layers * tokens * (matrices + 2 * tokens * self.width)


SHAPES = {
    "tiny": Shape(64, 256, 2, 1, 64),
    "base": Shape(768, 3072, 12, 12, 256),
}


class Bench:
    """M and U of Algorithm 1: a random predictor, its optimizer, and candidates drawn by number.

    Candidates are sentences with the span of another one inserted behind a span of theirs. Their
    words are GENIA's, or made up with its lengths; so are the examples of L.

    Attributes:
        what: the sentences, in words.
    """

    def __init__(self, shape: Shape, device: str, genia: Path | None, count: int = 512) -> None:
        found, self.what = references(count, genia)
        self.shape = shape
        self.candidates = [
            _candidate(number, *both)
            for number, both in enumerate(zip(found, reversed(found), strict=True))
        ]
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=28_996, hidden_size=shape.width, intermediate_size=shape.feed,
            num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
        )  # fmt: skip
        tokenizer = tokenizer_of("bert", found)
        self.predictor = CoordinationPredictor(BertModel(config), tokenizer, shape.hidden, 0.5).to(
            device
        )
        self.predictor.eval()
        schedule = Schedule(10_000, 0, 2e-5, 0.01, 1.0, 100, 1000, 0, 1.0)
        self._optimizer = Optimizer(self.predictor, schedule, 0)
        self._updates = 0

    def sample(self, index: int) -> Drawn[CoordinationExample]:
        """SAMPLE(U, 1)."""
        return self.candidates[index % len(self.candidates)]

    def together(self, index: int) -> list[Drawn[CoordinationExample]]:
        """The same, alone in its words."""
        return [self.sample(index)]

    def calc_score(self, candidates: Sequence[Drawn[CoordinationExample]]) -> list[Verdict]:
        """CALCSCORE, as the learner's without self-training."""
        found = self.predictor.opinions([c.example for c in candidates])
        return [
            Verdict(c.example, each.probability if each else 0.0)
            for c, each in zip(candidates, found, strict=True)
        ]

    def batch(self, index: int) -> list[CoordinationExample]:
        """N_batch examples."""
        places = range(index * PAPER.N_batch, (index + 1) * PAPER.N_batch)
        return [self.sample(place).example for place in places]

    def update(self, batch: Sequence[CoordinationExample]) -> None:
        """Line 14."""
        self._optimizer.update(batch, self._updates)
        self._updates += 1

    def forget(self) -> None:
        """Make the next step tokenize its sentences, as if it had not seen them."""
        self.predictor.encoding._kept.clear()

    def flops(self, batch: Sequence[CoordinationExample]) -> float:
        """FLOPs of an update: twice as much backward as forward, no padding, no embedding."""
        encoded = self.predictor.encoding.encode([example.words for example in batch])
        return 3 * sum(self.shape.flops(len(each.ids)) for each in encoded)


def _candidate(number: int, host: Reference, guest: Reference) -> Drawn[CoordinationExample]:
    span = host.span
    fill = guest.words[guest.span.start : guest.span.end]
    words = (*host.words[: span.end], "and", *fill, *host.words[span.end :])
    extent = Span(span.start, span.end + 1 + len(fill))
    example = CoordinationExample(words, (span.end,), (extent,))
    return Drawn(f"c{number}", "NP", len(fill), span.end, example)


class Coin(Acceptance):
    """Accepts the next candidate with a fixed probability, whatever its score; a fixed sequence."""

    description = "a share of the candidates, whatever their scores"
    takes = ()
    state: Mapping[str, Sequence[float]] = {}

    def __init__(self, rate: float, seed: int) -> None:
        self._rate, self._random = rate, random.Random(seed)

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Line 8."""
        return self._random.random() < self._rate

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """A coin remembers nothing."""


def adaptive(bench: Bench, rule: Acceptance, first: int) -> list[Trial]:
    """Lines 3-12 as conjoin runs them, in rounds."""
    return inspect(bench, bench, PAPER, rule, first)  # type: ignore[arg-type]


def one_at_a_time(bench: Bench, rule: Acceptance, first: int) -> list[Trial]:
    """Lines 3-12 as they are printed: one candidate, one pass through the encoder."""
    trials: list[Trial] = []
    while sum(t.accepted for t in trials) < PAPER.K and len(trials) < PAPER.K_max:
        drawn = bench.sample(first + len(trials))
        verdict = bench.calc_score([drawn])[0]
        trials.append(
            Trial(
                drawn,
                verdict,
                rule.accepts(drawn.label, verdict.score, best=verdict.best, share=verdict.share),
                len(trials),
            )
        )
    return trials


def all_at_once(bench: Bench, rule: Acceptance, first: int) -> list[Trial]:
    """Lines 3-12 with all K_max candidates scored beforehand, needed or not."""
    drawn = [bench.sample(first + ahead) for ahead in range(PAPER.K_max)]
    trials: list[Trial] = []
    for each, verdict in zip(drawn, bench.calc_score(drawn), strict=True):
        if sum(t.accepted for t in trials) == PAPER.K:
            break
        trials.append(
            Trial(
                each,
                verdict,
                rule.accepts(each.label, verdict.score, best=verdict.best, share=verdict.share),
                len(trials),
            )
        )
    return trials


WAYS: dict[str, Callable[[Bench, Acceptance, int], list[Trial]]] = {
    "one at a time": one_at_a_time,
    "adaptive rounds": adaptive,
    "all at once": all_at_once,
}

_PARTS: list[tuple[str, Any, str]] = [
    ("scoring", Bench, "calc_score"),
    ("encoder forward", BertModel, "forward"),
    ("scorer forward", EndpointScorer, "log_probabilities"),
    ("backward", torch.Tensor, "backward"),
    ("clipping", nn.utils, "clip_grad_norm_"),
    ("optimizer", torch.optim.AdamW, "step"),
]


@contextmanager
def parts(device: str) -> Iterator[dict[str, float]]:
    """Seconds of each part of a step while this lasts; what is inside a part is that part's."""
    spent: dict[str, float] = {}
    inside: list[str] = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if inside:
                return function(*args, **kwargs)
            inside.append(name)
            start = clock(device)
            try:
                return function(*args, **kwargs)
            finally:
                spent[name] = spent.get(name, 0.0) + clock(device) - start
                inside.pop()

        return call

    before = [(owner, name, getattr(owner, name)) for _, owner, name in _PARTS]
    for (part, owner, name), (_, _, function) in zip(_PARTS, before, strict=True):
        setattr(owner, name, timed(part, function))
    start = clock(device)
    try:
        yield spent
        spent["the rest"] = clock(device) - start - sum(spent.values())
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
