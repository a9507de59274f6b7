"""What a step-by-step decoder has written so far, and the limits it keeps to (§3.2.2)."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.mechanisms.sync import Scored

__all__ = ["Limits", "Step", "Trace", "steps_of"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Fill lengths allowed for a reference span of ``count`` tokens."""

    count: int

    @property
    def shortest(self) -> int:
        """One third of the reference's length, rounded up."""
        return -(-self.count // 3)

    @property
    def longest(self) -> int:
        """Three times the reference's length."""
        return 3 * self.count


@dataclass(frozen=True, slots=True)
class Step:
    """One token with its log-probabilities: synchronized, under S′(1) and under S′(2)."""

    token: int
    fused: float
    append: float
    prepend: float | None


@dataclass(frozen=True, slots=True)
class Trace:
    """Tokens of a fill and the sums of their log-probabilities; ``cut`` if it had no end."""

    tokens: tuple[int, ...] = ()
    fused: float = 0.0
    append: float = 0.0
    prepend: float | None = None
    cut: bool = False

    def then(self, step: Step, longest: int) -> "Trace":
        """This trace with one more token; cut if that is the last allowed."""
        prepend = None if step.prepend is None else (self.prepend or 0.0) + step.prepend
        return Trace(
            (*self.tokens, step.token),
            self.fused + step.fused,
            self.append + step.append,
            prepend,
            cut=len(self.tokens) + 1 >= longest,
        )


def steps_of(scored: Scored) -> Iterator[Step]:
    """The tokens of ``scored`` one by one, in row-major order."""
    tokens, fused = scored.tokens.flatten().tolist(), scored.fused.flatten().tolist()
    append = scored.append.flatten().tolist()
    prepend = [None] * len(tokens) if scored.prepend is None else scored.prepend.flatten().tolist()
    return map(Step, tokens, fused, append, prepend)
