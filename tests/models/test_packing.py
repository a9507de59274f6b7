"""Packed sentences: the states are those of padded ones, and no sentence sees another."""

import pytest
import torch
from transformers import BertConfig, BertModel, PreTrainedModel, RobertaConfig, RobertaModel

from pipeline.models import packing
from pipeline.models.packing import can_pack, packed_states
from pipeline.models.tokenizers import token_batch

SIZES = {
    "vocab_size": 40, "hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 30,
}  # fmt: skip
SENTENCES = [[2, 9, 8, 7, 3], [2, 11, 3], [2, 12, 13, 14, 15, 16, 17, 3], [2, 11, 3]]


def encoders() -> list[PreTrainedModel]:
    torch.manual_seed(0)
    # Long enough in all that positions which did not begin anew would not be known.
    return [BertModel(BertConfig(**SIZES)), RobertaModel(RobertaConfig(**SIZES, pad_token_id=1))]


@pytest.fixture(params=[False, True], ids=["a call for each", "one call"])
def apart(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention sentence by sentence, as on a CPU, and in one call, as on a GPU."""
    monkeypatch.setattr(packing, "_in_one_call", lambda _: request.param)


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("kind", [0, 1], ids=["bert", "roberta"])
def test_states_and_gradients_are_those_of_padded_sentences(kind: int) -> None:
    """Every layer that is asked for, but for rounding; a pass of the usual form still works afterwards."""
    encoder = encoders()[kind].eval()
    ids, mask = token_batch(SENTENCES, encoder.config.pad_token_id)
    expected = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    real = [layer[mask.bool()] for layer in expected[-2:]]
    weights = torch.arange(real[1].numel()).view_as(real[1]).cos()
    (real[1] * weights).sum().backward()
    parameters = dict(encoder.named_parameters())
    gradients = {name: p.grad.clone() for name, p in parameters.items() if p.grad is not None}
    encoder.zero_grad()
    found = packed_states(encoder, SENTENCES, layers=2)
    for one, other in zip(found, real, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    (found[1] * weights).sum().backward()
    for name, gradient in gradients.items():
        if "word_embeddings" not in name:  # whose padding has a gradient of its own
            torch.testing.assert_close(parameters[name].grad, gradient, rtol=1e-3, atol=1e-4)
    again = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(again[mask.bool()], real[1], rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("apart")
def test_no_sentence_sees_another() -> None:
    """Other words in one sentence change nothing of the next."""
    encoder = encoders()[0].eval()
    (one,) = packed_states(encoder, SENTENCES)
    (other,) = packed_states(encoder, [[2, 20, 21, 22, 3], *SENTENCES[1:]])
    assert not torch.equal(one[:5], other[:5])
    assert torch.equal(one[5:], other[5:])


@pytest.mark.parametrize("most", [1, 5, 8, 11])
def test_long_texts_are_read_in_several_passes(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is learned: the states are those of one pass, each sentence whole."""
    encoder = encoders()[0].eval()
    with torch.inference_mode():
        expected = packed_states(encoder, SENTENCES, layers=2)
        monkeypatch.setattr(packing, "_AT_ONCE", most)
        read: list[int] = []
        encoder.register_forward_pre_hook(
            lambda _, __, given: read.append(given["input_ids"].numel()), with_kwargs=True
        )
        found = packed_states(encoder, SENTENCES, layers=2)
    assert read == {1: [5, 3, 8, 3], 5: [5, 3, 8, 3], 8: [8, 8, 3], 11: [8, 11]}[most]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("apart")
def test_dropout_is_applied_in_training() -> None:
    """Attention's own dropout counts, too: with all other dropout at 0 two passes differ."""
    config = BertConfig(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.5)
    encoder = BertModel(config).train()
    assert not torch.equal(*(packed_states(encoder, SENTENCES)[0] for _ in range(2)))


def test_narrow_encoders_and_unknown_families_are_not_packed() -> None:
    """Where padding is cheaper, or positions are not known to be absolute, the usual way is taken."""
    narrow = BertModel(BertConfig(**{**SIZES, "hidden_size": 64}))
    assert can_pack(encoders()[0])
    assert not can_pack(narrow)
