"""What a writer is: a language model that completes prompts, wherever it runs.

``local`` runs one here, ``served`` asks one behind an address, ``replay`` reads what either of them once
answered. ``keeping`` keeps their answers as they come, in the file of ``kept``.
"""

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from pipeline.core.files import digest_of

Begun = Literal["chat", "continued", "templated", "plain", "asked"]
"""How the beginning of an answer reached the model.

``chat``: there was none; ``continued``: as an assistant's message that the server goes on with;
``templated``: in the model's chat template, which was filled in here; ``plain``: as a text without any
template; ``asked``: at the end of the user's message, so that the model may or may not go on with it (where
it repeats it and goes on, the answer is ``continued``).
"""


TOO_LONG = "prompt and completion are longer than the model allows"
"""Why a model here did not answer."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked of a language model, and how its answer begins.

    Attributes:
        user: the user's message.
        begins: what the model goes on with; "" where it begins the answer itself.
        seed: of the sample, where one is drawn: equal prompts with equal seeds have equal completions.
        tokens: most tokens of the completion.
    """

    user: str
    begins: str = ""
    seed: int = 0
    tokens: int = 256


@dataclass(frozen=True, slots=True)
class Sampling:
    """How next tokens are chosen: drawn at a temperature from a nucleus; at temperature 0 the best."""

    temperature: float = 0.0
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """What a language model answered.

    Attributes:
        text: what follows ``Prompt.begins``; None where nothing came.
        begun: how the beginning reached the model.
        reason: why nothing came.
        cut: whether ``Prompt.tokens`` ended before the answer did.
    """

    text: str | None
    begun: Begun
    reason: str = ""
    cut: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is not a word in it."""
        return not (self.text or "").strip()


@dataclass(frozen=True, slots=True)
class TextScore:
    """The sum of the log-probabilities of a text's tokens, and their number; the first token has none."""

    total: float
    tokens: int


_LONGEST_TOKEN = 100
"""Characters, on an average far beyond any text's."""


def measured(prompt: Prompt, answer: WrittenAnswer) -> WrittenAnswer:
    """An answer; none where it has more lines, or more text, than its tokens can have.

    Each of its lines could be a row that keeps the whole of it.
    """
    text = answer.text or ""
    if text.count("\n") <= prompt.tokens and len(text) <= _LONGEST_TOKEN * prompt.tokens:
        return answer
    return WrittenAnswer(None, answer.begun, "longer than what was asked for")


class Writer(Protocol):
    """What completes prompts: ``keeping`` for a model here or behind an address, or ``replay``."""

    def complete(self, prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
        """What follows ``begins`` in the answer to each prompt, in their order."""


class Answering(Protocol):
    """A language model, ``local`` or ``served``, whose answers can be had one by one, as they come."""

    @property
    def model(self) -> str:
        """What identifies the language model."""

    @property
    def sampling(self) -> Sampling:
        """How it chooses tokens."""

    def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
        """The place of a prompt among ``prompts``, and its answer; in the order in which answers come."""


class Scoring(Protocol):
    """A language model that says how probable texts are."""

    @property
    def model(self) -> str:
        """What identifies the language model."""

    def scores(self, texts: Sequence[str]) -> Generator[tuple[int, TextScore | None]]:
        """The place of a text among ``texts``, and its score, as they come; None where none came."""


def question_of(model: str, sampling: Sampling, prompt: Prompt) -> str:
    """Hex SHA-256 of all that a completion depends on; the address of a server is no part of it."""
    return digest_of([model, asdict(sampling), asdict(prompt)])


def text_question_of(model: str, text: str) -> str:
    """Hex SHA-256 of all that the score of a text depends on."""
    return digest_of([model, text])
