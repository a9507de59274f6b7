"""Hidden conjuncts as a language model sees them: tokens, masks and answers of twins (§3.2).

Whatever shapes this (text, tokens, special tokens, limits of length) is generation's own code, so that
a model is adapted to what it will be asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from pipeline.ground.errors import ModelError
from pipeline.mechanisms.coordinated import Hidden
from pipeline.mechanisms.infill.base import (
    NO_TOKENS,
    SOURCE_HAS_SPECIAL,
    SPECIAL_IN_FILL,
    TOO_LONG,
    blank_before,
    reserved_tokens,
    span_text,
)
from pipeline.mechanisms.infill.trace import Limits
from pipeline.mechanisms.languagemodels import sentinels
from pipeline.mechanisms.naturaltext import join_words
from pipeline.mechanisms.tokenizers import sentinel_ids
from pipeline.mechanisms.twins import Twins, make_twins

__all__ = ["UNEVEN", "MaskedTwin", "SpanTwin", "encode_twins"]

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
    """The twins of each hidden conjunct as the model's family sees them, or why they are of no use.

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
        family = _Masks(tokenizer)
    else:
        raise ModelError("the tokenizer has no mask token and no sentinels", remedy="use another")
    return family.encode(hidden, longest)


class _Family(ABC):
    """What the families share: which conjuncts generation could be asked for, and could answer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
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
        twins = [self._twins(hidden[i], len(targets[i])) for i in usable]
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
    def _twins(self, hidden: Hidden, masks: int) -> Twins:
        """The twins as text, for a target of ``masks`` tokens."""

    @abstractmethod
    def _encode(
        self, twins: Sequence[Twins], targets: Sequence[Sequence[int]], longest: int
    ) -> list[MaskedTwin | SpanTwin | str]:
        """Twins with their targets, or ``TOO_LONG``."""


class _Masks(_Family):
    """BERT: generation gives as many masks as the shown conjunct has tokens (§3.2.1)."""

    def _limits(self, count: int) -> Limits:
        return Limits(-(-count // _MASKS_FACTOR), _MASKS_FACTOR * count)

    def _twins(self, hidden: Hidden, masks: int) -> Twins:
        mask = str(self.tokenizer.mask_token)
        return make_twins(hidden.reference, hidden.coordinator, mask, masks)

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
        super().__init__(tokenizer)

    def _limits(self, count: int) -> Limits:
        return Limits.around(count)

    def _twins(self, hidden: Hidden, masks: int) -> Twins:
        del masks
        return make_twins(hidden.reference, hidden.coordinator, self._sentinels.text)

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
