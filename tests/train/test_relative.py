"""Acceptance by a share of the predictor's best: what a model says, the rule, and a run with it."""

import math
from pathlib import Path
from random import Random

import pytest
import tiny
from tiny import build, scored, settings

from pipeline.core.documents import read_json
from pipeline.core.types import Span
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train
from pipeline.train.acceptance import Relative, rule_of
from pipeline.train.settings import TrainSettings

WORDS = "the old man saw small dog near harbor girl sold lamp zygote".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("data") / "tiny")


def create(tiny_bert: Path, seed: int) -> CoordinationPredictor:
    return CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=seed).eval()


def asked(count: int = 20) -> tuple[list[tuple[str, ...]], list[int], list[Span]]:
    """Random structures around "and"."""
    draw, found = Random(0), []
    for _ in range(count):
        words = draw.choices(WORDS, k=draw.randint(4, 12))
        k = draw.randrange(1, len(words) - 1)
        words[k] = "and"
        found.append(
            (tuple(words), k, Span(draw.randrange(k), draw.randrange(k + 2, len(words) + 1)))
        )
    words_, ks, spans = (list(each) for each in zip(*found, strict=True))
    return words_, ks, spans  # type: ignore[return-value]


def test_the_share_is_of_the_best_boundary(tiny_bert: Path) -> None:
    """The probability over the predicted one's; 1 of the best and of no other."""
    model, (words, ks, spans) = create(tiny_bert, 1), asked()
    best, found = model.predict(words, ks), model.opinions(tiny.examples_of(words, ks, spans))
    for opinion, most, span in zip(found, best, spans, strict=True):
        assert opinion is not None
        assert most is not None
        assert opinion.share == pytest.approx(opinion.probability / most.probability, rel=1e-4)
        assert 0 < opinion.share <= 1
        assert opinion.best == (opinion.share == 1) == (most.span == span)
    own = model.opinions(
        tiny.examples_of(words, ks, [p.span for p in model.predict(words, ks) if p])
    )
    assert all(o is not None and o.share == 1 and o.best for o in own)


def test_a_share_is_given_where_no_float_holds_the_probabilities(tiny_bert: Path) -> None:
    """A sure model's second best: the quotient of two numbers would be 0 over 1."""
    model, (words, ks, spans) = create(tiny_bert, 1), asked()
    model.scorer.second.weight.data *= 30
    for opinion, (_, scores), span, k in zip(
        model.opinions(tiny.examples_of(words, ks, spans)),
        sorted(model.distributions(words, ks)), spans, ks, strict=True,
    ):  # fmt: skip
        assert opinion is not None
        log = float(scores[span.start, span.end - 2 - k] - scores.max())
        assert opinion.share == pytest.approx(math.exp(log), rel=1e-4)


@pytest.mark.parametrize(
    ("score", "share", "accepted"),
    [
        (0.9, 1.0, True), (1e-6, 0.01, True), (0.01, 0.0099, False), (0.0, 0.0, False),
        (-math.inf, 0.0, False), (-math.inf, 1.0, False), (math.nan, math.nan, False),
    ],
)  # fmt: skip
def test_the_rule(score: float, share: float, accepted: bool) -> None:
    """The probability itself does not count, nor does what cannot be scored."""
    assert Relative(0.01).accepts("NP", score, share=share) is accepted


def test_the_rule_is_made_from_its_setting(tmp_path: Path) -> None:
    """A thousandth, unless it is said otherwise."""
    given = TrainSettings(corpus=tmp_path, candidates="c", accept="relative")
    assert rule_of("relative", given) == Relative(0.001)


@pytest.mark.long
def test_a_run_by_shares_of_the_best(corpus: Path, tmp_path: Path) -> None:
    """Lower bars accept more; at 1 it is agreement; the bar is recorded, where it is used alone."""
    accepted = {}
    for name, given in {
        "low": {"accept": "relative", "relative": 1e-9}, "middle": {"accept": "relative", "relative": 0.3},
        "one": {"accept": "relative", "relative": 1.0}, "agree": {"accept": "agree"},
    }.items():  # fmt: skip
        train.run(settings(corpus, out=tmp_path / name, k_max=8, **given))
        accepted[name] = [(row["candidate_id"], row["accepted"]) for row in scored(tmp_path / name)]
    rates = {name: sum(a for _, a in rows) / len(rows) for name, rows in accepted.items()}
    assert rates["low"] == 1 > rates["middle"] > rates["one"] > 0
    assert accepted["one"] == accepted["agree"]
    recorded = {name: read_json(tmp_path / name / "run.json")["settings"] for name in accepted}
    assert recorded["middle"]["relative"] == 0.3
    assert "relative" not in recorded["agree"]


@pytest.mark.parametrize("accept", ["agree", "relative"])
def test_self_training_has_nothing_to_ask(accept: str) -> None:
    """There the boundary is the best by definition."""
    with pytest.raises(ValueError, match=f"accept {accept} asks nothing"):
        TrainSettings(corpus="x", candidates="c", mode="self-train", accept=accept)  # type: ignore[arg-type]
