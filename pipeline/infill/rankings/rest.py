"""The mean log-probability of an option's tokens and of the sentence after them."""

from collections.abc import Sequence

from torch import Tensor

from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions


def rest(scores: OptionScores, _: Sequence[ReferenceOptions]) -> Tensor:
    """The mean log-probability of the sentence's rest in both orders: causal LMs' own ranking.

    What follows an option says whether it fits there, which a causal LM cannot know before.

    Raises:
        ValueError: the model does not read on from an option; families refuse it before (``check_request``).
    """
    if scores.rest is None:
        raise ValueError("scores of the sentence's rest are wanted, and there are none")
    return scores.rest
