"""Synchronized infilling with an encoder-decoder LM (§3.2.2): twins decoded in lockstep."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.mechanisms.infill.base import TOO_LONG, Fill, Task, TwinFiller
from pipeline.mechanisms.infill.beams import BeamSearch
from pipeline.mechanisms.infill.decoding import draw, key_of, uniform
from pipeline.mechanisms.infill.lockstep import COMPACT_AT, Lockstep
from pipeline.mechanisms.infill.trace import Limits, Trace, steps_of
from pipeline.mechanisms.spans import Reference
from pipeline.mechanisms.twins import make_twins

__all__ = ["T5Infiller"]

_SENTINEL, _NEXT_SENTINEL = "<extra_id_0>", "<extra_id_1>"


@dataclass(frozen=True, slots=True)
class _Source:
    """Token ids of S′(1) and, with synchronization, S′(2); fill lengths; the reference's key."""

    inputs: tuple[list[int], ...]
    limits: Limits
    key: str


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
        vocabulary = tokenizer.get_vocab()
        self._prompt = [int(model.config.decoder_start_token_id), vocabulary[_SENTINEL]]
        stops = {vocabulary[_NEXT_SENTINEL], tokenizer.eos_token_id} - {None}
        self._stops = tuple(sorted(stops))

    def size(self, reference: Reference) -> int:
        """Words of the reference first (they bound the steps), then of the sentence."""
        return len(reference.span) * 1000 + len(reference.words)

    def _encode(self, reference: Reference, count: int) -> _Source | str:
        twins = make_twins(reference, self.task.coordinator, _SENTINEL)
        texts = (twins.append, twins.prepend) if self.task.sync else (twins.append,)
        inputs = tuple(self.tokenizer(text, verbose=False)["input_ids"] for text in texts)
        if max(map(len, inputs)) > self._limit:
            return TOO_LONG
        return _Source(inputs, Limits(count), key_of(reference))

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
        traces = [Trace() for _ in encoded for _ in range(width)]
        rows = list(range(len(traces)))  # which trace each row of the batch writes
        alive = set(rows)
        for length in range(max(s.limits.longest for s in encoded)):
            scores = self.task.synchronizer.join(*state.logits())
            short = [encoded[row // width].limits.shortest > length for row in rows]
            tokens = self._choose(self._allowed(scores.fused, short), encoded, rows, length)
            for row, step in zip(rows, steps_of(scores.of(tokens)), strict=True):
                if row not in alive:
                    continue
                if step.token not in self._stops:
                    traces[row] = traces[row].then(step, encoded[row // width].limits.longest)
                if step.token in self._stops or traces[row].cut:
                    alive.discard(row)
            if not alive:
                break
            state.extend(tokens.squeeze(-1))
            if len(alive) <= COMPACT_AT * len(rows):
                left = [i for i, row in enumerate(rows) if row in alive]
                state.keep(torch.tensor(left, device=tokens.device))
                rows = [rows[i] for i in left]
        return [traces[i : i + width] for i in range(0, len(traces), width)]

    def _allowed(self, fused: Tensor, short: Sequence[bool]) -> Tensor:
        """Scores without the end of fills that are still shorter than allowed, ``[rows, V]``."""
        if not any(short):
            return fused
        allowed = fused.clone()
        too_short = torch.tensor(short, device=fused.device).nonzero()
        allowed[too_short, list(self._stops)] = -torch.inf
        return allowed

    def _choose(
        self, scores: Tensor, encoded: Sequence[_Source], rows: Sequence[int], position: int
    ) -> Tensor:
        """The next token of every row, ``[rows, 1]``."""
        decoding = self.task.decoding
        if decoding.kind == "greedy":
            return scores.argmax(-1, keepdim=True)
        numbers = [
            [
                uniform(
                    decoding.seed,
                    encoded[row // decoding.fills].key,
                    row % decoding.fills,
                    position,
                )
            ]
            for row in rows
        ]
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=scores.device)
        return draw(scores, uniforms, decoding.temperature, decoding.top_p)

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
