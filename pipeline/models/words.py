"""Words to encoder input and to representations: the tokenizer's side of every predictor.

A word is represented by its *last* subword (§5.1), or by its *first* where a task wants that. A word that
the tokenizer maps to nothing (a lone control character, say) stands as the unknown token, so that word
indices always hold.

``represent`` decides which sentences of a batch the encoder reads together. A pass costs its longest
sentence times its number of sentences. On a CPU, which is bound by arithmetic, padding is expensive:
40 % of what 16 of GENIA's sentences take in one pass. But each pass also reads all weights (and in
training writes all gradients), so one sentence at a time is not cheap either.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PretrainedConfig, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.models.packing import can_pack, packed_states
from pipeline.models.tokenizers import padded, token_batch

TOO_LONG = "sentence longer than the encoder"

BATCH_TOKENS = 2048
"""Subwords encoded together where no gradient is wanted: more is more padding (docs/predict.md)."""

_KEPT = 1 << 14  # sentences remembered: training asks for the same ones again and again


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence as the encoder reads it: subword ``ids``, and each word's ``last`` and ``first`` subword.

    ``types`` are those of the segments of a pair, a number a subword; empty where there is one segment. Of a
    pair ``first`` is empty, for it has no words.
    """

    ids: tuple[int, ...]
    last: tuple[int, ...]
    types: tuple[int, ...] = ()
    first: tuple[int, ...] = ()


class WordEncoding:
    """A tokenizer as a map from word lists to encoder input.

    Args:
        tokenizer: a fast tokenizer.
        positions: how many subwords the encoder can read, special tokens included.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, positions: int) -> None:
        self.tokenizer = tokenizer
        self.positions = positions
        self._kept: dict[tuple[str, ...], EncodedSentence] = {}

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[EncodedSentence]:
        """Tokenize sentences of words, of any length; recent ones are remembered.

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
    ) -> Iterator[list[tuple[tuple[str, ...], EncodedSentence]]]:
        """Cut what the encoder can read into batches, shortest sentences first.

        A batch has at most ``budget`` subwords, padding included, or is one sentence. Which
        sentences share one depends on nothing but the sentences and their order (a stable sort).
        """
        asked = list(sentences)
        encoded = zip(asked, self.encode(asked), strict=True)
        fitting = [pair for pair in encoded if self.fits(pair[1])]
        for group in within_budget([len(pair[1].ids) for pair in fitting], budget):
            yield [fitting[index] for index in group]

    def forget(self) -> None:
        """Drop remembered sentences, where none is expected to come again."""
        self._kept.clear()

    def _tokenize(self, sentences: Sequence[Sequence[str]]) -> list[EncodedSentence]:
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
    ) -> EncodedSentence:
        places = [(word, place) for place, word in enumerate(word_of) if word is not None]
        last, first = dict(places), dict(reversed(places))
        if len(last) == len(words):
            each = range(len(words))
            return EncodedSentence(
                tuple(ids), tuple(last[i] for i in each), first=tuple(first[i] for i in each)
            )
        unknown = self.tokenizer.unk_token
        lost = [index for index in range(len(words)) if index not in last]
        if unknown is None or all(words[index] == unknown for index in lost):
            raise ModelError(
                f"the tokenizer maps the word {words[lost[0]]!r} to nothing",
                remedy="choose an encoder whose tokenizer has an unknown token",
            )
        mended = [unknown if index in lost else word for index, word in enumerate(words)]
        return self._tokenize([mended])[0]

    def fits(self, encoded: EncodedSentence) -> bool:
        """Whether the encoder can read the sentence whole."""
        return len(encoded.ids) <= self.positions


def within_budget(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Cut sentences of some lengths into batches of so many subwords, padding included, shortest first."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        # In this order the new sentence is the longest, and the others are padded to it.
        if batch and (len(batch) + 1) * lengths[index] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


_ENCODING, _LEARNING = 40, 80
"""What reading all weights costs on one CPU core, in tokens: forward, and both ways. It grows with the
weights as a token does, so an encoder's size makes no difference."""

_CALLS = 800_000
"""What starting a layer's operations costs, in tokens times the square of the encoder's width. It does
not grow with the layer, and a core computes 1 token of bert-base's meanwhile, 200 of one of 64 units."""


def pass_cost(width: int, *, learning: bool) -> int:
    """What one more pass costs beside its tokens, in tokens, forward or (``learning``) both ways."""
    return (_LEARNING if learning else _ENCODING) + _CALLS // width**2


def represent(
    encoder: nn.Module,
    encoding: WordEncoding,
    batch: Sequence[EncodedSentence],
    device: torch.device,
    *,
    first: bool = False,
) -> Tensor:
    """Encode sentences, on a CPU in groups of similar length.

    Args:
        encoder: a Transformer whose configuration names its width.
        encoding: makes its input.
        batch: the sentences.
        device: where the encoder is.
        first: whether a word is represented by its first subword.

    Returns:
        The words' representations h, ``[sentences, words, width]``; values after a sentence's last
        word are padding.
    """
    places = [encoded.first if first else encoded.last for encoded in batch]
    if device.type == "cpu" and can_pack(encoder):
        types = [encoded.types for encoded in batch] if batch[0].types else None
        (packed,) = packed_states(encoder, [encoded.ids for encoded in batch], types=types)
        parts = torch.split(packed, [len(encoded.ids) for encoded in batch])
        words = [part[torch.tensor(own)] for part, own in zip(parts, places, strict=True)]
        return pad_sequence(words, batch_first=True)
    groups = [list(range(len(batch)))]
    if device.type == "cpu":
        width: int = cast(PretrainedConfig, encoder.config).hidden_size
        overhead = pass_cost(width, learning=torch.is_grad_enabled())
        groups = similar([len(encoded.ids) for encoded in batch], overhead)
    found: dict[int, Tensor] = {}
    for group in groups:
        some = [batch[index] for index in group]
        pad = encoding.tokenizer.pad_token_id or 0
        ids, mask = token_batch([encoded.ids for encoded in some], pad, device)
        segments = {}
        if some[0].types:
            grid = padded([encoded.types for encoded in some], 0)
            segments["token_type_ids"] = torch.from_numpy(grid).to(device)
        states: Tensor = encoder(input_ids=ids, attention_mask=mask, **segments).last_hidden_state
        # Padded words point at subword 0.
        own = torch.from_numpy(padded([places[index] for index in group], 0)).to(device)
        h = states[torch.arange(len(group), device=device)[:, None], own]
        if len(groups) == 1:
            return h
        found |= zip(group, h.unbind(), strict=True)
    return pad_sequence([found[index] for index in range(len(batch))], batch_first=True)


def similar(lengths: Sequence[int], overhead: int) -> list[list[int]]:
    """Cut a batch into groups of similar length so that tokens and overhead are fewest in all.

    Args:
        lengths: of the sentences.
        overhead: what a group costs beside its tokens, padding included.

    Returns:
        The indices of each group, shorter sentences first; a single group keeps its order.
    """
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    # least[j]: the cost of the first j sentences in that order, and where their last group begins.
    least = [(0, 0)]
    for end, last in enumerate(order, start=1):
        costs = (
            (least[begin][0] + overhead + (end - begin) * lengths[last], begin)
            for begin in range(end)
        )
        least.append(min(costs))
    groups: list[list[int]] = []
    end = len(order)
    while end:
        begin = least[end][1]
        groups.append(order[begin:end])
        end = begin
    return groups[::-1] if len(groups) > 1 else [sorted(group) for group in groups]
