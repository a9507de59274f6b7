"""Words of a parser from a language model: stanza's vectors, without its padding and only once."""

import pytest
import torch
from stanza.models.common import bert_embedding
from torch import nn
from transformers import BertConfig, BertModel, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.models.tokenizers import train_wordpiece
from pipeline.parsing import encoders
from pipeline.parsing.encoders import ENCODER, encoding_in, remembering

WORDS = [("the", "old", "men", "and", "women"), ("men",), ("the", "\u200f", "women", "old")]


@pytest.fixture(name="encoder")
def _encoder() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = train_wordpiece([" ".join(words) for words in WORDS] * 3, 80, 24)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=192, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=24,
    )  # fmt: skip
    return BertModel(config).eval(), tokenizer


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("keep_endpoints", [True, False])
def test_vectors_are_stanzas(
    encoder: tuple[PreTrainedModel, PreTrainedTokenizerBase], mixed: bool, keep_endpoints: bool
) -> None:
    """With learned weights of the layers and without, a word of no subword and a long sentence among them."""
    model, tokenizer = encoder
    mix = nn.Linear(3, 1, bias=False) if mixed else None
    given = [list(words) for words in (*WORDS, ("men", "women") * 20)]
    rest = model, given, torch.device("cpu"), keep_endpoints, True, mix
    expected = bert_embedding.extract_base_embeddings(ENCODER, tokenizer, *rest)
    found = encoders._embeddings(ENCODER, tokenizer, *rest)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_frozen_encoder_reads_a_sentence_once(
    encoder: tuple[PreTrainedModel, PreTrainedTokenizerBase],
) -> None:
    """While training remembers; one that learns reads it anew each time, and so does everybody afterwards."""
    model, tokenizer = encoder
    passes: list[int] = []
    model.register_forward_hook(lambda *_: passes.append(1))

    def read(*, detach: bool) -> None:
        encoders._embeddings(ENCODER, tokenizer, model, WORDS, torch.device("cpu"), True, detach)

    with remembering():
        read(detach=True)
        read(detach=True)
        assert len(passes) == 1
        read(detach=False)
        assert len(passes) == 2
    read(detach=True)
    assert len(passes) == 3


@pytest.mark.parametrize("detach", [True, False])
def test_an_encoder_reads_in_bf16_where_it_is_told_to(
    encoder: tuple[PreTrainedModel, PreTrainedTokenizerBase], detach: bool
) -> None:
    """What it says is float32, of a long sentence, too; an error leaves nothing in bf16."""
    model, tokenizer = encoder
    given = [list(words) for words in (*WORDS, ("men", "women") * 20)]
    mix = nn.Linear(4, 1, bias=False)

    def read() -> list[torch.Tensor]:
        return encoders._embeddings(
            ENCODER, tokenizer, model, given, torch.device("cpu"), True, detach, mix
        )

    expected = read()
    with encoding_in("bf16"):
        found = read()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        assert not torch.equal(one, other)
        torch.testing.assert_close(one, other, rtol=0, atol=0.1)
    with pytest.raises(ZeroDivisionError), encoding_in("bf16"):
        raise ZeroDivisionError
    assert all(map(torch.equal, read(), expected))
