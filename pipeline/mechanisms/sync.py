"""Synchronization: one score vector from two contexts (f of Eq. 1 and 2)."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

__all__ = ["Scored", "Synchronizer"]


@dataclass(frozen=True, slots=True)
class Scored:
    """Tokens chosen from synchronized scores, with their log-probabilities; all of shape ``[...]``.

    ``fused`` is under the softmax of the synchronized scores; ``append`` and ``prepend`` under each
    context alone (``prepend`` is None without synchronization).
    """

    tokens: Tensor
    fused: Tensor
    append: Tensor
    prepend: Tensor | None


@dataclass(frozen=True, slots=True)
class Synchronizer:
    """Combines the logits under S′(1) and S′(2), and chooses the best token.

    ``min`` keeps a token from winning by overfitting one context (§3.2.1); ``mean`` is the paper's
    foil. ``logits`` is Eq. 1 and 2; ``logprobs`` normalises each context first, as the minimum
    inside beam search of common libraries would.
    """

    combine: Literal["min", "mean"] = "min"
    scores: Literal["logits", "logprobs"] = "logits"

    def fuse(self, append: Tensor, prepend: Tensor | None) -> Tensor:
        """Synchronized scores u′, fp32 ``[..., V]``; without ``prepend``, the append scores."""
        append = self._prepared(append)
        if prepend is None:
            return append
        prepend = self._prepared(prepend)
        if self.combine == "min":
            return torch.minimum(append, prepend)
        return (append + prepend) / 2

    def _prepared(self, logits: Tensor) -> Tensor:
        # bf16 logits tie at the top in a few percent of steps; fp32 costs nothing here.
        logits = logits.float()
        return logits.log_softmax(-1) if self.scores == "logprobs" else logits

    def choose(
        self, append: Tensor, prepend: Tensor | None, banned: Tensor | None = None
    ) -> Scored:
        """Argmax of the synchronized scores (Eq. 1 and 2).

        Args:
            append: logits under S′(1), ``[..., V]``.
            prepend: logits under S′(2), ``[..., V]``, or None without synchronization.
            banned: boolean mask broadcastable to ``[..., V]`` of tokens that may not be chosen.
        """
        fused = self.fuse(append, prepend)
        allowed = fused if banned is None else fused.masked_fill(banned, -torch.inf)
        tokens = allowed.argmax(-1)

        def log_probability(scores: Tensor) -> Tensor:
            chosen = scores.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
            return chosen - scores.logsumexp(-1)

        return Scored(
            tokens=tokens,
            fused=log_probability(fused),
            append=log_probability(append.float()),
            prepend=None if prepend is None else log_probability(prepend.float()),
        )
