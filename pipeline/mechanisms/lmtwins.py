"""Adapting a language model to twins: natural coordinations, hidden as generation hides them (§3.2).

Of a coordination "A and B" generation would be given A and asked for B, or given B and asked for A;
either way the model sees both twins and is to write one text into both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json
from pipeline.ground.parquet import MANIFEST
from pipeline.ground.tally import Tally
from pipeline.ground.trees import parse_tree
from pipeline.mechanisms.coordinated import Hidden, hidden_conjuncts, natural_coordinations
from pipeline.mechanisms.corruption import IGNORED
from pipeline.mechanisms.lmbatches import OneEach, padded
from pipeline.mechanisms.naturaltext import join_words
from pipeline.mechanisms.plan import find_trees
from pipeline.mechanisms.rawtext.overlap import Overlap
from pipeline.mechanisms.twin_inputs import MaskedTwin, SpanTwin, encode_twins
from pipeline.settings.preparse import COORDINATED_FOLDER

__all__ = ["NaturalTwins", "TwinMasks", "TwinSpans", "read_twins"]

_Ids = NDArray[np.int64]


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
        self,
        texts: Sequence[MaskedTwin],
        examples: Sequence[tuple[int, ...]],
        rng: np.random.Generator,
    ) -> dict[str, Tensor]:
        """``input_ids``, ``attention_mask``, ``labels`` and, if the model has them, token types."""
        del rng
        twins = [texts[index] for (index,) in examples]
        rows = [twin.ids for twin in twins]
        ids = padded(rows, self._pad)
        labels = np.full_like(ids, IGNORED)
        for line, twin in zip(labels, twins, strict=True):
            line[np.flatnonzero(twin.ids == self._mask)] = np.tile(twin.target, 2)
        batch = {"input_ids": ids, "attention_mask": _attention(rows), "labels": labels}
        if self._types:
            batch["token_type_ids"] = padded([twin.types for twin in twins], 0)
        return {name: torch.from_numpy(value) for name, value in batch.items()}


class TwinSpans(OneEach):
    """T5's objective: the same target after S′(1) and after S′(2), two sequences of one batch."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._pad = int(tokenizer.pad_token_id)

    def batch(
        self,
        texts: Sequence[SpanTwin],
        examples: Sequence[tuple[int, ...]],
        rng: np.random.Generator,
    ) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask`` of the encoder, ``labels`` of the decoder.

        S′(1) and S′(2) of an example follow each other: twice as many sequences as examples.
        """
        del rng
        twins = [texts[index] for (index,) in examples]
        rows = [ids for twin in twins for ids in (twin.ids, twin.prepend)]
        batch = {
            "input_ids": padded(rows, self._pad),
            "attention_mask": _attention(rows),
            "labels": padded([twin.target for twin in twins for _ in "12"], IGNORED),
        }
        return {name: torch.from_numpy(value) for name, value in batch.items()}


def _attention(rows: Sequence[_Ids]) -> _Ids:
    return padded([np.ones(len(row), dtype=np.int64) for row in rows], 0)
