"""Synchronized infilling with a causal LM: two prompts, one a twin, whose answers are written in lockstep.

Each next token is chosen by the scores after both prompts, joined as in Eq. 2. In S′(1) the fill has ended
where the sentence goes on after it, in S′(2) where the coordinator follows: two tokens, one for each twin.
So an end of its own, with the best of a twin's ending tokens as its score there, stands beside the
vocabulary, and it is joined like any token.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.core.types import Reference
from pipeline.infill.base import TOO_LONG, InfillRequest
from pipeline.infill.decoder import Lockstep, RowLockstep, last_alone
from pipeline.infill.decoding import Limits, key_of
from pipeline.infill.lockstep import LockstepInfiller, TwinInputs
from pipeline.infill.prompts import Around, around_blank, twin_prompts
from pipeline.models.causal import (
    attention_window,
    ending_tokens,
    following_tokens,
    leading_tokens,
    middle_tokens,
    positions_of,
)
from pipeline.models.padding import goes_on_as_alone
from pipeline.models.tokenizers import token_batch
from pipeline.models.writers.rendering import chats, rendered


@dataclass(frozen=True, slots=True)
class PromptedTwins(TwinInputs):
    """Token ids of both prompts; ``ends`` has of each the tokens that its twin goes on with."""

    ends: tuple[tuple[int, ...], ...]

    @property
    def rows(self) -> int:
        """Twins times hypotheses, each of which has the prompt for itself."""
        return len(self.inputs) * self.width


class CausalInfiller(LockstepInfiller[PromptedTwins]):
    """Decodes the answers to both prompts until both twins go on."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> None:
        """Read what is asked of a checkpoint.

        Raises:
            ModelError: an end that its settings name is no token, or no token can begin a text.
        """
        super().__init__(model, tokenizer, request)
        head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        self.vocabulary = len(head.weight)
        # Beyond it, where ``CausalLockstep`` has the end.
        self.stops = (self.vocabulary,)
        self.endings = ending_tokens(model, tokenizer)
        self._lead = leading_tokens(tokenizer)
        starts = tokenizer.bos_token_id, tokenizer.eos_token_id, *self.endings
        start = next((i for i in starts if i is not None and i < self.vocabulary), None)
        if start is None:
            raise ModelError(
                "its tokenizer has no token that a text could begin with",
                path=model.name_or_path, remedy="name a causal LM with a token of beginning or end",
            )  # fmt: skip
        self._start = start
        self._form = request.prompt or ("chat" if chats(tokenizer) else "plain")

    @cached_property
    def _shared_within(self) -> int:
        """Tokens of a row up to which what all prompts of a batch begin with is read once.

        Padding stands behind it, which some models do not ignore, and which takes room in a sliding window.
        """
        try:
            alike = goes_on_as_alone(self.model, self.tokenizer, behind=True)
        except Exception:  # with a cache that cannot be gone on with so
            alike = False
        return (attention_window(self.model) or sys.maxsize) if alike else 0

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[PromptedTwins | str]:
        parts = 2 if self.request.sync else 1
        twins = [around_blank(each, self.request.coordinator)[:parts] for each in references]
        after = self.after([each for both in twins for each in both])
        found: list[PromptedTwins | str] = []
        for i, (reference, count) in enumerate(zip(references, counts, strict=True)):
            limits = Limits.around(count)
            inputs = PromptedTwins(
                tuple(self._embedded(each) for each in self._prompts(reference)[:parts]),
                limits, key_of(reference), self._width,
                tuple(ids[:1] for ids in after[parts * i : parts * (i + 1)]),
            )  # fmt: skip
            found.append(TOO_LONG if inputs.tokens + limits.longest > self.limit else inputs)
        return found

    def _embedded(self, prompt: list[int]) -> list[int]:
        """A prompt, whose form may hold special tokens that nobody else asks for.

        Raises:
            ModelError: the model has no embedding for one.
        """
        highest = max(prompt)
        if highest >= self.vocabulary:
            name = self.tokenizer.convert_ids_to_tokens(highest)
            raise ModelError(
                f"its prompts hold the token {name!r}, number {highest:,}, and it has "
                f"{self.vocabulary:,} embeddings",
                path=self.model.name_or_path, remedy="choose another --prompt",
            )  # fmt: skip
        return prompt

    def before(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of what stands before blanks, at least one each."""
        start = self._lead or [self._start]
        return [
            [*(self._lead if each.ids else start), *each.ids]
            for each in self._tokenized(texts, special=False)
        ]

    def after(self, twins: Sequence[Around]) -> list[tuple[int, ...]]:
        """Tokens of what stands after the blanks of twins."""
        return following_tokens(self.tokenizer, [each.after for each in twins])

    def _prompts(self, reference: Reference) -> list[list[int]]:
        """Tokens of what the model reads for S′(1) and S′(2)."""
        coordinator = self.request.coordinator
        if self._form == "fim" and (marks := middle_tokens(self.tokenizer)):
            twins = around_blank(reference, coordinator)
            before = self._tokenized([each.before for each in twins], special=False)
            return [
                [*self._lead, marks.prefix, *one.ids, marks.suffix, *other, marks.middle]
                for one, other in zip(before, self.after(twins), strict=True)
            ]
        chat = self._form == "chat"
        prompts = twin_prompts(reference, coordinator)
        texts = [rendered(self.tokenizer, each, chat=chat) for each in prompts]
        lead = [] if chat else self._lead
        return [[*lead, *each.ids] for each in self._tokenized(texts, special=False)]

    def _lockstep(self, sources: Sequence[PromptedTwins]) -> Lockstep:
        return CausalLockstep(self.model, sources, self.endings, self._shared_within)


class CausalLockstep(RowLockstep):
    """Any causal LM of the library, driven through its own forward pass and cache.

    The last token of its vocabulary, V − 1, is the end, and those that end an answer or a line are no
    tokens of a fill. Nor is what every twin goes on with: it has the end's very score.

    Args:
        model: the language model.
        sources: both prompts of every reference.
        endings: tokens that end an answer or a line, whatever the twin.
        shared_within: tokens of the longest row, fill included, up to which what all begin with is read once.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        sources: Sequence[PromptedTwins],
        endings: Sequence[int],
        shared_within: int,
    ) -> None:
        self.parts, self._model = len(sources[0].inputs), model
        head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        self.vocabulary = len(head.weight) + 1
        every = [(each.inputs[p], each.ends[p]) for p in range(self.parts) for each in sources]
        # Questions begin alike, with the same examples.
        longest = max(e.tokens for e in sources) + max(e.limits.longest for e in sources)
        self._shared = (
            _common_start([ids[:-1] for ids, _ in every]) if longest <= shared_within else []
        )
        own = [ids[len(self._shared) :] for ids, _ in every]
        # What padding is filled with nobody sees.
        self._ids, self._mask = token_batch(own, 0, model.device, left=True)
        none = tuple(endings[:1])
        every_twin = [each.ends[0] if len(set(each.ends)) == 1 else none for each in sources]
        self._ends, self._no_fill = (
            token_batch([[*endings, *(end or none)] for end in ends], 0, model.device)[0]
            for ends in ([end for _, end in every], every_twin * self.parts)
        )
        self._cache: Any = None
        self._width = 1

    def start(self) -> Tensor:
        """States, here the scores themselves, after the prompt."""
        if self._shared:
            ids = torch.tensor([self._shared], device=self._mask.device)
            with last_alone(self._model):
                read = self._model(input_ids=ids, use_cache=True)
            self._cache = read.past_key_values
            self._cache.reorder_cache(torch.zeros_like(self._mask[:, 0]))
            before = self._mask.new_ones(len(self._mask), len(self._shared))
            self._mask = torch.cat([before, self._mask], -1)
        return self._forward(self._ids, positions_of(self._mask)[:, len(self._shared) :])

    def advance(self, tokens: Tensor, parents: Tensor | None = None) -> Tensor:
        """States, here the scores themselves, after one token more."""
        if parents is not None:
            self._select(self._of_parents(parents))
        # A hypothesis that has ended may go on with whatever there is.
        written = tokens.reshape(-1, 1).repeat(self.parts, 1).clamp(max=self.vocabulary - 2)
        positions = self._mask.sum(-1, keepdim=True)
        self._mask = torch.cat([self._mask, torch.ones_like(written)], -1)
        return self._forward(written, positions)

    def _select(self, rows: Tensor) -> None:
        self._cache.reorder_cache(rows)  # the one way that running states have, too
        self._mask = self._mask[rows]
        self._ends, self._no_fill = self._ends[rows], self._no_fill[rows]

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        with last_alone(self._model):
            output = self._model(
                input_ids=ids, attention_mask=self._mask, position_ids=positions,
                past_key_values=self._cache, use_cache=True,
            )  # fmt: skip
        self._cache = output.past_key_values
        logits: Tensor = output.logits[:, -1]
        end = logits.gather(1, self._ends).amax(-1, keepdim=True)
        scores = torch.cat([logits.scatter(1, self._no_fill, -torch.inf), end], -1)
        return scores.view(self.parts, -1, self._width, self.vocabulary)


def _common_start(rows: Sequence[Sequence[int]]) -> list[int]:
    """The tokens that all rows begin with."""
    same = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*rows, strict=False))
    return [tokens[0] for tokens in same]
