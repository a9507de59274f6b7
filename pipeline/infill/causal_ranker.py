"""Attested infilling with a causal LM: the sentence's rest under both orders, given what stands before it.

Under S′(1) an option follows "… X and", under S′(2) it precedes "and X …"; what stands before it is read
once for a reference, and its options go on from there in rows of their own. No prompt is needed: what the
model is asked is how likely the sentence is.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import PreTrainedModel

from pipeline.core.errors import ModelError
from pipeline.infill.attested import Ranker, as_free_fills, chosen
from pipeline.infill.base import SOURCE_HAS_SPECIAL, TOO_LONG, Fill, Infiller
from pipeline.infill.causal import CausalInfiller
from pipeline.infill.decoder import last_alone
from pipeline.infill.prompts import around_blank
from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions
from pipeline.infill.rankings.rest import rest
from pipeline.models.causal import positions_of
from pipeline.models.padding import goes_on_as_alone
from pipeline.models.tokenizers import token_batch

_PASS = {"cpu": 1 << 26}
_PASS_ELSEWHERE = 1 << 31
"""Scores that one pass makes, padding and both twins included."""


@dataclass(frozen=True, slots=True)
class RankedTwins:
    """Of each twin the tokens before its blank, at least one, and those after; and the options."""

    before: tuple[list[int], ...]
    after: tuple[tuple[int, ...], ...]
    choice: ReferenceOptions

    @property
    def order(self) -> tuple[int, ...]:
        """Tokens of all rows, then of the longest."""
        return self.rows * self.tokens, self.tokens

    @property
    def read(self) -> int:
        """Tokens of both twins without the options."""
        return sum(map(len, (*self.before, *self.after)))

    @property
    def rows(self) -> int:
        """Twins times options."""
        return len(self.before) * len(self.choice.options)

    @property
    def tokens(self) -> int:
        """Tokens of the longer twin with the longest option."""
        around = (len(one) + len(other) for one, other in zip(self.before, self.after, strict=True))
        return max(around) + self.longest

    @property
    def longest(self) -> int:
        """Tokens of the longest option."""
        return max(map(len, self.choice.tokens))


class CausalRanker(Ranker[RankedTwins]):
    """All options of a reference in rows that go on from what stands before it.

    They have between a third and three times the tokens of the reference (§3.2.2).
    """

    lengths = staticmethod(as_free_fills)
    own = staticmethod(rest)
    _infiller: CausalInfiller

    def __init__(self, infiller: Infiller[Any]) -> None:
        """Check that options may be read whole behind what stands before them.

        Raises:
            ModelError: the model then says something else than alone.
        """
        super().__init__(infiller)
        model = infiller.model
        if not goes_on_as_alone(model, infiller.tokenizer, steps=3):
            raise ModelError(
                f"a {model.config.model_type} goes on from a cache with several tokens otherwise than alone",
                path=model.name_or_path, remedy="rank with another causal LM, or have this one write fills",
            )  # fmt: skip

    def encode(self, choices: Sequence[ReferenceOptions]) -> list[RankedTwins | str]:
        """The twins of each choice, or why there are none."""
        infiller = self._infiller
        parts = 2 if infiller.request.sync else 1
        twins = [
            each
            for choice in choices
            for each in around_blank(choice.reference, infiller.request.coordinator)[:parts]
        ]
        before, after = infiller.before([each.before for each in twins]), infiller.after(twins)
        found: list[RankedTwins | str] = []
        for i, choice in enumerate(choices):
            own = slice(parts * i, parts * (i + 1))
            each = RankedTwins(tuple(before[own]), tuple(after[own]), choice)
            if infiller.holds_special(choice.reference):
                found.append(SOURCE_HAS_SPECIAL)
            else:
                found.append(TOO_LONG if each.tokens > infiller.limit else each)
        return found

    @torch.inference_mode()
    def decode(self, batch: Sequence[RankedTwins]) -> list[list[Fill]]:
        """The chosen options of each reference."""
        request = self._infiller.request
        found = [self._scores(some) for some in self._passes(batch)]
        width = max(each.means.shape[-1] for each in found)
        means, rests = (
            torch.cat([pad(each, (0, width - each.shape[-1])) for each in kind], -2)
            for kind in zip(*((each.means, each.rest) for each in found), strict=True)
        )
        choices = [each.choice for each in batch]
        scores = OptionScores(means, ended=means[0], rest=rests)
        return chosen(scores, choices, request.decoding, request.ranking or self.own)

    def _passes(self, batch: Sequence[RankedTwins]) -> Iterator[list[RankedTwins]]:
        """Neighbours whose scores there is room for; one reference at least."""
        some: list[RankedTwins] = []
        for each in batch:
            rows, longest = sum(e.rows for e in (*some, each)), max(e.tokens for e in (*some, each))
            if some and rows * longest > self._room:
                yield some
                some = []
            some.append(each)
        if some:
            yield some

    @property
    def _room(self) -> int:
        """Tokens whose scores are held at once."""
        model = self._infiller.model
        most = _PASS.get(model.device.type, _PASS_ELSEWHERE)
        return most // self._infiller.vocabulary

    def _scores(self, some: Sequence[RankedTwins]) -> OptionScores:
        """What the model says of the options of references; 0 beyond those of a reference."""
        parts, device = len(some[0].before), self._infiller.model.device
        shape = len(some), max(len(each.choice.options) for each in some)
        means = torch.zeros(parts + 1, *shape, dtype=torch.float64, device=device)
        rests = torch.zeros(shape, dtype=torch.float64, device=device)
        prefixes = _Prefixes(self._infiller.model, some)
        entries = [(i, k) for i, each in enumerate(some) for k in range(len(each.choice.options))]
        longest = max(each.tokens for each in some)
        size = max(1, self._room // (parts * longest))
        for start in range(0, len(entries), size):
            block = entries[start : start + size]
            rows, columns = torch.tensor(block, device=device).T
            found, rest_ = self._of(prefixes, some, block)
            means[:, rows, columns], rests[rows, columns] = found, rest_
        return OptionScores(means, ended=means[0], rest=rests)

    def _of(
        self, prefixes: "_Prefixes", some: Sequence[RankedTwins], block: Sequence[tuple[int, int]]
    ) -> tuple[Tensor, Tensor]:
        """Means ``[kinds, options]`` of some options' tokens, and the joined means of all that follows."""
        synchronizer, parts = self._infiller.request.synchronizer, prefixes.parts
        options = [some[i].choice.tokens[k] for i, k in block]
        written = [
            [*option, *some[i].after[part]]
            for part in range(parts)
            for (i, _), option in zip(block, options, strict=True)
        ]
        ids, mask = token_batch(written, 0, prefixes.device)
        logits = prefixes.logits([i for i, _ in block], ids, mask)
        logits = logits.view(parts, -1, *logits.shape[1:])
        ids, mask = (each.view(parts, -1, each.shape[-1]) for each in (ids, mask.bool()))
        lengths = torch.tensor([len(each) for each in options], device=prefixes.device)
        own = torch.arange(ids.shape[-1], device=prefixes.device) < lengths.unsqueeze(-1)

        scores = synchronizer.join(*logits[:, own])
        scored = scores.of(ids[0][own].unsqueeze(-1), synchronizer.normalizers(scores))
        sums = torch.stack([_row_sums(kind[:, 0], own) for kind in scored.kinds])
        totals = []
        for part in range(parts):
            after = mask[part] & ~own
            rest_of = logits[part][after].float()
            picked = rest_of.gather(-1, ids[part][after].unsqueeze(-1))
            after_sums = _row_sums((picked - rest_of.logsumexp(-1, keepdim=True))[:, 0], after)
            totals.append((sums[part + 1] + after_sums) / mask[part].sum(-1))
        return sums / lengths, synchronizer.combined(*totals)


def _row_sums(values: Tensor, places: Tensor) -> Tensor:
    """Sums ``[rows]``, fp64, of values that stand at places ``[rows, columns]``."""
    grid = torch.zeros(places.shape, dtype=torch.float64, device=values.device)
    grid[places] = values.double()
    return grid.sum(-1)


class _Prefixes:
    """What stands before the blanks of some references, read once: cache and next scores of each row."""

    def __init__(self, model: PreTrainedModel, some: Sequence[RankedTwins]) -> None:
        self._model, self.device = model, model.device
        self.parts, self._count = len(some[0].before), len(some)
        before = [each.before[part] for part in range(self.parts) for each in some]
        ids, self._mask = token_batch(before, 0, model.device, left=True)
        with last_alone(model):
            output = model(
                input_ids=ids, attention_mask=self._mask, position_ids=positions_of(self._mask),
                use_cache=True,
            )  # fmt: skip
        self._cache, self._next = output.past_key_values, output.logits[:, -1:]

    def logits(self, owners: Sequence[int], ids: Tensor, mask: Tensor) -> Tensor:
        """Scores ``[rows, tokens, V]`` of what goes on from some prefixes, each token after those before it.

        Args:
            owners: of the options, which are as many rows in each part.
            ids: tokens of the rows, ``[rows, tokens]``.
            mask: which of them count.
        """
        rows = torch.tensor(
            [part * self._count + i for part in range(self.parts) for i in owners],
            device=self.device,
        )
        begun: Tensor = self._next[rows]
        if ids.shape[1] == 1:
            return begun
        cache, before = copy.deepcopy(self._cache), self._mask[rows]
        cache.reorder_cache(rows)
        positions = before.sum(-1, keepdim=True) + torch.arange(
            ids.shape[1] - 1, device=self.device
        )
        found = self._model(
            input_ids=ids[:, :-1], attention_mask=torch.cat([before, mask[:, :-1]], -1),
            position_ids=positions, past_key_values=cache, use_cache=True,
        )  # fmt: skip
        return torch.cat([begun, found.logits], 1)
