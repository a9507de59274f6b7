"""What a family of language models is to all that loads, runs or adapts its models.

Another family is a module beside ``bert``, a line in ``FAMILIES`` of ``known.py`` and its entry in
``core/families.py``. There are two lists because settings and the report ask what families there are and
what tables call them, and may import neither torch nor a room above ``core``.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.infill.attested import Ranker
from pipeline.infill.base import Infiller, InfillRequest
from pipeline.models.loading import lacks_weights


class Family(ABC):
    """A family: which checkpoints are of it, what they must have, and what fills with them.

    Class attributes:
        role: what its models are, for messages: ``a masked LM``.
        factory: the library's auto class that loads one with its head.
        searches: whether its N best fills come from a search, whose width is ``--beams``.
    """

    role: ClassVar[str]
    factory: ClassVar[Any]
    searches: ClassVar[bool]

    @abstractmethod
    def takes(self, config: PretrainedConfig) -> bool:
        """Whether a checkpoint is of an architecture that the family can use."""

    @abstractmethod
    def prepare_tokenizer(self, where: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """Make a tokenizer find the masks of twins in a text.

        Args:
            where: it was loaded from, for the message.
            tokenizer: it is changed where it must be.

        Raises:
            ModelError: it has none, or does not find them.
        """

    @abstractmethod
    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> Infiller[Any]:
        """What writes fills with a model."""

    @abstractmethod
    def ranker(self, infiller: Infiller[Any]) -> Ranker[Any]:
        """What chooses among attested fills with the model of an ``infiller`` of the family."""

    def check_working(
        self, where: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> None:
        """Check of a loaded model what its configuration does not say.

        Raises:
            ModelError: it cannot be run as the family is.
        """
        del where, model, tokenizer

    def lacks_head(self, model: PreTrainedModel, missing: Sequence[str]) -> bool:
        """Whether a checkpoint has all but a head that training can give it.

        Args:
            model: made of the checkpoint.
            missing: names of the weights that the checkpoint lacks.
        """
        del model, missing
        return False

    def no_head(self, model: PreTrainedModel, where: str) -> ModelError:
        """The refusal of a checkpoint that ``lacks_head`` where it is to be used as it is."""
        del model
        return lacks_weights(where, self.role, ["the head"])

    def begin_head(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, where: str
    ) -> None:
        """Set the head of a model that ``lacks_head`` to where its training begins.

        Raises:
            ModelError: no head can be learnt for this architecture.
        """
        del tokenizer
        raise self.no_head(model, where)
