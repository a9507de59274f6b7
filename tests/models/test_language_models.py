"""Checkpoints that cannot serve: each is refused in one line before anything is written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    ByT5Tokenizer,
    FNetConfig,
    FNetForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)

from pipeline.core.errors import ModelError
from pipeline.infill import InfillRequest, load_infiller
from pipeline.infill.families.known import check_language_model
from pipeline.models.tokenizers import train_wordpiece

LAYERS = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def config_of(folder: Path, **changed: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def unknown_architecture(folder: Path) -> None:
    config_of(folder, model_type="abacus")


def wrong_type_in_config(folder: Path) -> None:
    config_of(folder, hidden_size="many")


def no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def pickled_weights(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    no_weights(folder)


def truncated_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-64])


def no_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)


def no_mask_token(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = None
    no_tokenizer(folder)
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mask_token": None}))


def decoder_only(folder: Path) -> None:
    GPT2LMHeadModel(GPT2Config(vocab_size=400, n_embd=8, n_layer=1, n_head=2)).save_pretrained(
        folder
    )


def encoder_only(folder: Path) -> None:
    config = BertConfig(**LAYERS, vocab_size=400, intermediate_size=8)
    BertForMaskedLM(config).save_pretrained(folder)


def encoder_decoder(folder: Path) -> None:
    config = T5Config(vocab_size=400, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5ForConditionalGeneration(config).save_pretrained(folder)


def wordpieces_for_t5(folder: Path) -> None:
    no_tokenizer(folder)
    train_wordpiece(["no sentinels here"], 300, 64).save_pretrained(folder)


def slow_tokenizer(folder: Path) -> None:
    no_tokenizer(folder)
    ByT5Tokenizer().save_pretrained(folder)


def headless(folder: Path) -> None:
    config = BertConfig.from_pretrained(folder)
    BertModel(config).save_pretrained(folder)


def one_weight_less(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["cls.predictions.transform.dense.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def small_embedding(folder: Path) -> None:
    config = BertConfig.from_pretrained(folder)
    config.vocab_size = 100
    BertForMaskedLM(config).save_pretrained(folder)


def heedless_of_padding(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    config = FNetConfig(
        **{**LAYERS, "num_hidden_layers": 2}, vocab_size=len(tokenizer), intermediate_size=8,
        initializer_range=1.0, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    FNetForMaskedLM(config).save_pretrained(folder)


CASES: list[tuple[str, Callable[[Path], None], str]] = [
    ("bert", broken_config, "not a valid JSON file"),
    ("bert", no_config, "cannot load .* as a model"),
    ("bert", unknown_architecture, "abacus"),
    ("bert", wrong_type_in_config, "hidden_size"),
    ("bert", no_weights, "no weights as safetensors here; load it once"),
    ("t5", pickled_weights, "no weights as safetensors here"),
    ("bert", truncated_weights, "model.safetensors: damaged weights: .*not fully covered"),
    ("bert", no_tokenizer, "has no tokenizer files"),
    ("bert", no_mask_token, "has no mask token"),
    ("t5", decoder_only, "is a gpt2, not an encoder-decoder LM; use lm causal"),
    ("bert", decoder_only, "is a gpt2, not a masked LM; use lm causal"),
    ("t5", encoder_only, "is a bert, not an encoder-decoder LM; use lm bert"),
    ("bert", encoder_decoder, "is a t5, not a masked LM; use lm t5"),
    ("t5", wordpieces_for_t5, "no sentinel tokens <extra_id_0>"),
    ("t5", slow_tokenizer, "no fast version"),
]


@pytest.fixture
def tiny(tiny_bert: Path, tiny_t5: Path) -> dict[str, Path]:
    """The folder of a good model of each family."""
    return {"bert": tiny_bert, "t5": tiny_t5}


@pytest.mark.parametrize(
    ("lm", "damage", "message"), CASES, ids=lambda c: getattr(c, "__name__", c)
)
def test_unsuitable_checkpoint_is_one_line(
    tmp_path: Path, tiny: dict[str, Path], lm: str, damage: Callable[[Path], None], message: str
) -> None:
    """What a family needs is checked without loading weights, and named when it is not there."""
    folder = tmp_path / "model"
    shutil.copytree(tiny[lm], folder)
    check_language_model(lm, str(folder))  # type: ignore[arg-type]
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        check_language_model(lm, str(folder))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (headless, "an encoder without the head of a masked LM; give it one: `conjoin pretrain "),
        (one_weight_less, "lacks 1 weights of a masked LM, cls.predictions.transform.dense.weight"),
        (heedless_of_padding, "a fnet, predicts masks otherwise in a batch than alone"),
        (small_embedding, "ids up to [0-9]+, its model 100 embeddings"),
    ],
)
def test_weights_that_do_not_fit_are_one_line(
    tmp_path: Path, tiny_bert: Path, damage: Callable[[Path], None], message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A head that would be random is refused by name, without the library's report; tied ones pass."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    damage(folder)
    capfd.readouterr()
    with pytest.raises(ModelError, match=message) as caught:
        load_infiller("bert", str(folder), InfillRequest())
    assert "\n" not in str(caught.value)
    assert "LOAD REPORT" not in capfd.readouterr().err
