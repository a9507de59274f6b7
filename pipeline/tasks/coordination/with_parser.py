"""A parser and a predictor at one coordinator: whose structure is taken.

A parser finds whole structures, with label and all conjuncts, and at many coordinators none; a predictor has
a probability of every outer boundary of every coordinator. The rule, by how they are combined:

- ``ALONE``: the parser's structure; where it has none there is none, which counts as wrong.
- ``ELSE``: the parser's structure; where it has none, the predictor's most probable boundary and its
  conjuncts (``conjuncts``).
- ``TOGETHER``: the parser's structure, unless the predictor's probability of its outer boundary is below τ
  times that of the predictor's best; then, and where the parser has none, the predictor's most probable one.

What the predictor cannot score (the sentence is too long for its encoder) it cannot object to: there the
parser's structure stands. τ = 0 is ``ELSE``; with τ > 1 the predictor decides alone, unless it cannot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from pipeline.core.runs import ALONE, ELSE, TOGETHER, USUAL_TAU
from pipeline.core.types import Coordination, Span
from pipeline.models.words import BATCH_TOKENS
from pipeline.tasks.coordination.examples import obstacle
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction


@dataclass(frozen=True, slots=True)
class BothAnswers:
    """What both say of one coordinator.

    Attributes:
        structure: the parser's; None: it has none there.
        best: the predictor's most probable boundary; None: it cannot score this coordinator.
        probability: the predictor's of the parser's outer boundary; None where either has none.
    """

    structure: Coordination | None
    best: Prediction | None
    probability: float | None

    def takes_structure(self, combined: str, tau: float = USUAL_TAU) -> bool:
        """Whether the parser's structure is taken.

        Args:
            combined: ``ALONE``, ``ELSE`` or ``TOGETHER``.
            tau: of ``TOGETHER``.

        Raises:
            ValueError: there is no such way.
        """
        if combined not in (ALONE, ELSE, TOGETHER):
            raise ValueError(f"combined must be alone, else or together, was {combined!r}")
        if self.structure is None:
            return False
        if combined != TOGETHER or self.best is None or self.probability is None:
            return True
        return self.probability >= tau * self.best.probability


def both_answers(
    predictor: CoordinationPredictor,
    sentences: Sequence[Sequence[str]],
    coordinators: Sequence[int],
    structures: Sequence[Coordination | None],
    batch_tokens: int = BATCH_TOKENS,
) -> list[BothAnswers]:
    """What a predictor and a parser say of each coordinator, in the order given.

    Args:
        predictor: on the device that shall do the work.
        sentences: the words of each instance's sentence, as ``CoordinationPredictor.predict`` takes them.
        coordinators: the word index of each instance's coordinator.
        structures: the parser's at each of them.
        batch_tokens: subwords encoded together.
    """
    found = [BothAnswers(structure, None, None) for structure in structures]
    for one in predictor.scored(sentences, coordinators, batch_tokens):
        words, structure = sentences[one.index], structures[one.index]
        (best,) = predictor.best(words, coordinators[one.index], one)
        probability = probability_of(structure, words, one.scores)
        found[one.index] = BothAnswers(structure, best, probability)
    return found


def probability_of(
    structure: Coordination | None, words: Sequence[str], scores: Tensor
) -> float | None:
    """A predictor's probability of a structure's outer boundary; None where it is no pair that it scores.

    Args:
        structure: at the coordinator that ``scores`` are of; None: there is none.
        words: of the sentence.
        scores: log-probabilities ``[k, n - k - 1]``, as ``CoordinationPredictor.distributions`` yields them.
    """
    if structure is None:
        return None
    k, extent = structure.coordinator, Span(structure.start, structure.end)
    if obstacle(words, k, extent) is not None:
        return None
    return float(scores[extent.start, extent.end - 2 - k].exp())
