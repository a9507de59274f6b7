"""What pretraining hides from a model: BERT's masked tokens and T5's corrupted spans.

Both draw from a ``numpy`` generator that the caller seeds, and both hide *words*: a fill stands
between words at generation, so spans that begin inside one would teach the wrong thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
    noise = _noise(length, density, rng)
    # Spans must not touch, so every two need a position of text between them.
    spans = min(max(_rounded(noise / mean_span, rng), 1), noise, length - noise + 1, most)
    return _placed(_composition(noise, spans, rng), length, rng)


def _noise(length: int, density: float, rng: np.random.Generator) -> int:
    """How many positions to hide: on average a share of ``density``, uniform in [0, 2 density)."""
    share = min(2 * density * rng.random(), 1.0)
    return min(max(_rounded(length * share, rng), 1), length - 1)


def _placed(noises: Sequence[int], length: int, rng: np.random.Generator) -> _Flags:
    """Runs of these lengths in ``length`` positions, each way of laying them apart equally likely."""
    texts = _composition(length - sum(noises) + 2, len(noises) + 1, rng)
    texts[0] -= 1
    texts[-1] -= 1
    runs = [texts[0], *(run for pair in zip(noises, texts[1:], strict=True) for run in pair)]
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs)


@dataclass(frozen=True)
class Spans:
    """How the words to hide are drawn.

    A fill stands for a whole constituent, and those have no typical length: of the constituents that
    generation may coordinate in GENIA's gold trees, 14 % have one word, 17 % two, 29 % three to five,
    26 % six to twelve and 13 % more. ``log-uniform`` gives each doubling of length the same weight,
    P(k) ∝ 1/k; ``geometric`` is SpanBERT's law, P(k) ∝ (1 − 1/mean)^(k−1) (Joshi et al., 2020,
    §3.1); both up to ``longest``.
    ``composed`` is T5's: a share of noise, cut at random into spans of a mean length (see
    ``draw_spans``).

    Args:
        lengths: the law.
        density: mean share of words hidden.
        mean: of composed, and of the geometric law before it is cut off, in words.
        longest: of the laws, in words.
    """

    lengths: Literal["composed", "geometric", "log-uniform"]
    density: float
    mean: float
    longest: int

    @cached_property
    def law(self) -> NDArray[np.float64]:
        """Probabilities of lengths 1, 2, ... ``longest``."""
        lengths = np.arange(1, self.longest + 1)
        uneven = (
            (1 - 1 / self.mean) ** (lengths - 1) if self.lengths == "geometric" else 1 / lengths
        )
        return np.asarray(uneven / uneven.sum())

    def draw(self, words: int, rng: np.random.Generator, most: int) -> _Flags:
        """Which of ``words`` are hidden, bool ``[words]``, in at most ``most`` runs.

        The number of runs is such that in long texts the mean share of hidden words is ``density``
        and every length has the law's probability. In a sentence too short for what was drawn, runs
        are left out, and a lone one is cut; and since each sentence has at least one, short ones
        hide more: at 20 words and a density of 0.2 to 0.3 a tenth more than asked for.
        """
        if self.lengths == "composed":
            return draw_spans(words, self.density, self.mean, rng, most)
        if words < 2:
            return np.ones(words, dtype=bool)
        law = self.law
        mean = float(law @ np.arange(1, len(law) + 1))
        count = min(max(_rounded(_noise(words, self.density, rng) / mean, rng), 1), most)
        noises = (rng.choice(len(law), count, p=law) + 1).tolist()
        while len(noises) > 1 and sum(noises) + len(noises) - 1 > words - 1:
            noises.pop()
        noises[0] = min(noises[0], words - 1)
        return _placed(noises, words, rng)


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


def mask_tokens(
    ids: _Ids, chosen: _Flags, mask: int, ordinary: _Ids, rng: np.random.Generator
) -> tuple[_Ids, _Ids]:
    """Masked ids and labels, both ``[...]`` like ``ids`` (Devlin et al., 2019, §3.1).

    Of the ``chosen`` positions 80 % become the token ``mask``, 10 % a random one of the ``ordinary``
    tokens, and 10 % stay; labels are the old ids there and ``IGNORED`` everywhere else.
    """
    labels = np.where(chosen, ids, IGNORED)
    fate = rng.random(ids.shape)
    random_ids = rng.choice(ordinary, ids.shape)
    masked = np.where(chosen & (fate < _MASKED), mask, ids)
    replaced = chosen & (fate >= _MASKED) & (fate < _RANDOM)
    return np.where(replaced, random_ids, masked), labels
