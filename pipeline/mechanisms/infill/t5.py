"""Synchronized infilling with an encoder-decoder LM (§3.2.2): twins decoded in lockstep."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.mechanisms.infill.base import TOO_LONG, Fill, Task, TwinFiller
from pipeline.mechanisms.infill.beams import BeamSearch
from pipeline.mechanisms.infill.decoding import draw, key_of, uniform
from pipeline.mechanisms.infill.lockstep import COMPACT_AT, Lockstep
from pipeline.mechanisms.infill.trace import Limits, Step, Trace, steps_of
from pipeline.mechanisms.languagemodels import sentinels
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.twins import make_twins

__all__ = ["T5Infiller"]


@dataclass(frozen=True, slots=True)
class _Source:
    """Token ids of S′(1) and, with synchronization, S′(2); fill lengths; key; hypotheses."""

    inputs: tuple[list[int], ...]
    limits: Limits
    key: str
    width: int

    @property
    def order(self) -> tuple[int, ...]:
        """Steps at most, then tokens to read."""
        return self.limits.longest, self.tokens

    @property
    def rows(self) -> int:
        """Twins times hypotheses."""
        return len(self.inputs) * self.width

    @property
    def tokens(self) -> int:
        """Tokens of the longer twin."""
        return max(map(len, self.inputs))


@dataclass
class _Draft:
    """A fill being written: which sample of which source."""

    source: _Source
    sample: int
    trace: Trace = field(default_factory=Trace)
    done: bool = False

    def take(self, step: Step, stops: tuple[int, ...]) -> None:
        """Add a step, unless the fill is done, or is so by this step."""
        if self.done:
            return
        self.done = step.token in stops
        if not self.done:
            self.trace = self.trace.then(step, self.source.limits.longest)
            self.done = self.trace.cut


class T5Infiller(TwinFiller[_Source]):
    """Decodes a fill after ``<extra_id_0>`` until the next sentinel, the same for both twins.

    Each token is chosen by the synchronized scores given the tokens before it (Eq. 2), and a fill
    is between a third and three times as long as the reference span (§3.2.2). A sample, too, is
    drawn step by step; the N best come from a beam search over the same scores.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, task: Task
    ) -> None:
        super().__init__(model, tokenizer, task)
        self._sentinels = sentinels(tokenizer)
        first, second = self._sentinels.ids[:2]
        self._prompt = [int(model.config.decoder_start_token_id), first]
        stops = {second, tokenizer.eos_token_id} - {None}
        self._stops = tuple(sorted(stops))

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[_Source | str]:
        twins = [
            make_twins(each, self.task.coordinator, self._sentinels.text) for each in references
        ]
        texts = [[each.append for each in twins]]
        if self.task.sync:
            texts.append([each.prepend for each in twins])
        parts = [[each.ids for each in self._tokenized(part)] for part in texts]
        decoding = self.task.decoding
        width = decoding.width if decoding.kind == "n-best" else decoding.fills
        return [
            TOO_LONG
            if max(map(len, inputs)) > self._limit
            else _Source(inputs, Limits(count), key_of(reference), width)
            for reference, count, inputs in zip(
                references, counts, zip(*parts, strict=True), strict=True
            )
        ]

    def _decode(self, encoded: Sequence[_Source]) -> list[list[Fill]]:
        decoding = self.task.decoding
        if decoding.kind == "n-best":
            search = BeamSearch(decoding.width, self._stops, self.task.synchronizer)
            state = self._lockstep(encoded, decoding.width)
            traces = search.run(state, [source.limits for source in encoded])
            found = [best[: decoding.fills] for best in traces]
        else:
            found = self._write(encoded)
        return [[self._finish(trace) for trace in traces] for traces in found]

    def _lockstep(self, encoded: Sequence[_Source], width: int) -> Lockstep:
        parts = len(encoded[0].inputs)
        rows = [s.inputs[part] for part in range(parts) for s in encoded]
        return Lockstep(
            self.model,
            self._padded(rows, self.tokenizer.pad_token_id),
            self._padded([[1] * len(row) for row in rows], 0),
            width=width,
            prompt=self._prompt,
            parts=parts,
        )

    def _write(self, encoded: Sequence[_Source]) -> list[list[Trace]]:
        """Greedy fills, or samples, of every source."""
        width = self.task.decoding.fills
        state = self._lockstep(encoded, width)
        every = [_Draft(source, sample) for source in encoded for sample in range(width)]
        rows = every
        length = 0
        while True:
            scores = self.task.synchronizer.join(*state.logits())
            tokens = self._choose(scores.fused, rows, length)
            for draft, step in zip(rows, steps_of(scores.of(tokens)), strict=True):
                draft.take(step, self._stops)
            length += 1
            alive = [i for i, draft in enumerate(rows) if not draft.done]
            if not alive:
                break
            state.extend(tokens.squeeze(-1))
            if len(alive) <= COMPACT_AT * len(rows):
                state.keep(torch.tensor(alive, device=tokens.device))
                rows = [rows[i] for i in alive]
        return [
            [draft.trace for draft in every[i : i + width]] for i in range(0, len(every), width)
        ]

    def _choose(self, fused: Tensor, rows: Sequence[_Draft], length: int) -> Tensor:
        """The token after the first ``length`` of every draft, ``[rows, 1]``."""
        decoding = self.task.decoding
        short = [draft.source.limits.shortest > length for draft in rows]
        if any(short):
            fused = fused.clone()
            at = torch.tensor(short, device=fused.device).nonzero()
            fused[at, list(self._stops)] = -torch.inf
        if decoding.kind == "greedy":
            return fused.argmax(-1, keepdim=True)
        numbers = [uniform(decoding.seed, d.source.key, d.sample, length) for d in rows]
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=fused.device).unsqueeze(-1)
        return draw(fused, uniforms, decoding.temperature, decoding.top_p)

    def _finish(self, trace: Trace) -> Fill:
        count = len(trace.tokens)
        text, reason = self._text(trace.tokens)
        return Fill(
            text,
            score=trace.fused / count,
            score_append=trace.append / count,
            score_prepend=None if trace.prepend is None else trace.prepend / count,
            reason=reason,
            cut=trace.cut,
        )
