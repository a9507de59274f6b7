"""Vectors of phrases from the co-occurrences of words in a corpus's own text."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import InputError
from pipeline.pretrain.new_model import ppmi_svd
from pipeline.pretrain.token_store import Text
from pipeline.text.natural import find_words, join_words

_WORDS, _VOCABULARY = 1_000_000, 20_000
_RAREST = 3  # occurrences below which a word's vector is mostly chance
_WIDTH = 64
_SMOOTHING = 1e-3


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
        ids = (np.array([rows.get(word, 0) for word in line], dtype=np.int64) for line in lines)
        texts = [Text(line, np.ones(len(line), dtype=bool)) for line in ids]
        vectors = ppmi_svd(texts, len(rows) + 1, _WIDTH, seed).numpy()
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
