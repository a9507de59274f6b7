"""Vectors of tokens and of phrases from co-occurrences in a text (positive PMI, reduced by SVD)."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.core.errors import InputError
from pipeline.text.natural import find_words, join_words

_WORDS, _VOCABULARY = 1_000_000, 20_000
_RAREST = 3  # occurrences below which a word's vector is mostly chance
_WIDTH = 64
_SMOOTHING = 1e-3


_WINDOW = 4
_BLOCK = 1 << 20  # tokens counted at once
_MOST = 4_000_000  # tokens counted at all: with more, the vectors hardly change
_ITERATIONS = 4  # power iterations of the randomized SVD


class Tokens(Protocol):
    """A sentence as token ids ``[tokens]``."""

    @property
    def ids(self) -> NDArray[np.int64]:
        """The tokens."""


class _Line(NamedTuple):
    ids: NDArray[np.int64]


def cooccurrences(
    texts: Sequence[Tokens],
    lengths: NDArray[np.int64],
    vocabulary: int,
    *,
    most: int = _MOST,
    block: int = _BLOCK,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Ordered token pairs at most four apart, weighted by the inverse of their distance.

    Memory is that of the distinct pairs and of one block.

    Args:
        texts: the sentences.
        lengths: their numbers of tokens, so that those that are not counted need not be read.
        vocabulary: V.
        most: tokens to count; of more, evenly spaced sentences are counted.
        block: tokens counted at once, on which the outcome does not depend.

    Returns:
        First tokens, second tokens and weights, each ``[distinct pairs]``, sorted by pair.
    """
    keys, counts = np.empty(0, dtype=np.int64), np.empty((_WINDOW, 0), dtype=np.int64)
    for part in _blocks(texts, int(lengths.sum()), most, block):
        keys, counts = _merged((keys, counts), _counted(part, vocabulary))
    # Weights are added one by one, as if the pairs came in order of distance: sums of thirds are
    # inexact, and a seed's embeddings must not depend on how the counting is done.
    totals = np.zeros(len(keys))
    for distance, times in enumerate(counts, 1):
        _add_repeatedly(totals, 1.0 / distance, times)
    return keys // vocabulary, keys % vocabulary, totals


def _blocks(
    texts: Sequence[Tokens], tokens: int, most: int, block: int
) -> Iterator[list[NDArray[np.int64]]]:
    """Runs of at least ``block`` tokens, of all texts or of evenly spaced ones."""
    count = len(texts) if tokens <= most else max(1, len(texts) * most // tokens)
    part: list[NDArray[np.int64]] = []
    size = 0
    for index in range(count):
        part.append(texts[index * len(texts) // count].ids)
        size += len(part[-1])
        if size >= block:
            yield part
            part, size = [], 0
    if part:
        yield part


_Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sorted keys of pairs ``[pairs]``, and how often each occurs at each distance ``[4, pairs]``."""


def _counted(texts: Sequence[NDArray[np.int64]], vocabulary: int) -> _Counts:
    ids = np.concatenate(texts).astype(np.int64)
    sentence = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    found = [
        np.unique(
            (ids[:-d] * vocabulary + ids[d:])[sentence[:-d] == sentence[d:]], return_counts=True
        )
        for d in range(1, _WINDOW + 1)
    ]
    keys = _union([pairs for pairs, _ in found])
    counts = np.zeros((_WINDOW, len(keys)), dtype=np.int64)
    for row, (pairs, times) in zip(counts, found, strict=True):
        row[np.searchsorted(keys, pairs)] = times
    return keys, counts


def _merged(one: _Counts, other: _Counts) -> _Counts:
    keys = _union([one[0], other[0]])
    counts = np.zeros((_WINDOW, len(keys)), dtype=np.int64)
    for pairs, times in (one, other):
        counts[:, np.searchsorted(keys, pairs)] += times
    return keys, counts


def _union(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The different keys of several sorted arrays, sorted."""
    every = np.concatenate(keys)
    every.sort(kind="stable")  # which merges runs that are sorted
    new = np.ones(len(every), dtype=bool)
    new[1:] = every[1:] != every[:-1]
    return every[new]


def _add_repeatedly(totals: NDArray[np.float64], value: float, times: NDArray[np.int64]) -> None:
    """Add ``value`` to each of ``totals`` so many ``times``, with the rounding of each addition."""
    order = np.argsort(-times, kind="stable")
    sums, falling = totals[order], times[order]
    # How many are still added to in each round; ever fewer.
    ends = np.searchsorted(-falling, -np.arange(falling[0] if len(falling) else 0), side="left")
    for end in ends.tolist():
        sums[:end] += value
    totals[order] = sums


def token_counts(
    texts: Sequence[Tokens], lengths: NDArray[np.int64], vocabulary: int, *, most: int = _MOST
) -> NDArray[np.int64]:
    """How often each token occurs ``[V]``, in all texts or in evenly spaced ones of ``most`` tokens."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for part in _blocks(texts, int(lengths.sum()), most, _BLOCK):
        counts += np.bincount(np.concatenate(part), minlength=vocabulary)
    return counts


def ppmi_svd(
    texts: Sequence[Tokens], lengths: NDArray[np.int64], vocabulary: int, width: int, seed: int
) -> Tensor:
    """Token vectors ``[V, width]`` of unit variance; zero for tokens that do not occur.

    Tokens before a token and tokens after it are separate contexts, because a word's category shows
    in their difference.

    Args:
        texts: the sentences.
        lengths: their numbers of tokens.
        vocabulary: V.
        width: dimensions kept (fewer if V is smaller, the rest is zero).
        seed: seed of the randomized SVD.
    """
    first, second, weight = cooccurrences(texts, lengths, vocabulary)
    rows = np.concatenate([first, second])
    columns = np.concatenate([second, first + vocabulary])
    weight = np.concatenate([weight, weight])
    row_sums = np.bincount(rows, weights=weight, minlength=vocabulary)
    column_sums = np.bincount(columns, weights=weight, minlength=2 * vocabulary)
    information = np.log(weight * weight.sum() / (row_sums[rows] * column_sums[columns]))
    positive = information > 0
    matrix = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows[positive], columns[positive]])),
        torch.from_numpy(information[positive].astype(np.float32)),
        (vocabulary, 2 * vocabulary),
        check_invariants=True,
    ).coalesce()
    vectors = torch.zeros(vocabulary, width)
    rank = min(width, vocabulary)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        left, values, _ = torch.svd_lowrank(matrix, q=rank, niter=_ITERATIONS)
    vectors[:, :rank] = left * values.sqrt()
    norms = vectors.norm(dim=1, keepdim=True)
    return torch.where(norms > 1e-6, vectors / norms * width**0.5, torch.zeros(()))


class Senses:
    """Vectors of phrases: the mean of their words', frequent words weighing less.

    A word's weight is a / (a + its probability) with a = 0.001 (Arora et al., 2017), so that
    function words need no list; the mean of all words is subtracted.

    Args:
        vectors: a row for each word of ``words``, ``[words, width]``.
        words: rows by lower-case word.
        weights: ``[words]``.
        source: digest of the text that they come from.
    """

    def __init__(
        self,
        words: dict[str, int],
        vectors: NDArray[np.float32],
        weights: NDArray[np.float64],
        source: str,
    ) -> None:
        self.source = source
        self._words = words
        self._table = vectors * weights[:, None]

    @classmethod
    def read(cls, text: Path, seed: int) -> "Senses":
        """From a text of a sentence a line; of a long one, from its first million words.

        Raises:
            InputError: there is no such file.
        """
        lines, total = [], 0
        source = hashlib.sha256()
        try:
            with text.open(encoding="utf-8") as file:
                for line in file:
                    source.update(line.encode())
                    lines.append(_words(line))
                    total += len(lines[-1])
                    if total >= _WORDS:
                        break
        except FileNotFoundError as error:
            raise InputError("no such text", path=text, remedy="run `conjoin ingest`") from error
        counts = Counter(word for line in lines for word in line)
        common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_VOCABULARY]
        # Row 0 stands for all rarer words, so that distances in the text stay what they are.
        rows = {word: row for row, (word, count) in enumerate(common, 1) if count >= _RAREST}
        texts = [_Line(np.array([rows.get(w, 0) for w in line], dtype=np.int64)) for line in lines]
        lengths = np.array([len(line) for line in lines])
        vectors = ppmi_svd(texts, lengths, len(rows) + 1, _WIDTH, seed).numpy()
        occurrences = np.array([0, *(counts[word] for word in rows)]) / max(1, total)
        vectors = vectors - occurrences @ vectors / max(occurrences.sum(), 1e-9)
        known = {w: r for w, r in rows.items() if any(c.isalnum() for c in w)}
        weights = _SMOOTHING / (_SMOOTHING + occurrences)
        return cls(known, vectors.astype(np.float32), weights, source.hexdigest())

    def of(self, words: Sequence[str]) -> NDArray[np.float32] | None:
        """The unit vector ``[width]`` of treebank words; None if none of them is known."""
        rows = [self._words[w] for w in _words(join_words(words).text) if w in self._words]
        total = self._table[rows].sum(0)
        length = float(np.linalg.norm(total))
        return total / length if length > 0 else None


def _words(text: str) -> list[str]:
    found = find_words(text)
    return [text[start:end].lower() for start, end in found.offsets]
