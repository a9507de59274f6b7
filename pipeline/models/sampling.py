"""Draws of next tokens that depend on no batch: a number for each, and the inverse of the distribution."""

import hashlib

import torch
from torch import Tensor


def uniform(seed: int, key: str, sample: int, position: int) -> float:
    """A number in [0, 1), a pure function of its arguments (53 bits of their SHA-256)."""
    digest = hashlib.sha256(f"{seed}\0{key}\0{sample}\0{position}".encode()).digest()
    return float(int.from_bytes(digest[:8], "big") >> 11) * 2.0**-53


def draw(scores: Tensor, uniforms: Tensor, temperature: float, top_p: float) -> Tensor:
    """Tokens drawn by the inverse of the cumulative distribution, in the vocabulary's order.

    The order of the vocabulary, unlike that of the probabilities, does not change with rounding, so
    a draw hardly ever depends on the batch.

    Args:
        scores: synchronized scores, ``[places, V]``; -inf for a token that may not be drawn.
        uniforms: numbers in [0, 1), ``[places, k]``: as many draws per place.
        temperature: what the scores are divided by.
        top_p: mass of the nucleus (Holtzman et al., 2020); 1 keeps all tokens.

    Returns:
        Tokens ``[places, k]``.
    """
    weights = (scores / temperature).softmax(-1)
    if top_p < 1:
        weights = _nucleus(weights, top_p)
    mass = weights.double().cumsum(-1)
    wanted = uniforms.to(mass) * mass[..., -1:]
    # right=True: a token of no weight, whose mass equals its predecessor's, is passed over.
    return torch.searchsorted(mass, wanted, right=True).clamp_(max=scores.shape[-1] - 1)


def _nucleus(weights: Tensor, top_p: float) -> Tensor:
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.double().cumsum(-1) - ordered
    return weights.masked_fill(
        torch.zeros_like(weights, dtype=torch.bool).scatter(-1, order, before >= top_p), 0
    )
