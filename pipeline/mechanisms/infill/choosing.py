"""From decoder states to the tokens that may come next, with their log-probabilities.

The output layer is one large matrix product, but what follows reads its result several times, so
that goes block by block of hypotheses, small enough for a CPU's cache.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from pipeline.mechanisms.infill.lockstep import Lockstep
from pipeline.mechanisms.sync import Scored, Synchronizer

__all__ = ["Chooser", "Pick", "top"]

Pick = Callable[[int, Tensor], Tensor]
"""Tokens ``[rows, k]`` for the hypotheses from the given one on, of fused scores ``[rows, V]``."""

_PRODUCT = {"cpu": 1 << 25}
_PRODUCT_ELSEWHERE = 1 << 29
"""Scores that one product makes: enough rows for its full speed, few enough for the memory."""

_BLOCK = {"cpu": 1 << 18}
_BLOCK_ELSEWHERE = 1 << 28
"""Scores of each context looked at together."""

_WIDTH = 128


def top(scores: Tensor, count: int) -> Tensor:
    """Indices of the ``count`` greatest of each row, best first: ``[rows, V]`` to ``[rows, count]``.

    A maximum per stretch of the vocabulary costs a tenth of an argmax over it, and only the
    ``count`` stretches with the greatest maxima can hold what is wanted.
    """
    rows, size = scores.shape
    stretches = size // _WIDTH
    if stretches <= count:
        return scores.topk(min(count, size)).indices if count > 1 else scores.argmax(-1, True)
    body = scores[:, : stretches * _WIDTH].view(rows, stretches, _WIDTH)
    maxima = body.amax(-1)
    best = maxima.topk(count).indices if count > 1 else maxima.argmax(-1, True)
    offsets = torch.arange(_WIDTH, device=scores.device)
    places = (best.unsqueeze(-1) * _WIDTH + offsets).flatten(1)
    rest = torch.arange(stretches * _WIDTH, size, device=scores.device)
    places = torch.cat([places, rest.expand(rows, -1)], -1)
    found = scores.gather(1, places)
    chosen = found.topk(count).indices if count > 1 else found.argmax(-1, True)
    return places.gather(1, chosen)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Synchronized scores of all hypotheses, and which tokens they favour.

    Attributes:
        synchronizer: f of Eq. 2.
        stops: tokens that end a fill.
        one_stop: whether the stops count as one and the same, the first, with the best one's score.
    """

    synchronizer: Synchronizer
    stops: tuple[int, ...]
    one_stop: bool = False

    def choose(self, state: Lockstep, states: Tensor, short: Tensor, pick: Pick) -> Scored:
        """Tokens with their log-probabilities, ``[hypotheses, k]``.

        Args:
            state: the decoder.
            states: its states, ``[parts, references, hypotheses of each, ...]``.
            short: which hypotheses may not end yet, ``[hypotheses]``.
            pick: chooses tokens by the fused scores.
        """
        flat = states.flatten(1, 2)
        parts, count = flat.shape[:2]
        device = flat.device.type
        found: list[Scored] = []
        rows = max(1, _PRODUCT.get(device, _PRODUCT_ELSEWHERE) // (state.vocabulary * parts))
        few = max(1, _BLOCK.get(device, _BLOCK_ELSEWHERE) // state.vocabulary)
        for start in range(0, count, rows):
            some = flat[:, start : start + rows]
            logits = state.logits(some.flatten(0, 1)).view(parts, -1, state.vocabulary)
            for at in range(0, some.shape[1], few):
                each = logits[:, at : at + few]
                first = start + at
                may_not = short[first : first + each.shape[1]]
                found.append(self._of_block(each, may_not, partial(pick, first)))
        return _joined(found)

    def _of_block(self, logits: Tensor, short: Tensor, pick: Callable[[Tensor], Tensor]) -> Scored:
        append = logits[0]
        prepend = logits[1] if len(logits) > 1 else None
        scores = self.synchronizer.join(append, prepend)
        fused = scores.fused if prepend is not None else scores.fused.clone()
        stops = list(self.stops)
        ends = fused[:, stops]
        if self.one_stop:
            best = ends.amax(-1, keepdim=True)
            ends = torch.full_like(ends, -torch.inf)
            ends[:, :1] = best
        normalizers = self.synchronizer.normalizers(scores)
        fused[:, stops] = ends.masked_fill(short.unsqueeze(-1), -torch.inf)
        tokens = pick(fused)
        chosen = replace(scores, fused=fused)
        return chosen.of(tokens, normalizers)


def _joined(found: Sequence[Scored]) -> Scored:
    prepend = [each.prepend for each in found if each.prepend is not None]
    return Scored(
        torch.cat([each.tokens for each in found]),
        torch.cat([each.fused for each in found]),
        torch.cat([each.append for each in found]),
        torch.cat(prepend) if prepend else None,
    )
