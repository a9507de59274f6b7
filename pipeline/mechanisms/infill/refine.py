"""Mask-predict: iterative refinement of what a masked LM wrote (Ghazvininejad et al., 2019).

One pass chooses every token without seeing the others, so neighbours may say the same. Each pass
more hides the least probable tokens, and they are chosen again in sight of those that stay.
"""

import math
from collections.abc import Sequence

import torch

from pipeline.mechanisms.infill.masks import MaskedTwins
from pipeline.mechanisms.sync import Scored, Synchronizer

__all__ = ["refined", "weakest"]


def weakest(
    log_probabilities: Sequence[float], counts: Sequence[int], done: int, passes: int
) -> list[int]:
    """Places to choose again after ``done`` of ``passes``: n·(passes − done)/passes of n each.

    Args:
        log_probabilities: of the token at every place, under the synchronized scores.
        counts: places of each reference, n.
        done: passes made.
        passes: passes in all.

    Returns:
        The least probable places of each reference, in order; of equal ones the foremost.
    """
    places: list[int] = []
    begin = 0
    for count in counts:
        block = range(begin, begin + count)
        begin += count
        # What is not a number has no order, and nothing is worse.
        ranked = sorted(block, key=lambda i: _or_least(log_probabilities[i]))
        places += sorted(ranked[: count * (passes - done) // passes])
    return places


def _or_least(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def refined(
    twins: MaskedTwins,
    scored: Scored,
    counts: Sequence[int],
    passes: int,
    synchronizer: Synchronizer,
) -> Scored:
    """The fills after ``passes`` passes, the first of which gave ``scored``, ``[all places, 1]``.

    A token has the log-probabilities of the pass that chose it. A place hidden in one twin is
    hidden in the other, so the twins keep identical fills.
    """
    for done in range(1, passes):
        again = weakest(scored.fused.flatten().tolist(), counts, done, passes)
        if not again:
            break
        places = torch.tensor(again, device=scored.tokens.device)
        twins.write(scored.tokens.flatten())
        twins.hide(places)
        scores = synchronizer.join(*twins.logits(places))
        chosen = scores.of(scores.fused.argmax(-1, keepdim=True))
        prepend = scored.prepend
        scored = Scored(
            tokens=scored.tokens.index_copy(0, places, chosen.tokens),
            fused=scored.fused.index_copy(0, places, chosen.fused),
            append=scored.append.index_copy(0, places, chosen.append),
            prepend=None
            if prepend is None or chosen.prepend is None
            else prepend.index_copy(0, places, chosen.prepend),
        )
    return scored
