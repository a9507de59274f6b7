"""How fills are chosen from synchronized scores: greedily, by sampling, or as the N best.

The paper takes the argmax (Eq. 1 and 2), which is the default. The other two trade likelihood for
variety. ``Limits`` are the lengths that a step-by-step decoder keeps to (§3.2.2), ``Trace`` is what a
decoder wrote.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.core.errors import SettingsError
from pipeline.core.types import Reference


@dataclass(frozen=True, slots=True)
class Decoding:
    """How many fills of a reference to choose, and by what.

    Attributes:
        kind: ``greedy`` is the paper; ``sample`` draws from the softmax of the synchronized scores;
            ``n-best`` searches for the ``fills`` most probable fills.
        fills: N, fills per reference.
        temperature: sampling divides the synchronized scores by it.
        top_p: sampling keeps the most probable tokens that together have at least this probability.
        beams: width of T5's beam search; None: the greater of ``fills`` and 4.
        seed: with the reference, the sample's number and the position it determines a draw.

    Raises:
        SettingsError: greedy decoding with several fills, or fewer beams than fills.
    """

    kind: Literal["greedy", "sample", "n-best"] = "greedy"
    fills: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    beams: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind == "greedy" and self.fills != 1:
            raise SettingsError(
                f"greedy decoding gives one fill, was: n = {self.fills}",
                remedy="choose decoding sample or n-best",
            )
        if self.beams is not None and self.beams < self.fills:
            raise SettingsError(f"beams must be at least N, was: {self.beams} < {self.fills}")

    @property
    def width(self) -> int:
        """Beams of the search for the N best."""
        return self.beams or max(self.fills, 4)


def key_of(reference: Reference) -> str:
    """What identifies a reference in a draw: its sentence and span, not its position in a batch.

    Each further conjunct has a draw of its own.
    """
    key = f"{reference.sentence_id}\0{reference.span.start}\0{reference.span.end}"
    return key + f"\0{len(reference.placed)}" * bool(reference.placed)


def best_ranks(scores: Sequence[Sequence[float]], count: int) -> list[tuple[int, ...]]:
    """The ``count`` best sequences under a product of independent positions, best first.

    Args:
        scores: per position the log-probabilities of its best tokens, descending.
        count: how many sequences; fewer if there are not so many.

    Returns:
        Per sequence the rank of its token at each position.
    """
    best = (0,) * len(scores)
    heap = [(-sum(row[0] for row in scores), best)]
    found: list[tuple[int, ...]] = []
    while heap and len(found) < count:
        cost, ranks = heapq.heappop(heap)
        found.append(ranks)
        # Each sequence has one parent, its last non-zero rank one lower, which costs no more.
        last = max((i for i, rank in enumerate(ranks) if rank), default=0)
        for i in range(last, len(ranks)):
            row, rank = scores[i], ranks[i] + 1
            if rank < len(row):
                child = (*ranks[:i], rank, *ranks[i + 1 :])
                heapq.heappush(heap, (cost + row[rank - 1] - row[rank], child))
    return found


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
