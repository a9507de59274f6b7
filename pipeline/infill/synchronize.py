"""Synchronization: one score vector from two contexts (f of Eq. 1 and 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Normalizers = list[Tensor]
"""Logarithms of the sums of exponentials of fused, append and, with synchronization, prepend, each
``[places, 1]``."""

_TINY = 1e-20
"""Sums of exponentials below this lose digits to numbers too small for fp32."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Chosen tokens with their log-probabilities, all of one shape.

    ``fused`` is under the softmax of the synchronized scores; ``append`` and ``prepend`` under each
    context alone (``prepend`` is None without synchronization).
    """

    tokens: Tensor
    fused: Tensor
    append: Tensor
    prepend: Tensor | None

    @classmethod
    def of(cls, tokens: Tensor, kinds: Sequence[Tensor]) -> "Scored":
        """From tokens and ``kinds``."""
        fused, append, *prepend = kinds
        return cls(tokens, fused, append, prepend[0] if prepend else None)

    @property
    def kinds(self) -> list[Tensor]:
        """The log-probabilities there are: fused, append and, with synchronization, prepend."""
        return [self.fused, self.append, *([] if self.prepend is None else [self.prepend])]


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of every token of the vocabulary, each fp32 ``[places, V]``.

    ``fused`` are the synchronized scores u′, ``append`` and ``prepend`` the logits under S′(1) and
    S′(2) (``prepend`` is None without synchronization).
    """

    fused: Tensor
    append: Tensor
    prepend: Tensor | None

    def of(self, tokens: Tensor, normalizers: Normalizers | None = None) -> Scored:
        """Log-probabilities of some tokens at each place, ``[places, k]``.

        Args:
            tokens: the tokens.
            normalizers: of these scores, if they are known.
        """
        kinds = [self.fused, self.append, *([] if self.prepend is None else [self.prepend])]
        known = normalizers or [each.logsumexp(-1, keepdim=True) for each in kinds]
        found = [each.gather(-1, tokens) - z for each, z in zip(kinds, known, strict=True)]
        return Scored.of(tokens, found)


@dataclass(frozen=True, slots=True)
class Synchronizer:
    """Combines the logits under S′(1) and S′(2).

    ``min`` keeps a token from winning by overfitting one context (§3.2.1); ``mean`` is the paper's
    foil. ``logits`` is Eq. 1 and 2; ``logprobs`` normalises each context first, as the minimum
    inside beam search of common libraries would.
    """

    combine: Literal["min", "mean"] = "min"
    scores: Literal["logits", "logprobs"] = "logits"

    def join(self, append: Tensor, prepend: Tensor | None) -> Scores:
        """Synchronized scores u′ of Eq. 1 and 2, beside those of each context.

        Args:
            append: logits under S′(1), ``[places, V]``.
            prepend: logits under S′(2), ``[places, V]``, or None without synchronization.
        """
        # bf16 logits tie at the top in a few percent of steps; fp32 costs nothing here.
        append = append.float()
        if prepend is None:
            return Scores(self._prepared(append), append, None)
        prepend = prepend.float()
        first, second = self._prepared(append), self._prepared(prepend)
        low = self.combine == "min"
        fused = torch.minimum(first, second) if low else (first + second) / 2
        return Scores(fused, append, prepend)

    def normalizers(self, scores: Scores) -> Normalizers:
        """What turns ``scores``, as ``join`` made them, into log-probabilities.

        Of the minimum of two logits the exponential is the minimum of theirs: two exponentials per
        token instead of three, which with a small model is a good part of all time. A maximum is
        subtracted first only where it must be: that would cost as much again.
        """
        every = [each for each in (scores.append, scores.prepend) if each is not None]
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

    def _prepared(self, logits: Tensor) -> Tensor:
        return logits.log_softmax(-1) if self.scores == "logprobs" else logits
