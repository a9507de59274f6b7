"""Adapting a language model to twins: natural coordinations, hidden as generation hides them (§3.2).

Of a coordination "A and B" generation would be given A and asked for B, or given B and asked for A;
either way the model's input has both twins and it is to write one text into both. Text, tokens,
special tokens and limits of length come from generation's own code, so that a model is adapted to
what it will be asked. ``read_twins`` reads a corpus's twins, ``TwinMasks`` and ``TwinSpans`` are the
objectives.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from pipeline.core.cards.trees import TreesManifest
from pipeline.core.corpus_folder import (
    COORDINATED_FOLDER,
    SENTENCES_FILE,
    coordinators_of,
    find_trees,
)
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError
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
from pipeline.text.trees import OTHER_LEAVES, fitting_tree

UNEVEN = "conjuncts of too different length"

_MASKS_FACTOR = 2
"""BERT is asked for as many tokens as the shown conjunct has. In 29 of 100 coordinations of GENIA both
sides have equally many, in 78 of 100 one has at most twice as many as the other: those are taken, with
as many masks as the hidden conjunct needs. T5's limits are generation's own: a third to three times."""

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


_Encoded = list[MaskedTwin | SpanTwin | str]


def encode_twins(
    hidden: Sequence[Hidden], tokenizer: PreTrainedTokenizerBase, longest: int
) -> _Encoded:
    """The twins of each hidden conjunct as input of the model's family, or why they cannot be used.

    Args:
        hidden: conjuncts to be recovered.
        tokenizer: as in ``read_twins``.
        longest: as in ``read_twins``.

    Raises:
        ModelError: the tokenizer has neither sentinels nor a mask token.
    """
    spans = len(sentinel_ids(tokenizer)) > 1
    if not spans and tokenizer.mask_token_id is None:
        raise ModelError("the tokenizer has no mask token and no sentinels", remedy="use another")
    if not hidden:
        return []
    # Sentinels become special tokens, so they are asked for before the special tokens are looked at.
    mask = sentinels(tokenizer).text if spans else str(tokenizer.mask_token)
    special, reserved = frozenset(tokenizer.all_special_ids), reserved_tokens(tokenizer)
    blank = blank_before(tokenizer)

    def plain(texts: list[str]) -> list[list[int]]:
        return list(tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"])

    def fault(text: str, count: int, target: Sequence[int]) -> str:
        if reserved.search(text):
            return SOURCE_HAS_SPECIAL
        if not count or not target:
            return NO_TOKENS
        if special.intersection(target):
            return SPECIAL_IN_FILL
        half = Limits(-(-count // _MASKS_FACTOR), _MASKS_FACTOR * count)
        limits = Limits.around(count) if spans else half
        return "" if limits.shortest <= len(target) <= limits.longest else UNEVEN

    texts = [join_words(each.reference.words) for each in hidden]
    shown = plain([span_text(t, h.reference, blank) for t, h in zip(texts, hidden, strict=True)])
    # In S′(1) a fill always follows the coordinator and a blank.
    targets = plain([blank + each.text for each in hidden])
    found: _Encoded = [
        fault(f"{text.text} {each.text}", len(ids), target)
        for text, each, ids, target in zip(texts, hidden, shown, targets, strict=True)
    ]
    usable = [i for i, reason in enumerate(found) if not reason]
    twins = [
        make_twins(
            hidden[i].reference, hidden[i].coordinator, mask, 1 if spans else len(targets[i])
        )
        for i in usable
    ]
    encode = _span_twins if spans else _masked_twins
    encoded = encode(tokenizer, twins, [targets[i] for i in usable], longest) if usable else []
    for i, each in zip(usable, encoded, strict=True):
        found[i] = each
    return found


def _masked_twins(
    tokenizer: PreTrainedTokenizerBase,
    twins: Sequence[Twins],
    targets: Sequence[Sequence[int]],
    longest: int,
) -> _Encoded:
    """BERT's: as many masks as the hidden conjunct has tokens (§3.2.1); or ``TOO_LONG``."""
    pairs = [each.append for each in twins], [each.prepend for each in twins]
    encodings = tokenizer(*pairs, verbose=False).encodings or ()
    return [
        TOO_LONG
        if len(each.ids) > longest
        else MaskedTwin(np.array(each.ids), np.array(each.type_ids), np.array(target))
        for each, target in zip(encodings, targets, strict=True)
    ]


def _span_twins(
    tokenizer: PreTrainedTokenizerBase,
    twins: Sequence[Twins],
    targets: Sequence[Sequence[int]],
    longest: int,
) -> _Encoded:
    """T5's: a sentinel in each twin for the hidden conjunct (§3.2.2); or ``TOO_LONG``."""
    first, second = sentinel_ids(tokenizer)[:2]
    append, prepend = (
        tokenizer(texts, verbose=False)["input_ids"]
        for texts in ([each.append for each in twins], [each.prepend for each in twins])
    )
    found: _Encoded = []
    for one, two, fill in zip(append, prepend, targets, strict=True):
        target = [first, *fill, second, int(tokenizer.eos_token_id)]
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
    if not read_json(folder / MANIFEST, TreesManifest, remedy=remedy)["shards"]:
        raise InputError("no coordinated sentences were parsed", path=folder, remedy=remedy)
    trees = find_trees(folder, corpus / SENTENCES_FILE)
    known = frozenset(coordinators_of(corpus))
    tally, overlap = Tally(), Counter[str]()
    hidden: list[Hidden] = []
    origins: list[int] = []
    for number, (source, bracketing) in enumerate(trees.read(range(len(trees)))):
        tree = fitting_tree(bracketing, source.words)
        if tree is None:
            tally.refuse(OTHER_LEAVES)
            continue
        found, counted = natural_coordinations(source.words, tree, known)
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
