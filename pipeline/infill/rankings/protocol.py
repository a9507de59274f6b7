"""What a ranking of attested fills is given, and what it gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from pipeline.core.types import Attested, Reference


@dataclass(frozen=True, slots=True)
class ReferenceOptions:
    """A reference and what may stand beside it: options, at least one, whose tokens are ``tokens``."""

    reference: Reference
    options: tuple[Attested, ...]
    tokens: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class OptionScores:
    """What a language model says of the options of several choices; beyond those of a choice, anything.

    Attributes:
        means: mean log-probabilities of an option's tokens, fp64 ``[kinds, choices, options]``: under the
            synchronized scores u′, under S′(1) and, with synchronization, under S′(2).
        ended: those under u′ with the end of the fill, ``[choices, options]``; without it, as the first
            of ``means``, where the model fills a given number of masks and writes no end.
        rest: mean log-probabilities of an option's tokens and all that follows them in the sentence, of each
            twin, then joined as u′ is, ``[choices, options]``; None of a model that looks at the blank alone.
    """

    means: Tensor
    ended: Tensor
    rest: Tensor | None = None


class Ranking(Protocol):
    """A ranking: a function of what a language model says of options."""

    def __call__(self, scores: OptionScores, choices: Sequence[ReferenceOptions], /) -> Tensor:
        """A score for each option, ``[choices, options]``, of which the highest is the best.

        Sampling draws from the softmax of these scores. Those beyond a choice's options do not count; a
        choice with an option whose score is no number is refused.

        Args:
            scores: of the options.
            choices: references with their options, in the same order.
        """
