"""What a step-by-step decoder has written, and the limits it keeps to (§3.2.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Limits", "Trace"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Fewest and most tokens of a fill."""

    shortest: int
    longest: int

    @classmethod
    def around(cls, count: int) -> "Limits":
        """A third of the reference span's ``count`` tokens, rounded up, to three times as many."""
        return cls(-(-count // 3), 3 * count)


@dataclass(frozen=True, slots=True)
class Trace:
    """Tokens of a fill and the means of their log-probabilities; ``cut`` if it had no end.

    ``fused`` is under the synchronized scores, ``append`` and ``prepend`` under S′(1) and S′(2).
    """

    tokens: tuple[int, ...]
    fused: float
    append: float
    prepend: float | None
    cut: bool

    @classmethod
    def of(cls, tokens: Sequence[int], means: Sequence[float], *, cut: bool) -> "Trace":
        """From the means under fused, S′(1) and, with synchronization, S′(2)."""
        fused, append, *prepend = means
        return cls(tuple(tokens), fused, append, prepend[0] if prepend else None, cut)

    @property
    def finite(self) -> bool:
        """Whether the model's scores were numbers throughout."""
        return math.isfinite(self.fused)
