"""What a family of language models is to all that loads, runs or adapts its models.

Another family is a module beside ``bert``, a line in ``FAMILIES`` of ``known.py`` and its entry in
``core/families.py``. There are two lists because settings and the report ask what families there are and
what tables call them, and may import neither torch nor a room above ``core``.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.errors import SettingsError
from pipeline.infill.attested import Ranker
from pipeline.infill.base import Infiller, InfillRequest
from pipeline.infill.rankings.rest import rest
from pipeline.models.roles import Role


class Family(ABC):
    """A family: the role that its checkpoints must have, and what fills with them.

    Class attributes:
        role: what its models are: which checkpoints can be so, and what they must have.
        searches: whether its N best fills come from a search, whose width is ``--beams``.
    """

    role: ClassVar[Role]
    searches: ClassVar[bool]

    def check_request(self, tokenizer: PreTrainedTokenizerBase, request: InfillRequest) -> None:
        """Refuse what a model of the family cannot be asked.

        Raises:
            SettingsError: its models are not asked in words, or do not read what the ranking goes by.
            ModelError: it is asked in a form that it has no tokens for.
        """
        del tokenizer
        if request.prompt is not None:
            raise SettingsError(
                f"--prompt is for causal LMs, not for {self.role.name}", remedy="leave it out"
            )
        if request.ranking is rest:
            raise SettingsError(
                f"{self.role.name} does not read on after a fill, which ranking rest goes by",
                remedy="choose another --ranking, or add --lm causal",
            )

    def facts(self) -> dict[str, Any]:
        """What free fills depend on besides model and settings, for a fingerprint."""
        return {}

    @abstractmethod
    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> Infiller[Any]:
        """What writes fills with a model."""

    @abstractmethod
    def ranker(self, infiller: Infiller[Any]) -> Ranker[Any]:
        """What chooses among attested fills with the model of an ``infiller`` of the family."""
