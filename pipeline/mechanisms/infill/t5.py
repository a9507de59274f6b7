"""Synchronized infilling with an encoder-decoder LM (§3.2.2): twins decoded in lockstep."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers import (
    DynamicCache,
    EncoderDecoderCache,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from pipeline.mechanisms.checkpoints import length_limit
from pipeline.mechanisms.infill.base import (
    NO_TOKENS,
    SPECIAL_IN_FILL,
    TOO_LONG,
    Fill,
    Task,
    fill_usable,
    reference_tokens,
    refused,
)
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.sync import Scored
from pipeline.mechanisms.twins import make_twins

__all__ = ["T5Infiller"]

_SENTINEL, _NEXT_SENTINEL = "<extra_id_0>", "<extra_id_1>"


@dataclass(frozen=True, slots=True)
class _Source:
    """Token ids of S′(1) and, with synchronization, S′(2); n tokens in the reference span."""

    inputs: tuple[list[int], ...]
    count: int

    @property
    def shortest(self) -> int:
        """Least fill length: one third of the reference's, rounded up (§3.2.2)."""
        return -(-self.count // 3)

    @property
    def longest(self) -> int:
        """Greatest fill length: three times the reference's (§3.2.2)."""
        return 3 * self.count


@dataclass
class _Trace:
    """Tokens chosen so far for one pair, and their log-probabilities."""

    tokens: list[int] = field(default_factory=list)
    fused: list[float] = field(default_factory=list)
    append: list[float] = field(default_factory=list)
    prepend: list[float] = field(default_factory=list)


class T5Infiller:
    """Decodes a fill after ``<extra_id_0>`` until the next sentinel, the same for both twins."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        task: Task,
    ) -> None:
        self.model, self.tokenizer, self.task = model, tokenizer, task
        self._limit = length_limit(model.config, tokenizer)
        self._special = frozenset(tokenizer.all_special_ids)
        vocabulary = tokenizer.get_vocab()
        self._prompt = [int(model.config.decoder_start_token_id), vocabulary[_SENTINEL]]
        self._stops = frozenset({vocabulary[_NEXT_SENTINEL], tokenizer.eos_token_id} - {None})

    def size(self, reference: Reference) -> int:
        """Words of the reference first (they bound the steps), then of the sentence."""
        return len(reference.span) * 1000 + len(reference.words)

    def encode(self, reference: Reference) -> _Source | str:
        """Token ids of the twins of one reference, or why it cannot be filled."""
        if reason := refused(self.tokenizer, reference):
            return reason
        if not (count := reference_tokens(self.tokenizer, reference)):
            return NO_TOKENS
        twins = make_twins(reference, self.task.coordinator, _SENTINEL)
        texts = (twins.append, twins.prepend) if self.task.sync else (twins.append,)
        source = _Source(
            tuple(self.tokenizer(text, verbose=False)["input_ids"] for text in texts),
            count,
        )
        return TOO_LONG if max(map(len, source.inputs)) > self._limit else source

    @torch.inference_mode()
    def fill(self, references: Sequence[Reference]) -> list[Fill]:
        """Fills by Eq. 2: greedy, between a third and three times as long as the reference."""
        return fill_usable([self.encode(reference) for reference in references], self._decode)

    def _decode(self, sources: Sequence[_Source]) -> list[Fill]:
        pairs = len(sources)
        # All S′(1) first, then all S′(2): the two halves of the batch are the two contexts.
        inputs = [s.inputs[side] for side in range(len(sources[0].inputs)) for s in sources]
        width = max(map(len, inputs))
        pad = self.tokenizer.pad_token_id
        ids = self._tensor([[*row, *[pad] * (width - len(row))] for row in inputs])
        mask = self._tensor([[1] * len(row) + [0] * (width - len(row)) for row in inputs])
        encoder_outputs = self.model.get_encoder()(input_ids=ids, attention_mask=mask)
        cache = EncoderDecoderCache(
            DynamicCache(config=self.model.config), DynamicCache(config=self.model.config)
        )
        traces = [_Trace() for _ in sources]
        alive = [True] * pairs
        step = self._tensor([self._prompt]).expand(len(inputs), -1)
        while any(alive):
            logits = self.model(
                encoder_outputs=encoder_outputs,
                attention_mask=mask,
                decoder_input_ids=step,
                past_key_values=cache,
                use_cache=True,
            ).logits[:, -1]
            banned = self._banned(sources, traces, logits.shape[-1])
            prepend = logits[pairs:] if self.task.sync else None
            scored = self.task.synchronizer.choose(logits[:pairs], prepend, banned)
            self._advance(scored, sources, traces, alive)
            chosen = scored.tokens.repeat(2) if self.task.sync else scored.tokens
            step = chosen.unsqueeze(-1)
        return [self._finish(trace) for trace in traces]

    def _tensor(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor(rows, device=self.model.device)

    def _banned(
        self, sources: Sequence[_Source], traces: Sequence[_Trace], vocabulary: int
    ) -> Tensor:
        """Stop tokens of pairs whose fill is still shorter than allowed, ``[pairs, V]``."""
        banned = torch.zeros(len(sources), vocabulary, dtype=torch.bool)
        short = torch.tensor(
            [len(t.tokens) < s.shortest for s, t in zip(sources, traces, strict=True)]
        )
        banned[:, sorted(self._stops)] = short.unsqueeze(-1)
        return banned.to(self.model.device)

    def _advance(
        self,
        scored: Scored,
        sources: Sequence[_Source],
        traces: Sequence[_Trace],
        alive: list[bool],
    ) -> None:
        columns = [scored.tokens, scored.fused, scored.append]
        columns += [] if scored.prepend is None else [scored.prepend]
        values = [column.tolist() for column in columns]
        for pair, (source, trace) in enumerate(zip(sources, traces, strict=True)):
            token = values[0][pair]
            if not alive[pair]:
                continue
            if token in self._stops:
                alive[pair] = False
                continue
            trace.tokens.append(token)
            trace.fused.append(values[1][pair])
            trace.append.append(values[2][pair])
            if scored.prepend is not None:
                trace.prepend.append(values[3][pair])
            alive[pair] = len(trace.tokens) < source.longest

    def _finish(self, trace: _Trace) -> Fill:
        count = len(trace.tokens)
        return Fill(
            str(self.tokenizer.decode(trace.tokens)).strip(),
            score=sum(trace.fused) / count,
            score_append=sum(trace.append) / count,
            score_prepend=sum(trace.prepend) / count if trace.prepend else None,
            reason=SPECIAL_IN_FILL if self._special.intersection(trace.tokens) else None,
        )
