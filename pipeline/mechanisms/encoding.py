"""Words to encoder input: subwords of each sentence, and where each word ends among them.

A word is represented by its *last* subword (§5.1). A word that the tokenizer maps to nothing (a
lone control character, say) stands as the unknown token, so that word indices always hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from pipeline.ground.coordination import Span
from pipeline.ground.errors import ModelError

__all__ = [
    "EDGE",
    "OUTSIDE",
    "TOO_LONG",
    "Encoded",
    "Example",
    "WordEncoding",
    "instances",
    "obstacle",
]

EDGE = "coordinator at the edge of the sentence"
TOO_LONG = "sentence longer than the encoder"
OUTSIDE = "structure does not reach both sides of its coordinator"
_KEPT = 1 << 14  # sentences remembered: training asks for the same ones again and again


@dataclass(frozen=True, slots=True)
class Example:
    """One of the N_batch places of a batch: a sentence with the structures to learn from it.

    ``extents[m]`` is the outer boundary, half-open, of the structure at ``coordinators[m]``.
    """

    words: tuple[str, ...]
    coordinators: tuple[int, ...]
    extents: tuple[Span, ...]


def instances(
    examples: Iterable[Example],
) -> tuple[list[tuple[str, ...]], list[int], list[Span]]:
    """Words, coordinator and extent of every structure of some examples, in their order."""
    rows = [(e, k, x) for e in examples for k, x in zip(e.coordinators, e.extents, strict=True)]
    return [e.words for e, _, _ in rows], [k for _, k, _ in rows], [x for _, _, x in rows]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sentence as the encoder reads it: subword ``ids`` and ``last``, each word's last subword."""

    ids: tuple[int, ...]
    last: tuple[int, ...]


class WordEncoding:
    """A tokenizer, seen as a map from word lists to encoder input.

    Args:
        tokenizer: a fast tokenizer.
        positions: how many subwords the encoder can read, special tokens included.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, positions: int) -> None:
        self.tokenizer = tokenizer
        self.positions = positions
        self._kept: dict[tuple[str, ...], Encoded] = {}

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Encoded]:
        """Tokenize sentences of words, of any length; those seen lately are remembered.

        Raises:
            ModelError: a word has no subword and the tokenizer no unknown token to stand for it.
        """
        asked = [tuple(words) for words in sentences]
        new = list(dict.fromkeys(words for words in asked if words not in self._kept))
        fresh = dict(zip(new, self._tokenize(new), strict=True))
        found = [fresh.get(words) or self._kept[words] for words in asked]
        if len(self._kept) + len(fresh) > _KEPT:
            self._kept.clear()
        self._kept |= fresh
        return found

    def batches(
        self, sentences: Iterable[tuple[str, ...]], budget: int
    ) -> Iterator[list[tuple[tuple[str, ...], Encoded]]]:
        """Cut what the encoder can read into batches, shortest sentences first.

        A batch has at most ``budget`` subwords, padding included, or is one sentence. Which
        sentences share one depends on nothing but the sentences and their order (a stable sort).
        """
        asked = list(sentences)
        encoded = zip(asked, self.encode(asked), strict=True)
        batch: list[tuple[tuple[str, ...], Encoded]] = []
        for pair in sorted(encoded, key=lambda pair: len(pair[1].ids)):
            if not self.fits(pair[1]):
                break
            # In this order the new sentence is the longest, and the others are padded to it.
            if batch and (len(batch) + 1) * len(pair[1].ids) > budget:
                yield batch
                batch = []
            batch.append(pair)
        if batch:
            yield batch

    def forget(self) -> None:
        """Let go of remembered sentences, where none is expected to come again."""
        self._kept.clear()

    def _tokenize(self, sentences: Sequence[Sequence[str]]) -> list[Encoded]:
        if not sentences:
            return []
        output = self.tokenizer(
            [list(words) for words in sentences], is_split_into_words=True, truncation=False,
            verbose=False,
        )  # fmt: skip
        return [
            self._checked(words, output["input_ids"][row], output.word_ids(row))
            for row, words in enumerate(sentences)
        ]

    def _checked(
        self, words: Sequence[str], ids: Sequence[int], word_of: Sequence[int | None]
    ) -> Encoded:
        last = {word: place for place, word in enumerate(word_of) if word is not None}
        if len(last) == len(words):
            return Encoded(tuple(ids), tuple(last[index] for index in range(len(words))))
        unknown = self.tokenizer.unk_token
        lost = [index for index in range(len(words)) if index not in last]
        if unknown is None or all(words[index] == unknown for index in lost):
            raise ModelError(
                f"the tokenizer maps the word {words[lost[0]]!r} to nothing",
                remedy="choose an encoder whose tokenizer has an unknown token",
            )
        mended = [unknown if index in lost else word for index, word in enumerate(words)]
        return self._tokenize([mended])[0]

    def fits(self, encoded: Encoded) -> bool:
        """Whether the encoder can read the sentence whole."""
        return len(encoded.ids) <= self.positions

    def collate(
        self, batch: Sequence[Encoded], device: torch.device
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Pad sentences to one batch.

        Returns:
            ``ids`` and ``mask``, both ``[sentences, subwords]``, and ``last``
            ``[sentences, words]``; padded words point at subword 0.
        """
        padding = self.tokenizer.pad_token_id or 0
        width = max(len(encoded.ids) for encoded in batch)
        words = max(len(encoded.last) for encoded in batch)
        ids = torch.full((len(batch), width), padding, dtype=torch.long)
        mask = torch.zeros((len(batch), width), dtype=torch.long)
        last = torch.zeros((len(batch), words), dtype=torch.long)
        for row, encoded in enumerate(batch):
            ids[row, : len(encoded.ids)] = torch.tensor(encoded.ids)
            mask[row, : len(encoded.ids)] = 1
            last[row, : len(encoded.last)] = torch.tensor(encoded.last)
        return ids.to(device), mask.to(device), last.to(device)


def obstacle(words: Sequence[str], coordinator: int, extent: Span | None = None) -> str | None:
    """Why no endpoint pair, or not this one, exists for a coordinator; None if it does.

    A pair needs a word on either side of the coordinator (i ≤ k-1, j ≥ k+1).
    """
    if not 0 < coordinator < len(words) - 1:
        return EDGE
    if extent is not None and not (0 <= extent.start < coordinator < extent.end - 1 < len(words)):
        return OUTSIDE
    return None
