"""A masked LM's head for an encoder that has none, and tokenizers that cut by themselves."""

import json
import math
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import build, settings
from tokenizers import Tokenizer
from transformers import AutoTokenizer, BertConfig, BertModel, DistilBertConfig, DistilBertModel

from pipeline.core.errors import ModelError
from pipeline.infill.families.known import load_base, load_language_model
from pipeline.models.loading import load_tokenizer
from pipeline.models.masked_head import set_frequencies
from pipeline.models.roles import load_encoder
from pipeline.models.tokenizers import train_wordpiece
from pipeline.models.words import WordEncoding
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage as train


@pytest.fixture
def encoder(tmp_path: Path, tiny_bert: Path) -> Path:
    """The tiny BERT's folder without its head, but for a pooler."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "encoder"))
    BertModel.from_pretrained(tiny_bert).save_pretrained(folder)
    return folder


def test_a_new_head_lets_states_through_and_knows_frequencies(encoder: Path) -> None:
    """Tied to the embeddings; the body is as it was, but for the mask's embedding: the mean of words'."""
    (model, tokenizer), new = load_base("bert", str(encoder))
    assert new
    head, table = model.cls.predictions, model.get_input_embeddings().weight
    assert head.decoder.weight is table
    assert torch.equal(head.transform.dense.weight, torch.eye(16))
    before = load_file(encoder / "model.safetensors")
    words = [i for i in range(len(tokenizer)) if i not in tokenizer.all_special_ids]
    old = before["embeddings.word_embeddings.weight"]
    torch.testing.assert_close(table[tokenizer.mask_token_id], old[words].mean(0))
    for name, weight in model.bert.named_parameters():
        if "word_embeddings" not in name:
            assert torch.equal(weight, before[name])
    counts = torch.zeros(len(tokenizer), dtype=torch.int64)
    counts[words[0]], counts[words[1]] = 300, 100
    loss = set_frequencies(model, counts)
    assert loss == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), abs=0.2)
    shares = head.bias.detach().exp()
    assert float(shares.sum()) == pytest.approx(1)
    assert float(shares[words[0]] / shares[words[1]]) == pytest.approx(3, rel=0.01)
    assert head.decoder.bias is head.bias


def test_a_base_with_a_head_keeps_it(tiny_bert: Path) -> None:
    """Nothing of it is new."""
    (model, _), new = load_base("bert", str(tiny_bert))
    assert not new
    same = load_language_model("bert", str(tiny_bert))[0].state_dict()
    assert all(torch.equal(weight, same[name]) for name, weight in model.state_dict().items())


def test_an_untied_encoder_gets_a_tied_head(encoder: Path, tmp_path: Path) -> None:
    """Whatever its configuration says of the output layer that it has not; and so it is saved."""
    config = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    (model, tokenizer), new = load_base("bert", str(encoder))
    assert new
    assert model.cls.predictions.decoder.weight is model.get_input_embeddings().weight
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "saved")
    again, _ = load_language_model("bert", str(tmp_path / "saved"))
    assert again.cls.predictions.decoder.weight is again.get_input_embeddings().weight


def test_part_of_a_head_is_no_new_one(tmp_path: Path, tiny_bert: Path) -> None:
    """A damaged checkpoint is refused where a new head could be made."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "part"))
    weights = load_file(folder / "model.safetensors")
    del weights["cls.predictions.transform.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for load in (load_base, load_language_model):
        with pytest.raises(ModelError, match="lacks 1 weights of a masked LM"):
            load("bert", str(folder))


def test_part_of_a_body_is_none(encoder: Path) -> None:
    """An encoder that lacks a layer is not given one."""
    weights = load_file(encoder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, encoder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match="lacks 7 weights of a masked LM"):
        load_base("bert", str(encoder))


def test_an_encoder_is_no_language_model_yet(encoder: Path) -> None:
    """The error names what makes one of it."""
    with pytest.raises(ModelError, match="without the head of a masked LM; give it one") as caught:
        load_language_model("bert", str(encoder))
    assert f"`conjoin pretrain CORPUS --lm bert --base {encoder}`" in str(caught.value)


def test_only_a_bert_is_given_a_head(tmp_path: Path, tiny_bert: Path) -> None:
    """Another architecture's head has parts of its own."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "other"))
    size = BertConfig.from_pretrained(tiny_bert).vocab_size
    config = DistilBertConfig(vocab_size=size, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    DistilBertModel(config).save_pretrained(folder)
    for load in (load_base, load_language_model):
        with pytest.raises(
            ModelError, match=r"a distilbert, is an encoder without .*only a BERT can"
        ):
            load("bert", str(folder))


def test_a_base_without_a_mask_token_is_refused(encoder: Path) -> None:
    """Nothing could be hidden."""
    path = encoder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mask_token": None}))
    with pytest.raises(ModelError, match="has no mask token"):
        load_base("bert", str(encoder))


@pytest.mark.parametrize("rows", [100, 5000])
def test_a_tokenizer_of_another_model_is_refused(encoder: Path, rows: int) -> None:
    """More tokens than embeddings, or far fewer: as an encoder and as a base."""
    config = BertConfig.from_pretrained(encoder)
    config.vocab_size = rows
    BertModel(config).save_pretrained(encoder)
    message = (
        f"has ids up to [0-9]+, its model {rows} embeddings; name a checkpoint whose tokenizer"
    )
    with pytest.raises(ModelError, match=message):
        load_encoder(str(encoder))
    with pytest.raises(ModelError, match=message):
        load_base("bert", str(encoder))


def test_a_tokenizer_that_cuts_and_fills_up_does_neither_here(tmp_path: Path) -> None:
    """Its file may say so, as MiniLM's does; what is read and what is saved is whole."""
    train_wordpiece(["the old man saw a small dog"] * 9, 320, 64).save_pretrained(tmp_path)
    plain = load_tokenizer(str(tmp_path))
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.enable_truncation(4)
    backend.enable_padding(length=4)
    backend.save(str(tmp_path / "tokenizer.json"))
    misled = AutoTokenizer.from_pretrained(tmp_path)
    assert len(misled.backend_tokenizer.encode("a dog saw the old man").ids) == 4
    tokenizer = load_tokenizer(str(tmp_path))
    assert tokenizer.backend_tokenizer.to_str() == plain.backend_tokenizer.to_str()
    words = ["a", "dog", "saw", "the", "old", "man"]
    for each in (words[:1], words):
        assert WordEncoding(tokenizer, 64).encode([each]) == WordEncoding(plain, 64).encode([each])
    tokenizer.save_pretrained(tmp_path / "saved")
    saved = json.loads((tmp_path / "saved/tokenizer.json").read_text())
    assert (saved["truncation"], saved["padding"]) == (None, None)


def test_a_predictor_begins_from_the_untouched_encoder(encoder: Path, tmp_path: Path) -> None:
    """`train --encoder FOLDER` needs no head, and its tokenizer's cutting makes no sentence too long."""
    backend = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    backend.enable_truncation(6)
    backend.enable_padding(length=6)
    backend.save(str(encoder / "tokenizer.json"))
    corpus = build(tmp_path / "tiny")
    run = tmp_path / "run"
    train.run(settings(corpus, mode="baseline", encoder=str(encoder), steps=4, out=run))
    tokenizer = CoordinationPredictor.load(run / "predictor").encoding.tokenizer
    saved = json.loads((run / "predictor/tokenizer.json").read_text())
    assert (saved["truncation"], saved["padding"]) == (None, None)
    assert len(tokenizer.backend_tokenizer.encode("a dog saw the old man").ids) > 6
