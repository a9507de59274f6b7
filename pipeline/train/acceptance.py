"""Line 8 of Algorithm 1: which scores are believed. δ is the paper's rule.

A new rule is a class here and a line in ``RULES``; the choices of ``--accept`` and its help are read from
it. A number of its own is a field in ``settings.py``.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

ROUNDING = 1e-5
"""Relative difference up to which two scores are equal: in a batch of another shape the score of the same
candidate is rounded otherwise, and what is accepted must not hang on that."""


def exceeds(score: float, other: float) -> bool:
    """Whether a finite score is above another by more than rounding."""
    return score > other + ROUNDING * abs(other)


class Acceptance(Protocol):
    """Line 8's comparison.

    Attributes:
        description: what it accepts, for the help of ``--accept``.
        takes: the settings of ``train`` that it is made from, by their names.
    """

    description: ClassVar[str]
    takes: ClassVar[tuple[str, ...]]

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Whether a candidate is believed; asked once of each, in order.

        Args:
            label: its label.
            score: CALCSCORE. -inf says that there is no prediction; no rule may accept it. NaN where
                nothing depends on it.
            best: whether no other boundary of its coordinator has a higher score.
            share: the score over that of the best boundary of its coordinator, in [0, 1].
        """

    @property
    def state(self) -> Mapping[str, Sequence[float]]:
        """What it remembers."""

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Go on from a ``state``."""


class _Forgetful:
    """What rules have in common whose outcome depends on no score before."""

    __slots__ = ()

    @property
    def state(self) -> dict[str, list[float]]:
        """Nothing is remembered."""
        return {}

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Go on from a ``state``."""


@dataclass(frozen=True, slots=True)
class Everything(_Forgetful):
    """Whatever can be learned (mode no-filter, the paper's "− filtering"): δ = 0."""

    description: ClassVar[str] = "all"
    takes: ClassVar[tuple[str, ...]] = ()

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Whether it can be learned."""
        return score != -float("inf")


@dataclass(frozen=True, slots=True)
class Delta(_Forgetful):
    """CALCSCORE ≥ δ."""

    description: ClassVar[str] = "score ≥ δ"
    takes: ClassVar[tuple[str, ...]] = ("delta",)
    delta: float

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Whether the score reaches δ, whatever the label."""
        return score >= self.delta


class BestShare:
    """The best ``share`` of the recent scores of the candidate's own label.

    So every category is learned at the same rate, however little the model believes of it. The
    window holds the last scores of a label, this one included; a candidate is accepted if fewer
    than ``share`` of them are above it (scores equal but for rounding share the better rank). What has
    no score (-inf) is refused and leaves no trace. The outcome depends on the scores before it in the
    stream and nothing else.

    Args:
        share: in (0, 1]; 1 accepts all that can be scored.
        window: scores remembered of each label.
    """

    description: ClassVar[str] = "among the best --share of the last 200 scores of their own label"
    takes: ClassVar[tuple[str, ...]] = ("share",)

    def __init__(self, share: float, window: int = 200) -> None:
        self._share, self._window = share, window
        self._recent: dict[str, deque[float]] = {}

    @property
    def state(self) -> dict[str, list[float]]:
        """The remembered scores of each label, oldest first."""
        return {label: list(scores) for label, scores in self._recent.items()}

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Go on from a ``state``."""
        self._recent = {label: deque(scores, self._window) for label, scores in state.items()}

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Whether the score is among the best of its label; it is remembered."""
        if score == -float("inf"):
            return False
        recent = self._recent.setdefault(label, deque(maxlen=self._window))
        recent.append(score)
        return sum(exceeds(other, score) for other in recent) < self._share * len(recent)


@dataclass(frozen=True, slots=True)
class Agreement(_Forgetful):
    """The candidate's boundary is the predictor's own: its argmax, however probable.

    Two ways to the same boundary, the candidate's source and M, are seldom wrong alike.
    """

    description: ClassVar[str] = "the boundary is the predictor's best"
    takes: ClassVar[tuple[str, ...]] = ()

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Whether the boundary is the best, whatever its score."""
        return best


@dataclass(frozen=True, slots=True)
class Relative(_Forgetful):
    """The boundary has at least ``relative`` of the probability of the predictor's own best one.

    The paper's δ asks how sure M is: a predictor of few labels spreads its probability over many boundaries,
    of long sentences most of all, so little reaches 0.7 and the rule starves. ``Agreement`` asks that M have
    had the candidate's boundary already, and throws away what it could still learn. A small share of the
    best keeps what M could believe, however many boundaries there are, and refuses what it is sure is wrong.

    Args:
        relative: in (0, 1]; 1 accepts the best alone, and what is equal to it.
    """

    description: ClassVar[str] = (
        "at least --relative of the probability of the predictor's best boundary"
    )
    takes: ClassVar[tuple[str, ...]] = ("relative",)
    relative: float

    def accepts(self, label: str, score: float, *, best: bool = False, share: float = 0.0) -> bool:
        """Whether the share of the best reaches that, whatever the label."""
        return score != -float("inf") and share >= self.relative


RULES: dict[str, type[Acceptance]] = {
    "delta": Delta, "quantile": BestShare, "agree": Agreement, "relative": Relative,
}  # fmt: skip

if TYPE_CHECKING:
    RuleName = str
else:
    RuleName = Literal[tuple(RULES)]


def rule_of(name: str, settings: Any) -> Acceptance:
    """The rule of a name, made from the settings that it takes."""
    rule = RULES[name]
    return rule(**{setting: getattr(settings, setting) for setting in rule.takes})
