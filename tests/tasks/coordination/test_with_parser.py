"""Whose structure is taken at a coordinator: a parser's, or the predictor's most probable boundary."""

from pathlib import Path

import pytest
import tiny

from pipeline.core.types import Coordination, Span
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction
from pipeline.tasks.coordination.with_parser import BothAnswers, both_answers, probability_of

WORDS = tuple("the old man and small dog saw it".split())  # noqa: SIM905
STRUCTURE = Coordination(3, "and", "NP", (Span(0, 3), Span(4, 6)))
BEST = Prediction(Span(1, 6), 0.5, (Span(1, 3), Span(4, 6)))


@pytest.mark.parametrize(
    ("answer", "ways"),
    [
        (BothAnswers(STRUCTURE, BEST, 0.4), {"alone", "else", "together"}),
        (BothAnswers(STRUCTURE, BEST, 0.0005), {"alone", "else", "together"}),  # just τ of the best
        (BothAnswers(STRUCTURE, BEST, 0.0004), {"alone", "else"}),
        (BothAnswers(STRUCTURE, None, None), {"alone", "else", "together"}),  # too long to object
        (BothAnswers(None, BEST, None), set()),
        (BothAnswers(None, None, None), set()),
    ],
)
def test_the_rule(answer: BothAnswers, ways: set[str]) -> None:
    """A parser's structure stands, by τ unless the predictor thinks little of it; of none there is none."""
    assert {way for way in ("alone", "else", "together") if answer.takes_structure(way)} == ways


def test_tau_decides() -> None:
    """τ 0 is the parser whatever the predictor says, τ 1 only what is the predictor's best as well."""
    answer = BothAnswers(STRUCTURE, BEST, 0.1)
    assert answer.takes_structure("together", 0)
    assert answer.takes_structure("together", 0.2)
    assert not answer.takes_structure("together", 0.21)
    assert BothAnswers(STRUCTURE, BEST, 0.5).takes_structure("together", 1)
    with pytest.raises(ValueError, match="alone, else or together, was 'both'"):
        answer.takes_structure("both")


def test_the_predictors_opinion_is_that_of_the_predictor(tiny_bert: Path) -> None:
    """Its best is what it predicts, and the probability that of the structure's outer boundary."""
    model = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).eval()
    long = (*WORDS * 40, "and", "it")
    sentences, ks = [WORDS, WORDS, long], [3, 3, len(long) - 2]
    structures = [STRUCTURE, None, None]
    first, second, third = both_answers(model, sentences, ks, structures)
    assert [first.best, second.best, third.best] == model.predict(sentences, ks)
    assert third.best is None
    assert second.probability is None
    (wanted,) = tiny.probabilities(model, [WORDS], [3], [Span(0, 6)])
    assert first.probability == pytest.approx(wanted)
    outside = Coordination(3, "and", "NP", (Span(0, 1), Span(1, 3)))
    ((_, scores),) = model.distributions([WORDS], [3])
    assert probability_of(outside, WORDS, scores) is None
