"""What models of pairs of texts share: [CLS] a [SEP] b [SEP] through an encoder, and a linear layer."""

from collections.abc import Sequence
from typing import Generic, TypeVar, cast

from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedTokenizerBase

from pipeline.models.loading import length_limit
from pipeline.models.pairs import PairEncoding
from pipeline.models.words import EncodedSentence, WordEncoding, represent
from pipeline.tasks.protocol import Example, Model

LONGEST = 128
"""Subwords of a pair at most, special tokens included (the thesis's Table A.1)."""

E = TypeVar("E", bound=Example)


class PairModel(Model[E], Generic[E]):
    """An encoder, its tokenizer, and a linear layer.

    Args:
        encoder: a Transformer whose output has ``last_hidden_state``; its pooler is dropped.
        tokenizer: its fast tokenizer.
        outputs: of the linear layer.
        longest: subwords of a pair at most; of a longer one the longer side is cut.
    """

    def __init__(
        self,
        encoder: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        outputs: int,
        longest: int = LONGEST,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        if getattr(encoder, "pooler", None) is not None:
            self.encoder.pooler = None  # type: ignore[assignment]
        config = cast(PretrainedConfig, encoder.config)
        self.linear = nn.Linear(config.hidden_size, outputs)
        limit = length_limit(config, tokenizer)
        self.encoding = WordEncoding(tokenizer, limit)
        self.pairs = PairEncoding(tokenizer, min(longest, limit), config)

    @property
    def head(self) -> nn.Linear:
        """The linear layer."""
        return self.linear

    def logits(self, batch: Sequence[EncodedSentence]) -> Tensor:
        """What the linear layer says of encoded pairs, ``[pairs, outputs]``."""
        h = represent(self.encoder, self.encoding, batch, self.device)
        found: Tensor = self.linear(h[:, 0])
        return found
