"""A language model of ours as the source of a parser's word vectors, kept whole in the parser's folder.

Stanza would load the model by name, from wherever that leads; here it is given one that conjoin has loaded,
with conjoin's own checks. The name in its settings is always ``ENCODER``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stanza.models.constituency import trainer as stanza_trainer
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.models.loading import from_pretrained, length_limit, load_encoder

ENCODER = "encoder"
"""Folder beside a parser of the encoder that its words come from."""

Encoder = tuple[PreTrainedModel, PreTrainedTokenizerBase]


def words_encoder(where: str) -> Encoder:
    """The encoder of a checkpoint, with a tokenizer that takes words one by one.

    Raises:
        ModelError: it cannot be loaded, or lacks weights.
    """
    model, tokenizer = load_encoder(where)
    most = length_limit(model.config, tokenizer)
    # byte-level tokenizers refuse words without this, others take no notice
    tokenizer = from_pretrained(AutoTokenizer, where, add_prefix_space=True)
    tokenizer.model_max_length = most  # stanza reads longer sentences in overlapping parts
    return model, tokenizer


@contextmanager
def given_to_stanza(encoder: Encoder | None) -> Iterator[None]:
    """Let stanza's trainer have this encoder wherever it would load one."""
    before = stanza_trainer.load_bert
    if encoder is not None:
        stanza_trainer.load_bert = lambda *_, **__: encoder
    try:
        yield
    finally:
        stanza_trainer.load_bert = before


def keep_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the encoder of a parser beside it; training has not changed it."""
    for part in encoder:
        part.save_pretrained(folder / ENCODER)
