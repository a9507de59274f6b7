"""What pretraining hides from a model: BERT's masked tokens and T5's corrupted spans.

Both draw from a ``numpy`` generator that the caller seeds, and both hide *words*: a fill stands
between words at generation, so spans that begin inside one would teach the wrong thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["IGNORED", "Masking", "corrupt_spans", "draw_spans", "mask_tokens", "spread_to_tokens"]

IGNORED = -100
"""Label of a position that has no part in the loss (the value torch's cross-entropy skips)."""

_MASKED, _RANDOM = 0.8, 0.9  # 80 % mask token, 10 % random token, 10 % left as it is

_Flags = NDArray[np.bool_]
_Ids = NDArray[np.int64]


def _composition(total: int, parts: int, rng: np.random.Generator) -> list[int]:
    """``total`` as an ordered sum of ``parts`` positive integers, each such sum equally likely."""
    if parts == 1:
        return [total]
    cuts = np.sort(rng.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff([0, *cuts, total]).tolist()  # type: ignore[no-any-return]


def _rounded(value: float, rng: np.random.Generator) -> int:
    """An integer whose expectation is ``value``, so that short sentences are not biased."""
    return int(value + rng.random())


def draw_spans(
    length: int, density: float, mean_span: float, rng: np.random.Generator, most: int
) -> _Flags:
    """Which of ``length`` positions lie in corrupted spans, bool ``[length]``.

    The idea is T5's (Raffel et al., 2020, §3.1.4): a number of noise positions, cut into spans of a
    given mean length. Two things differ, because inputs are single sentences here. T5 always begins
    with text and ends with noise; here either end may be either. And the share of noise is uniform
    in ``(0, 2 density)``: at a fixed share, a lone span would have one length for each sentence
    length, while generation asks for anything from a word to a clause.

    Args:
        length: positions of the sequence.
        density: mean share of positions in spans.
        mean_span: mean length of a span.
        rng: the source of chance.
        most: the greatest number of spans (the tokenizer's sentinels).
    """
    if length < 2:
        return np.ones(length, dtype=bool)
    share = min(2 * density * rng.random(), 1.0)
    noise = min(max(_rounded(length * share, rng), 1), length - 1)
    # Spans must not touch, so every two need a position of text between them.
    spans = min(max(_rounded(noise / mean_span, rng), 1), noise, length - noise + 1, most)
    noises = _composition(noise, spans, rng)
    texts = _composition(length - noise + 2, spans + 1, rng)
    texts[0] -= 1
    texts[-1] -= 1
    runs = [texts[0], *(run for pair in zip(noises, texts[1:], strict=True) for run in pair)]
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs)


def spread_to_tokens(chosen: _Flags, begins: _Flags) -> _Flags:
    """Word flags to token flags: a token is chosen if its word is.

    Args:
        chosen: bool ``[words]``.
        begins: bool ``[tokens]``, True at the first token of each word; the first must be True.
    """
    return np.asarray(chosen[np.cumsum(begins) - 1])


def corrupt_spans(
    ids: Sequence[int], noise: Sequence[bool] | _Flags, sentinels: Sequence[int], end: int
) -> tuple[list[int], list[int]]:
    """Input and target of T5's span corruption.

    Each run of noise becomes one sentinel in the input; the target is
    ``<extra_id_0> run <extra_id_1> run ... <extra_id_n> </s>``.

    Args:
        ids: token ids ``[tokens]`` without the end token.
        noise: bool ``[tokens]``.
        sentinels: ids of ``<extra_id_0>``, ``<extra_id_1>``, ...: at least one more than runs.
        end: id of ``</s>``.
    """
    source: list[int] = []
    target: list[int] = []
    used, inside = 0, False
    for token, hidden in zip(ids, noise, strict=True):
        if hidden:
            if not inside:
                source.append(sentinels[used])
                target.append(sentinels[used])
                used += 1
            target.append(token)
        else:
            source.append(token)
        inside = bool(hidden)
    return [*source, end], [*target, sentinels[used], end]


@dataclass(frozen=True, slots=True)
class Masking:
    """How BERT's tokens are masked (Devlin et al., 2019, §3.1).

    ``rate`` is the share of tokens; ``mask`` the mask token's id; ``ordinary`` the ids a random
    replacement is drawn from.
    """

    rate: float
    mask: int
    ordinary: _Ids


def mask_tokens(
    ids: _Ids, chosen: _Flags, masking: Masking, rng: np.random.Generator
) -> tuple[_Ids, _Ids]:
    """Masked ids and labels, both ``[...]`` like ``ids``.

    Of the ``chosen`` positions 80 % become the mask token, 10 % a random token, and 10 % stay;
    labels are the old ids there and ``IGNORED`` everywhere else.
    """
    labels = np.where(chosen, ids, IGNORED)
    fate = rng.random(ids.shape)
    random_ids = rng.choice(masking.ordinary, ids.shape)
    masked = np.where(chosen & (fate < _MASKED), masking.mask, ids)
    replaced = chosen & (fate >= _MASKED) & (fate < _RANDOM)
    return np.where(replaced, random_ids, masked), labels
