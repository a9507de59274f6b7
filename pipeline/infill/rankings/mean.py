"""The mean log-probability of an option's tokens."""

from collections.abc import Sequence

from torch import Tensor

from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions


def mean(scores: OptionScores, _: Sequence[ReferenceOptions]) -> Tensor:
    """The mean log-probability of the tokens under the synchronized scores: masked LMs' own ranking."""
    return scores.means[0]
