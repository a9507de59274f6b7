"""Pairs that are most like another: the cosine of their vectors, the means of an encoder's words."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from pipeline.models.loading import length_limit
from pipeline.models.optim import evaluating
from pipeline.models.roles import load_encoder
from pipeline.models.words import BATCH_TOKENS, WordEncoding, represent

NEIGHBOURS = 8
"""K of the thesis: pairs that a prompt shows."""


class SentenceVectors:
    """An encoder as a map from words to vectors.

    Args:
        where: the encoder, as ``from_pretrained`` takes it.
        device: where it runs.

    Raises:
        ModelError: it is no encoder.
    """

    def __init__(self, where: str, device: torch.device) -> None:
        encoder, tokenizer = load_encoder(where)
        self._encoder = encoder.to(device)  # type: ignore[arg-type]
        self._device = device
        self._encoding = WordEncoding(tokenizer, length_limit(encoder.config, tokenizer))

    @torch.inference_mode()
    def of(self, texts: Sequence[tuple[str, ...]]) -> Tensor:
        """The vectors of some texts of at least one word, ``[texts, width]``, each of length 1.

        A text is as much of it as the encoder reads.
        """
        read = [self._readable(words) for words in texts]
        found: dict[tuple[str, ...], Tensor] = {}
        with evaluating(self._encoder):
            for batch in self._encoding.batches(dict.fromkeys(read), BATCH_TOKENS):
                encoded = [each for _, each in batch]
                states = represent(self._encoder, self._encoding, encoded, self._device)
                for (words, _), row in zip(batch, states, strict=True):
                    found[words] = row[: len(words)].mean(0)
        self._encoding.forget()
        return normalize(torch.stack([found[words] for words in read]), dim=-1).cpu()

    def _readable(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words from the first on that fit."""
        (encoded,) = self._encoding.encode([words])
        spare = len(encoded.ids) - encoded.last[-1] - 1  # special tokens at the end
        fitting = sum(place < self._encoding.positions - spare for place in encoded.last)
        return words[: max(fitting, 1)]


def nearest(queries: Tensor, among: Tensor, count: int = NEIGHBOURS) -> list[list[int]]:
    """The indices of the rows that are nearest to each query, by cosine; of equally near ones the first.

    Args:
        queries: vectors of length 1, ``[queries, width]``.
        among: vectors of length 1, ``[rows, width]``.
        count: how many are wanted; there may be fewer rows.
    """
    order = (queries @ among.T).sort(dim=-1, descending=True, stable=True).indices
    found: list[list[int]] = order[:, :count].tolist()
    return found


def with_itself_first(own: int, found: Sequence[int]) -> list[int]:
    """Neighbours of a row among all rows: itself, and then the others, as many in all.

    Rows of equal words are equally near, and rounding may put one before the other.
    """
    others = [each for each in found if each != own]
    return [own, *others][: len(found)]
