"""How much a generated example counts in the loss: against the labelled ones, and against its like.

A way to weigh candidates against each other is a class here, a line in ``WEIGHTINGS`` and its name among
the choices of ``weigh`` in ``settings.py``.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pipeline.predictor.encoding import Example
from pipeline.train.acceptance import exceeds
from pipeline.train.stream import Drawn

_LONG = 8  # fills of so many words and more are ranked together


class Weighting(Protocol):
    """The weight of each candidate, whose mean over all that were examined is 1, or about that."""

    def weigh(self, drawn: Drawn, probability: float) -> float:
        """The weight of a candidate; asked once of each that is examined, in order.

        Args:
            drawn: the candidate, with the language model's score.
            probability: CalcScore's; -inf says that there is no prediction, and the weight is 0.
        """

    @property
    def state(self) -> Mapping[str, Any]:
        """What it remembers; JSON can hold it."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a ``state``."""


class Alike:
    """All candidates count alike."""

    @property
    def state(self) -> dict[str, Any]:
        """Nothing is remembered."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a ``state``."""

    def weigh(self, drawn: Drawn, probability: float) -> float:
        """One."""
        return 1.0


class ByRank:
    """By the rank of M's probability and of the language model's score among a candidate's like.

    Its like are the last ``window`` candidates examined, itself included, of the same label and the
    same number of words in the fill (8 and more together); for both figures depend on these more than
    on whether the annotation is right. A rank is the share of the window below it, half of what equals
    it but for rounding (itself included) counted as below: in (0, 1), with mean 1/2. The weight is twice
    the mean of the two ranks, so it lies in (0, 2), is 1 for the first of a kind, and 1 on average while
    M does not change; as M grows surer, new candidates rank above old ones, and it is a few per cent more.

    A candidate without a score of the language model has M's rank alone. What M cannot score leaves
    no trace. The outcome depends on the candidates before it in the stream and nothing else.

    Args:
        window: candidates remembered of each kind.
    """

    def __init__(self, window: int = 200) -> None:
        self._window = window
        self._recent: dict[str, deque[tuple[float, float | None]]] = {}

    @property
    def state(self) -> dict[str, Any]:
        """(probability, score) of the remembered candidates of each kind, oldest first."""
        return {kind: [list(pair) for pair in pairs] for kind, pairs in self._recent.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a ``state``."""
        self._recent = {
            kind: deque(((p, score) for p, score in pairs), self._window)
            for kind, pairs in state.items()
        }

    def weigh(self, drawn: Drawn, probability: float) -> float:
        """Twice the mean rank; the candidate is remembered."""
        if probability == -float("inf"):
            return 0.0
        kind = f"{min(drawn.fill_length, _LONG)} {drawn.label}"
        recent = self._recent.setdefault(kind, deque(maxlen=self._window))
        recent.append((probability, drawn.score))
        ranks = [_rank(probability, [p for p, _ in recent])]
        if drawn.score is not None:
            ranks.append(_rank(drawn.score, [score for _, score in recent if score is not None]))
        return 2 * sum(ranks) / len(ranks)


def _rank(value: float, among: Sequence[float]) -> float:
    below, above = sum(exceeds(value, v) for v in among), sum(exceeds(v, value) for v in among)
    return (below + (len(among) - below - above) / 2) / len(among)


WEIGHTINGS: dict[str, type[Alike] | type[ByRank]] = {"none": Alike, "rank": ByRank}


def loss_shares(
    generated: Sequence[Example],
    labelled: Sequence[Example],
    weights: Sequence[float],
    factor: float | None,
) -> list[float] | None:
    """What an instance of each example counts in the loss of a batch, which is Σ share · nll.

    With a factor λ: mean over labelled instances + λ · (Σ w · nll over generated ones) / (their
    number); a term without instances is 0. Without: one mean over all instances of the batch (the
    paper), in which a generated one counts w times and a labelled one once.

    Args:
        generated: those of B.
        labelled: SAMPLE(L, N_batch - K).
        weights: w of each generated example.
        factor: λ, or None.

    Returns:
        Shares of the generated and then of the labelled examples; None where all are one over the
        number of instances.
    """
    if not generated or (factor is None and all(weight == 1 for weight in weights)):
        return None
    theirs, ours = (sum(len(e.coordinators) for e in part) for part in (generated, labelled))
    if factor is None:
        factor, theirs, ours = 1.0, theirs + ours, theirs + ours
    return [factor * w / theirs for w in weights] + [1 / ours for _ in labelled]
