"""Synchronization: one score vector from two contexts (f of Eq. 1 and 2)."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

__all__ = ["Scored", "Scores", "Synchronizer"]


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

    def cpu(self) -> "Scored":
        """The same in main memory, brought there once instead of number by number."""
        prepend = None if self.prepend is None else self.prepend.cpu()
        return Scored(self.tokens.cpu(), self.fused.cpu(), self.append.cpu(), prepend)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of every token of the vocabulary, each fp32 ``[places, V]``.

    ``fused`` are the synchronized scores u′, ``append`` and ``prepend`` the logits under S′(1) and
    S′(2) (``prepend`` is None without synchronization).
    """

    fused: Tensor
    append: Tensor
    prepend: Tensor | None

    def of(self, tokens: Tensor, places: Tensor | None = None) -> Scored:
        """Log-probabilities of some tokens, ``[rows, k]``.

        Args:
            tokens: the tokens.
            places: at which place each is looked up; None: row i at place i.
        """
        if places is None:
            places = torch.arange(len(tokens), device=tokens.device).unsqueeze(-1)

        def log_probability(scores: Tensor) -> Tensor:
            return scores[places, tokens] - scores.logsumexp(-1)[places]

        return Scored(
            tokens=tokens,
            fused=log_probability(self.fused),
            append=log_probability(self.append),
            prepend=None if self.prepend is None else log_probability(self.prepend),
        )


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

    def _prepared(self, logits: Tensor) -> Tensor:
        return logits.log_softmax(-1) if self.scores == "logprobs" else logits
