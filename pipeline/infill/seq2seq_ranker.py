"""Attested infilling with an encoder-decoder LM: all options scored in one pass of the decoder."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pipeline.infill.attested import Ranker, as_free_fills, chosen
from pipeline.infill.base import Fill
from pipeline.infill.forcing import forced
from pipeline.infill.lockstep import TwinInputs
from pipeline.infill.rankings.ended import ended
from pipeline.infill.rankings.protocol import ReferenceOptions
from pipeline.infill.seq2seq import T5Infiller


@dataclass(frozen=True, slots=True)
class RankedInputs:
    """The encoder's inputs of both twins, and the options that the decoder reads."""

    inputs: TwinInputs
    choice: ReferenceOptions
    written: int

    @property
    def order(self) -> tuple[int, ...]:
        """Tokens of all options, then tokens to read."""
        return self.written, self.inputs.tokens

    @property
    def read(self) -> int:
        """Tokens of both twins."""
        return self.inputs.read

    @property
    def rows(self) -> int:
        """Twins, and what the decoder reads in their place, in lengths of the longer twin."""
        return len(self.inputs.inputs) * (1 + -(-self.written // self.tokens))

    @property
    def tokens(self) -> int:
        """Tokens of the longer twin."""
        return self.inputs.tokens


class T5Ranker(Ranker[RankedInputs]):
    """All options of a reference in one pass of the decoder, the encoder run once per twin (Eq. 2).

    They have between a third and three times the tokens of the reference (§3.2.2).
    """

    lengths = staticmethod(as_free_fills)
    own = staticmethod(ended)
    _infiller: T5Infiller

    def encode(self, choices: Sequence[ReferenceOptions]) -> list[RankedInputs | str]:
        """The twins of each choice, or why there are none."""
        inputs = self._infiller.encode([choice.reference for choice in choices])
        return [
            each
            if isinstance(each, str)
            else RankedInputs(each, choice, sum(map(len, choice.tokens)))
            for each, choice in zip(inputs, choices, strict=True)
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[RankedInputs]) -> list[list[Fill]]:
        """The chosen options of each pair."""
        request = self._infiller.request
        # The decoder keeps references of similar length together.
        order = sorted(range(len(batch)), key=lambda i: batch[i].tokens)
        ordered = [batch[i] for i in order]
        choices = [each.choice for each in ordered]
        forcing = self._infiller.forcing([each.inputs for each in ordered])
        scores = forced(forcing, [c.tokens for c in choices], self._infiller.stops, request)
        fills: list[list[Fill]] = [[]] * len(batch)
        ranking = request.ranking or self.own
        for i, found in zip(order, chosen(scores, choices, request.decoding, ranking), strict=True):
            fills[i] = found
        return fills
