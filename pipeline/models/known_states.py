"""Sentences' states, kept while their encoder stays as it is: training asks for them in every epoch."""

from collections import OrderedDict
from collections.abc import Hashable

from torch import Tensor, nn

_LIMIT = 1 << 30
"""Bytes that are kept: 100,000 sentences of 14 words for an encoder of 192 units."""


class KnownStates:
    """States of the sentences that were last read, as many as ``limit`` bytes hold.

    Args:
        limit: in bytes.
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self._limit, self._bytes = limit, 0
        self._kept: OrderedDict[Hashable, Tensor] = OrderedDict()

    def get(self, key: Hashable) -> Tensor | None:
        """The states of a sentence, if they are known."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, states: Tensor) -> None:
        """Keep the states of a sentence that is not known, and let go of those nobody asked for the longest.

        Args:
            key: of the sentence.
            states: no view of a larger tensor, all of which would be kept.
        """
        self._kept[key] = states
        self._bytes += states.nbytes
        while self._bytes > self._limit:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.nbytes


def stays_as_it_is(encoder: nn.Module) -> bool:
    """Whether two readings of a sentence are the same: no weight learns, and nothing drops out."""
    learns = any(weight.requires_grad for weight in encoder.parameters())
    return not learns and not any(
        part.training and part.p > 0 for part in encoder.modules() if isinstance(part, nn.Dropout)
    )
