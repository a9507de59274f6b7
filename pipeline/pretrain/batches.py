"""Batches for pretraining: epochs to plans, plans to corrupted tensors.

A plan is a pure function of (seed, epoch) and a corruption of (seed, step), so a step has the same
batch however many processes share it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.models.tokenizers import padded, sentinel_ids, token_batch
from pipeline.pretrain.corruption import (
    IGNORED,
    Spans,
    corrupt_spans,
    mask_tokens,
    spread_to_tokens,
)
from pipeline.pretrain.token_store import Text, lengths_of

Batch = dict[str, Tensor]
"""Keyword arguments of the model and ``labels``, each ``[sequences, tokens]``."""

_WINDOW = 32  # batches whose sequences are sorted by length together


class Objective(Protocol):
    """What a family learns from: how sentences are put together, and what is hidden of them."""

    def examples(self, texts: Sequence[Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
        """One epoch of examples, each the indices of its sentences."""
        ...

    def batch(
        self, texts: Sequence[Any], examples: Sequence[tuple[int, ...]], rng: np.random.Generator
    ) -> Batch:
        """The corrupted tensors of one batch."""
        ...


def _plan(
    objective: Objective, texts: Sequence[Any], batch_size: int, rng: np.random.Generator
) -> list[list[tuple[int, ...]]]:
    """One epoch of full batches, shuffled, each of similar lengths; a remainder is left out."""
    examples = objective.examples(texts, rng)
    lengths = lengths_of(texts).tolist()
    examples = [examples[i] for i in rng.permutation(len(examples))]
    window = _WINDOW * batch_size
    ordered: list[tuple[int, ...]] = []
    for begin in range(0, len(examples), window):
        part = examples[begin : begin + window]
        ordered += sorted(part, key=lambda example: sum(lengths[i] for i in example))
    if len(ordered) <= batch_size:
        return [ordered]
    # The remainder is taken from a random place: always the longest would be a bias.
    surplus = len(ordered) % batch_size
    at = int(rng.integers(len(ordered) - surplus + 1))
    del ordered[at : at + surplus]
    batches = [ordered[i : i + batch_size] for i in range(0, len(ordered), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def steps_of(
    objective: Objective,
    texts: Sequence[Any],
    *,
    batch_size: int,
    steps: int,
    seed: int,
    first: int = 0,
) -> Iterator[tuple[int, Batch]]:
    """The epoch and the batch of each of ``steps`` updates, after the ``first`` ones."""
    step = epoch = 0
    while step < steps:
        for examples in _plan(
            objective, texts, batch_size, np.random.default_rng([seed, 0, epoch])
        ):
            if step == steps:
                return
            if step >= first:
                batch = objective.batch(texts, examples, np.random.default_rng([seed, 1, step]))
                yield epoch, batch
            step += 1
        epoch += 1


def epoch_of(objective: Objective, texts: Sequence[Any], batch_size: int) -> Iterator[Batch]:
    """One epoch in batches for evaluation: always the same, nothing left out."""
    examples = objective.examples(texts, np.random.default_rng(0))
    for number, begin in enumerate(range(0, len(examples), batch_size)):
        part = examples[begin : begin + batch_size]
        yield objective.batch(texts, part, np.random.default_rng([0, number]))


class MaskedPairs:
    """BERT: two sentences ``[CLS] A [SEP] B [SEP]`` with token types, some words masked.

    Generation shows BERT the twins as such a pair of equally long sentences (§3.2.1), so the
    positions and the second token type must have been trained. Half of the pairs are consecutive
    sentences; the other half are of equal length, so that long sentences meet long ones, as twins
    do, and late positions get their share.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, spans: Spans, types: bool) -> None:
        ordinary = sorted(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
        self._mask, self._ordinary = int(tokenizer.mask_token_id), np.array(ordinary)
        self._spans, self._types = spans, types
        self._pad = tokenizer.pad_token_id
        shown = tokenizer("a", "a", return_special_tokens_mask=True)
        ids, special = shown["input_ids"], shown["special_tokens_mask"]
        first = special.index(0)
        second = special.index(0, special.index(1, first))
        last = special.index(1, second)
        middle = special.index(1, first)
        self._frame = (ids[:first], ids[middle:second], ids[last:])

    @property
    def extra(self) -> int:
        """Special tokens of a pair."""
        return sum(map(len, self._frame))

    def examples(self, texts: Sequence[Text], rng: np.random.Generator) -> list[tuple[int, ...]]:
        """Pairs in which a sentence occurs at most once (an odd one is left out of this epoch)."""
        if len(texts) < 2:
            return [(i, i) for i in range(len(texts))]
        offset = int(rng.integers(2)) if len(texts) > 2 else 0
        consecutive = [(i, i + 1) for i in range(offset, len(texts) - 1, 2)]
        kept: list[tuple[int, ...]] = [pair for pair in consecutive if rng.random() < 0.5]
        taken = {i for pair in kept for i in pair}
        rest = [int(i) for i in rng.permutation(len(texts)) if int(i) not in taken]
        rest.sort(key=lengths_of(texts).tolist().__getitem__)
        return kept + [(rest[i], rest[i + 1]) for i in range(0, len(rest) - 1, 2)]

    def batch(
        self, texts: Sequence[Text], examples: Sequence[tuple[int, ...]], rng: np.random.Generator
    ) -> Batch:
        """``input_ids``, ``attention_mask``, ``labels`` and, if the model has them, token types."""
        before, between, after = self._frame
        rows, types, chosen = [], [], []
        for a, b in examples:
            first, second = texts[a], texts[b]
            rows.append(np.concatenate([before, first.ids, between, second.ids, after]))
            head = len(before) + len(first.ids) + len(between)
            types.append(np.arange(len(rows[-1])) >= head)
            flags = np.zeros(len(rows[-1]), dtype=bool)
            flags[len(before) : len(before) + len(first.ids)] = self._chosen(first, rng)
            flags[head : head + len(second.ids)] = self._chosen(second, rng)
            chosen.append(flags)
        ids, attention = token_batch(rows, self._pad)
        flags = padded(chosen, 0).astype(bool)
        masked, labels = mask_tokens(ids.numpy(), flags, self._mask, self._ordinary, rng)
        batch = {
            "input_ids": torch.from_numpy(masked),
            "attention_mask": attention,
            "labels": torch.from_numpy(labels),
        }
        if self._types:
            batch["token_type_ids"] = torch.from_numpy(padded(types, 0))
        return batch

    def _chosen(self, text: Text, rng: np.random.Generator) -> NDArray[np.bool_]:
        words = int(text.begins.sum())
        if self._spans.lengths != "composed" or self._spans.mean > 1:
            flags = self._spans.draw(words, rng, words)
        else:
            flags = rng.random(words) < self._spans.density
            flags[rng.integers(words)] |= not flags.any()
        return spread_to_tokens(flags, text.begins)


def sequences(
    sources: Sequence[Sequence[int] | NDArray[Any]],
    targets: Sequence[Sequence[int] | NDArray[Any]],
    pad: int,
) -> Batch:
    """An encoder-decoder's batch: ``input_ids`` and ``attention_mask`` of the encoder, ``labels``."""
    ids, attention = token_batch(sources, pad)
    labels = torch.from_numpy(padded(targets, IGNORED))
    return {"input_ids": ids, "attention_mask": attention, "labels": labels}


class OneEach:
    """Part of an objective in which every text is an example of its own."""

    def examples(self, texts: Sequence[Any], rng: np.random.Generator) -> list[tuple[int, ...]]:
        """Every text once."""
        del rng
        return [(i,) for i in range(len(texts))]


class CorruptedSentence(OneEach):
    """T5: one sentence with its spans behind sentinels, as generation shows it (§3.2.2)."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, spans: Spans) -> None:
        self._sentinels = sentinel_ids(tokenizer)
        if tokenizer.eos_token_id is None or tokenizer.pad_token_id is None:
            raise ModelError("the tokenizer has no end or no padding token", remedy="use a T5")
        self._end, self._pad = int(tokenizer.eos_token_id), int(tokenizer.pad_token_id)
        self._spans, self._composed = spans, spans.lengths == "composed"

    def batch(
        self, texts: Sequence[Text], examples: Sequence[tuple[int, ...]], rng: np.random.Generator
    ) -> Batch:
        """``input_ids`` and ``attention_mask`` of the encoder, ``labels`` of the decoder."""
        sources, targets = [], []
        for (index,) in examples:
            text = texts[index]
            words = int(text.begins.sum())
            # T5's mean is one of tokens; the laws of lengths are of words.
            mean = max(1.0, self._spans.mean * words / len(text.ids))
            spans = replace(self._spans, mean=mean) if self._composed else self._spans
            flags = spans.draw(words, rng, len(self._sentinels) - 1)
            noise = spread_to_tokens(flags, text.begins)
            source, target = corrupt_spans(
                text.ids.tolist(), noise.tolist(), self._sentinels, self._end
            )
            sources.append(source)
            targets.append(target)
        return sequences(sources, targets, self._pad)
