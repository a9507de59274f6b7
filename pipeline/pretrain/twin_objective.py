"""Adapting a language model to twins: natural coordinations, hidden as generation hides them (§3.2).

Of a coordination "A and B" generation would be given A and asked for B, or given B and asked for A;
either way the model's input has both twins and it is to write one text into both. Text, tokens,
special tokens and limits of length come from generation's own code, so that a model is adapted to
what it will be asked. ``read_twins`` reads a corpus's twins, ``TwinMasks`` and ``TwinSpans`` are the
objectives.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from pipeline.core.corpus_folder import COORDINATED_FOLDER, find_trees
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import read_json
from pipeline.core.parquet import MANIFEST
from pipeline.core.tally import Tally
from pipeline.infill.base import (
    NO_TOKENS,
    SOURCE_HAS_SPECIAL,
    SPECIAL_IN_FILL,
    TOO_LONG,
    Twins,
    blank_before,
    make_twins,
    reserved_tokens,
    span_text,
)
from pipeline.infill.decoding import Limits
from pipeline.models.language_models import sentinels
from pipeline.models.tokenizers import padded, sentinel_ids, token_batch
from pipeline.pretrain.batches import Batch, OneEach, sequences
from pipeline.pretrain.coordinations import Hidden, hidden_conjuncts, natural_coordinations
from pipeline.pretrain.corruption import IGNORED
from pipeline.pretrain.raw_text import Overlap
from pipeline.text.natural import join_words
from pipeline.text.trees import parse_tree

UNEVEN = "conjuncts of too different length"

_MASKS_FACTOR = 2
"""BERT is asked for as many tokens as the shown conjunct has. In 29 of 100 coordinations of GENIA both
sides have equally many, in 78 of 100 one has at most twice as many as the other: those are taken, with
as many masks as the hidden conjunct needs."""

_Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MaskedTwin:
    """BERT's: ``[CLS] S′(1) [SEP] S′(2) [SEP]``, each twin with n masks; ``ids``, ``types [tokens]``.

    ``target [n]`` is what stands in the masks of either twin.
    """

    ids: _Ids
    types: _Ids
    target: _Ids


@dataclass(frozen=True, slots=True)
class SpanTwin:
    """T5's: S′(1) as ``ids`` and S′(2) as ``prepend``, each with a sentinel and ``</s>``.

    ``target`` is ``<extra_id_0> conjunct <extra_id_1> </s>``, of both.
    """

    ids: _Ids
    prepend: _Ids
    target: _Ids


def encode_twins(
    hidden: Sequence[Hidden], tokenizer: PreTrainedTokenizerBase, longest: int
) -> list[MaskedTwin | SpanTwin | str]:
    """The twins of each hidden conjunct as input of the model's family, or why they cannot be used.

    Args:
        hidden: conjuncts to be recovered.
        tokenizer: as in ``read_twins``.
        longest: as in ``read_twins``.

    Raises:
        ModelError: the tokenizer has neither sentinels nor a mask token.
    """
    family: _Family
    if len(sentinel_ids(tokenizer)) > 1:
        family = _Spans(tokenizer)
    elif tokenizer.mask_token_id is not None:
        family = _Masks(tokenizer, str(tokenizer.mask_token))
    else:
        raise ModelError("the tokenizer has no mask token and no sentinels", remedy="use another")
    return family.encode(hidden, longest)


class _Family(ABC):
    """What the families share: which conjuncts generation could be asked for, and could write."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, mask: str) -> None:
        self.tokenizer, self._mask = tokenizer, mask
        self._special = frozenset(tokenizer.all_special_ids)
        self._reserved = reserved_tokens(tokenizer)
        self._blank = blank_before(tokenizer)

    def encode(self, hidden: Sequence[Hidden], longest: int) -> list[MaskedTwin | SpanTwin | str]:
        """Twins, or the reason for none."""
        if not hidden:
            return []
        texts = [join_words(each.reference.words) for each in hidden]
        shown = [
            span_text(text, each.reference, self._blank)
            for text, each in zip(texts, hidden, strict=True)
        ]
        counts = [len(ids) for ids in self._plain(shown)]
        # In S′(1) a fill always follows the coordinator and a blank.
        targets = self._plain([self._blank + each.text for each in hidden])
        found: list[MaskedTwin | SpanTwin | str] = [
            self._fault(f"{text.text} {each.text}", count, target)
            for text, each, count, target in zip(texts, hidden, counts, targets, strict=True)
        ]
        usable = [i for i, reason in enumerate(found) if not reason]
        twins = [
            make_twins(
                hidden[i].reference, hidden[i].coordinator, self._mask, self._masks(targets[i])
            )
            for i in usable
        ]
        encoded = self._encode(twins, [targets[i] for i in usable], longest) if usable else []
        for i, each in zip(usable, encoded, strict=True):
            found[i] = each
        return found

    def _fault(self, text: str, count: int, target: Sequence[int]) -> str:
        if self._reserved.search(text):
            return SOURCE_HAS_SPECIAL
        if not count or not target:
            return NO_TOKENS
        if self._special.intersection(target):
            return SPECIAL_IN_FILL
        limits = self._limits(count)
        return "" if limits.shortest <= len(target) <= limits.longest else UNEVEN

    def _plain(self, texts: Sequence[str]) -> list[list[int]]:
        found = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)
        return list(found["input_ids"])

    @abstractmethod
    def _limits(self, count: int) -> Limits:
        """Lengths of a target beside ``count`` tokens of the shown conjunct."""

    @abstractmethod
    def _masks(self, target: Sequence[int]) -> int:
        """How many masks stand for a target."""

    @abstractmethod
    def _encode(
        self, twins: Sequence[Twins], targets: Sequence[Sequence[int]], longest: int
    ) -> list[MaskedTwin | SpanTwin | str]:
        """Twins with their targets, or ``TOO_LONG``."""


class _Masks(_Family):
    """BERT: generation gives as many masks as the shown conjunct has tokens (§3.2.1)."""

    def _limits(self, count: int) -> Limits:
        return Limits(-(-count // _MASKS_FACTOR), _MASKS_FACTOR * count)

    def _masks(self, target: Sequence[int]) -> int:
        return len(target)

    def _encode(
        self, twins: Sequence[Twins], targets: Sequence[Sequence[int]], longest: int
    ) -> list[MaskedTwin | SpanTwin | str]:
        pairs = [each.append for each in twins], [each.prepend for each in twins]
        encodings = self.tokenizer(*pairs, verbose=False).encodings or ()
        return [
            TOO_LONG
            if len(each.ids) > longest
            else MaskedTwin(np.array(each.ids), np.array(each.type_ids), np.array(target))
            for each, target in zip(encodings, targets, strict=True)
        ]


class _Spans(_Family):
    """T5: a third to three times as many tokens as the shown conjunct has (§3.2.2)."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._sentinels = sentinels(tokenizer)  # before the special tokens are looked at
        super().__init__(tokenizer, self._sentinels.text)

    def _limits(self, count: int) -> Limits:
        return Limits.around(count)

    def _masks(self, target: Sequence[int]) -> int:
        del target
        return 1

    def _encode(
        self, twins: Sequence[Twins], targets: Sequence[Sequence[int]], longest: int
    ) -> list[MaskedTwin | SpanTwin | str]:
        first, second = self._sentinels.ids[:2]
        end = int(self.tokenizer.eos_token_id)
        append, prepend = (
            self.tokenizer(texts, verbose=False)["input_ids"]
            for texts in ([each.append for each in twins], [each.prepend for each in twins])
        )
        found: list[MaskedTwin | SpanTwin | str] = []
        for one, two, fill in zip(append, prepend, targets, strict=True):
            target = [first, *fill, second, end]
            fits = max(len(one), len(two), len(target)) <= longest
            twin = SpanTwin(np.array(one), np.array(two), np.array(target))
            found.append(twin if fits else TOO_LONG)
        return found


@dataclass(frozen=True, slots=True)
class NaturalTwins:
    """``items`` in the order of the sentences; ``sentences`` numbers the one each is from.

    ``tally`` counts two for each word that is a coordinator: twins kept, or why there are none.
    ``overlap`` counts sentences that hold a dev or test sentence, by how.
    """

    items: list[Any]
    sentences: list[int]
    tally: Tally
    overlap: Counter[str]


def read_twins(
    corpus: Path,
    tokenizer: PreTrainedTokenizerBase,
    longest: int,
    held_out: Overlap,
    *,
    drop: bool = True,
) -> NaturalTwins:
    """Both directions of every usable coordination that ``preparse --coordinated`` parsed.

    Args:
        corpus: its folder.
        tokenizer: with sentinels it is a T5's, else it must have a mask token.
        longest: the most tokens of a sequence, special tokens included: of BERT's pair, of each of
            T5's twins and of its target.
        held_out: the dev and test split, which must not be learnt from.
        drop: whether sentences that hold one of it are left out; else they are only counted.

    Raises:
        InputError: no coordinated sentences were parsed, their shards are damaged or of other
            sentences than the corpus has now, or not one twin is usable.
        ModelError: the tokenizer has neither sentinels nor a mask token.
    """
    folder = corpus / COORDINATED_FOLDER
    remedy = "run `conjoin preparse` with --coordinated, e.g. 8000"
    if not read_json(folder / MANIFEST, remedy=remedy)["shards"]:
        raise InputError("no coordinated sentences were parsed", path=folder, remedy=remedy)
    trees = find_trees(folder, corpus / "sentences.parquet")
    tally, overlap = Tally(), Counter[str]()
    hidden: list[Hidden] = []
    origins: list[int] = []
    for number, (source, bracketing) in enumerate(trees.read(range(len(trees)))):
        found, counted = natural_coordinations(source.words, parse_tree(bracketing))
        reason = held_out.reason(join_words(source.words).text)
        if reason:
            overlap[reason] += 1
        if reason and drop:
            tally.refuse(reason, 2 * counted.seen)
            continue
        for fault, count in counted.refused.items():
            tally.refuse(fault, 2 * count)
        for coordination in found:
            hidden += hidden_conjuncts(source, coordination)
            origins += [number, number]
    items: list[Any] = []
    sentences: list[int] = []
    for number, each in zip(origins, encode_twins(hidden, tokenizer, longest), strict=True):
        if isinstance(each, str):
            tally.refuse(each)
        else:
            tally.keep()
            items.append(each)
            sentences.append(number)
    if not items:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in tally.rows()[1:])
        raise InputError(f"no usable coordination ({reasons})", path=folder, remedy=remedy)
    return NaturalTwins(items, sentences, tally, overlap)


class TwinMasks(OneEach):
    """BERT's objective: the tokens behind the masks of both twins, and of nothing else."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, types: bool) -> None:
        self._mask, self._pad = int(tokenizer.mask_token_id), int(tokenizer.pad_token_id or 0)
        self._types = types

    def batch(
        self, texts: Sequence[MaskedTwin], examples: Sequence[tuple[int, ...]], rng: object
    ) -> Batch:
        """``input_ids``, ``attention_mask``, ``labels`` and, if the model has them, token types."""
        del rng
        twins = [texts[index] for (index,) in examples]
        ids, attention = token_batch([twin.ids for twin in twins], self._pad)
        labels = torch.full_like(ids, IGNORED)
        for line, row, twin in zip(labels, ids, twins, strict=True):
            line[row == self._mask] = torch.from_numpy(np.tile(twin.target, 2))
        batch = {"input_ids": ids, "attention_mask": attention, "labels": labels}
        if self._types:
            batch["token_type_ids"] = torch.from_numpy(padded([twin.types for twin in twins], 0))
        return batch


class TwinSpans(OneEach):
    """T5's objective: the same target after S′(1) and after S′(2), two sequences of one batch."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._pad = int(tokenizer.pad_token_id)

    def batch(
        self, texts: Sequence[SpanTwin], examples: Sequence[tuple[int, ...]], rng: object
    ) -> Batch:
        """``input_ids`` and ``attention_mask`` of the encoder, ``labels`` of the decoder.

        S′(1) and S′(2) of an example follow each other: twice as many sequences as examples.
        """
        del rng
        twins = [texts[index] for (index,) in examples]
        sources = [ids for twin in twins for ids in (twin.ids, twin.prepend)]
        return sequences(sources, [twin.target for twin in twins for _ in "12"], self._pad)
