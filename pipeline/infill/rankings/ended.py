"""The mean log-probability of an option's tokens and of the end after them."""

from collections.abc import Sequence

from torch import Tensor

from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions


def ended(scores: OptionScores, _: Sequence[ReferenceOptions]) -> Tensor:
    """The mean log-probability with the end of the fill: encoder-decoders' own ranking.

    Without the end a prefix of a good fill would beat it.
    """
    return scores.ended
