"""The mean log-probability of an option's tokens and of the sentence after them."""

from collections.abc import Sequence

from torch import Tensor

from pipeline.core.errors import SettingsError
from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions


def rest(scores: OptionScores, _: Sequence[ReferenceOptions]) -> Tensor:
    """The mean log-probability of the sentence's rest in both orders: causal LMs' own ranking.

    What follows an option says whether it fits there, which a causal LM cannot know before.

    Raises:
        SettingsError: the model reads no sentence on from an option.
    """
    if scores.rest is None:
        raise SettingsError(
            "ranking rest needs a model that reads on after a fill, such as a causal LM",
            remedy="choose another --ranking, or add --lm causal",
        )
    return scores.rest
