"""What a writer is: a language model that completes prompts, wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked of a language model, and how its answer begins.

    Attributes:
        user: the user's message.
        begins: what the model goes on with; "" where it begins the answer itself.
        seed: of the sample, where one is drawn: equal prompts with equal seeds have equal completions.
    """

    user: str
    begins: str = ""
    seed: int = 0


class Writer(Protocol):
    """What completes prompts: ``local``, ``served`` or ``replay``."""

    def complete(self, prompts: Sequence[Prompt]) -> list[str | None]:
        """What follows ``begins`` in the answer to each prompt, in their order; None where nothing came."""
