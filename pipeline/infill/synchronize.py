"""Synchronization: one score vector from two contexts (f of Eq. 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

_TINY = 1e-20
"""Sums of exponentials below this lose digits to numbers too small for fp32."""


@dataclass(frozen=True, slots=True)
class ScoredTokens:
    """Chosen tokens with ``kinds`` of log-probabilities, all of one shape.

    The first kind is under the softmax of the synchronized scores, the others under S′(1) and, with
    synchronization, S′(2) alone.
    """

    tokens: Tensor
    kinds: Sequence[Tensor]

    @property
    def fused(self) -> Tensor:
        """The log-probabilities under the synchronized scores."""
        return self.kinds[0]


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of every token of the vocabulary, each fp32 ``[places, V]``.

    ``fused`` are the synchronized scores u′; ``contexts`` the logits under S′(1) and, with
    synchronization, S′(2).
    """

    fused: Tensor
    contexts: Sequence[Tensor]

    def of(self, tokens: Tensor, normalizers: Sequence[Tensor] = ()) -> ScoredTokens:
        """Log-probabilities of some tokens at each place, ``[places, k]``.

        Args:
            tokens: the tokens.
            normalizers: of these scores, if they are known.
        """
        kinds = (self.fused, *self.contexts)
        known = normalizers or [each.logsumexp(-1, keepdim=True) for each in kinds]
        found = [each.gather(-1, tokens) - z for each, z in zip(kinds, known, strict=True)]
        return ScoredTokens(tokens, found)


@dataclass(frozen=True, slots=True)
class Synchronizer:
    """Combines the logits under S′(1) and S′(2).

    ``min`` keeps a token from winning by overfitting one context (§3.2.1); ``mean`` is the alternative
    that the paper compares with. ``logits`` is Eq. 1 and 2; ``logprobs`` normalises each context first,
    as the minimum inside beam search of common libraries would.
    """

    combine: Literal["min", "mean"] = "min"
    scores: Literal["logits", "logprobs"] = "logits"

    def join(self, *logits: Tensor) -> Scores:
        """Synchronized scores u′ of Eq. 1 and 2, beside those of each context.

        Args:
            logits: under S′(1) and, with synchronization, under S′(2), each ``[places, V]``.
        """
        # bf16 logits tie at the top in a few percent of steps; fp32 costs nothing here.
        contexts = [each.float() for each in logits]
        normalised = self.scores == "logprobs"
        first, *second = [each.log_softmax(-1) for each in contexts] if normalised else contexts
        return Scores(self.combined(first, *second), contexts)

    def combined(self, first: Tensor, *second: Tensor) -> Tensor:
        """Joint scores, f of those under S′(1) and any under S′(2), of one shape."""
        if not second:
            return first
        low = self.combine == "min"
        return torch.minimum(first, second[0]) if low else (first + second[0]) / 2

    def normalizers(self, scores: Scores) -> list[Tensor]:
        """What turns ``scores``, as ``join`` made them, into log-probabilities.

        exp(min(a, b)) = min(exp(a), exp(b)): two exponentials per token instead of three, which with a
        small model is a large part of the run time. A maximum is
        subtracted first only where it must be: that would cost as much again.

        Returns:
            Logarithms of the sums of exponentials, of fused and of each context, ``[places, 1]``.
        """
        every = scores.contexts
        if not scores.fused.is_cuda:
            powers = [each.exp() for each in every]
            sums = [each.sum(-1, keepdim=True) for each in powers]
            if len(every) == 2 and self.combine == "min" and self.scores == "logits":
                both = torch.minimum(*powers, out=powers[0])
            else:
                both = torch.exp(scores.fused, out=powers[0])
            sums = [both.sum(-1, keepdim=True), *sums]
            # Not usable where one overflows, underflows or is NaN.
            if all(bool(((each > _TINY) & (each < torch.inf)).all()) for each in sums):
                return [each.log_() for each in sums]
        return [each.logsumexp(-1, keepdim=True) for each in (scores.fused, *every)]
