"""What a checkpoint must have for its role, asked by every option that takes one before any work."""

import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Regex, pre_tokenizers
from transformers import (
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    CanineConfig,
    CanineModel,
    FNetConfig,
    FNetModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizer,
    SwitchTransformersConfig,
    SwitchTransformersForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
    XLMConfig,
    XLMModel,
)

from pipeline.core.errors import ModelError
from pipeline.infill.families.known import check_language_model, load_language_model
from pipeline.models import single_file
from pipeline.models.loading import identity, locate
from pipeline.models.roles import KEPT_ENCODER, load_encoder, set_dropout, words_fact
from pipeline.models.words import WordEncoding
from pipeline.parsing.encoders import encoder_inputs, words_encoder
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.stage import run as pretrain
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train import stage
from pipeline.train.stage import run as train

WORDS = ("the", "old", "nurse", "and", "a", "small", "dog")
SMALL = {"n_embd": 8, "n_layer": 1, "n_head": 2}


def tokens_of(folder: Path) -> int:
    return len(AutoTokenizer.from_pretrained(folder))


def gpt2(folder: Path) -> None:
    GPT2LMHeadModel(GPT2Config(vocab_size=tokens_of(folder), **SMALL)).save_pretrained(folder)


def llama(folder: Path) -> None:
    config = LlamaConfig(
        vocab_size=tokens_of(folder), hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)


def t5(folder: Path) -> None:
    config = T5Config(
        vocab_size=tokens_of(folder), d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)


def bart(folder: Path) -> None:
    size: dict[str, Any] = {
        f"{part}_{what}": value
        for part in ("encoder", "decoder")
        for what, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 8))
    }
    config = BartConfig(vocab_size=tokens_of(folder), d_model=8, **size)
    BartForConditionalGeneration(config).save_pretrained(folder)


def changed(folder: Path, **facts: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def decoder(folder: Path) -> None:
    changed(folder, is_decoder=True)


def pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def gguf(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    (folder / "model.gguf").write_bytes(b"GGUF")


def several(folder: Path) -> None:
    gguf(folder)
    (folder / "other.gguf").write_bytes(b"GGUF")


def few_words(folder: Path) -> None:
    llama(folder)
    path = folder / "config.json"
    config = LlamaConfig.from_pretrained(
        folder, vocab_size=json.loads(path.read_text())["vocab_size"] // 2
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def bodyless(folder: Path) -> None:
    llama(folder)
    path = folder / "model.safetensors"
    save_file(
        {k: v for k, v in load_file(path).items() if "layers" not in k}, path, {"format": "pt"}
    )


def few_embeddings(folder: Path) -> None:
    config = BertConfig.from_pretrained(folder)
    config.vocab_size = 100
    BertForMaskedLM(config).save_pretrained(folder)


def headless(folder: Path) -> None:
    BertModel(BertConfig.from_pretrained(folder)).save_pretrained(folder)


def no_mask(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mask_token": None}))


def a_token_more(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"extra_special_tokens": ["[NEW]"]})
    tokenizer.save_pretrained(folder)


def fnet(folder: Path) -> None:
    torch.manual_seed(0)
    config = FNetConfig(
        vocab_size=tokens_of(folder), hidden_size=8, num_hidden_layers=1, intermediate_size=8,
        initializer_range=1.0,
    )  # fmt: skip
    FNetModel(config).save_pretrained(folder)


def canine(folder: Path) -> None:
    config = CanineConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        num_hash_buckets=8,
    )  # fmt: skip
    CanineModel(config).save_pretrained(folder)


NO_HEAD = "without the head of a masked LM; give it one"
ENCODERS = [
    (t5, "is a t5, not an encoder"),
    (bart, "is a bart, not an encoder"),
    (gpt2, "a gpt2, is a decoder, whose words see those on their left alone"),
    (llama, "a llama, is a decoder"),
    (decoder, "a bert, is a decoder"),
    (fnet, "a fnet, reads a text otherwise in a batch than alone"),
    (canine, "a canine, has no embeddings of tokens"),
    (pickled, "no weights as safetensors"),
    (gguf, "only a .gguf here"),
    (few_embeddings, "its model 100 embeddings"),
    (a_token_more, "ids up to"),
]
MASKED = [
    (t5, "is a t5, not a masked LM; use lm t5"),
    (gpt2, "is a gpt2, not a masked LM"),
    (llama, "is a llama, not a masked LM"),
    (decoder, "a bert, is a decoder"),
    (pickled, "no weights as safetensors"),
    (gguf, "only a .gguf here"),
    (few_embeddings, "its model 100 embeddings"),
    (headless, NO_HEAD),
    (no_mask, "has no mask token"),
]
SEQ2SEQ = [
    (llama, "is a llama, not an encoder-decoder LM"),
    (bart, "has no sentinel tokens"),
    (headless, "is a bert, not an encoder-decoder LM"),
]
CAUSAL = [
    (headless, "is a bert, not a causal LM; use lm bert"),
    (t5, "is a t5, not a causal LM; use lm t5"),
    (decoder, "is a bert, not a causal LM"),
    (few_words, "ids up to"),
    (bodyless, "lacks 9 weights of a causal LM"),
    (several, "2 files .gguf here"),
]
REFUSED = {"bert": MASKED, "t5": SEQ2SEQ, "causal": CAUSAL}
LM: dict[str, Callable[[str, Path, Path], object]] = {
    "pretrain --ready": lambda lm, folder, corpus: pretrain(
        PretrainSettings(corpus=corpus, lm=lm, ready=str(folder))
    ),
    "before generation": lambda lm, folder, _: check_language_model(lm, locate(str(folder))),
    "fill": lambda lm, folder, _: load_language_model(lm, locate(str(folder))),
}
READ: dict[str, Callable[[Path, Path], object]] = {
    "train --encoder": lambda folder, corpus: train(tiny.settings(corpus, encoder=str(folder))),
    "--parser-lm": lambda folder, _: words_encoder(locate(str(folder))),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus to train on."""
    return tiny.build(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def without_gguf(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that reads a .gguf, which is not conjoin's, may be installed here."""
    monkeypatch.setattr(single_file, "find_spec", lambda _: None)


@pytest.fixture
def folder(tmp_path: Path, corpus: Path) -> Path:
    """A good BERT to damage."""
    return Path(shutil.copytree(corpus / "models/bert", tmp_path / "model"))


def name_of(value: object) -> object:
    return getattr(value, "__name__", value)


@pytest.mark.parametrize(
    ("option", "lm", "case"),
    [
        (option, lm, each)
        for option in LM
        for lm, cases in REFUSED.items()
        for each in cases
        # Named as ready, an encoder alone is for predictors: tests/pretrain/test_new_head.py.
        if (option, each[1]) != ("pretrain --ready", NO_HEAD)
    ],
    ids=lambda each: each if isinstance(each, str) else each[0].__name__,
)
def test_every_option_refuses_what_is_no_such_language_model(
    folder: Path, tmp_path: Path, option: str, lm: str, case: tuple[Callable[[Path], None], str]
) -> None:
    """In one line, and nothing is written."""
    damage, message = case
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        LM[option](lm, folder, tmp_path / "new")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_mixture_that_asks_for_its_encoders_routes_is_refused(
    tiny_t5: Path, tmp_path: Path
) -> None:
    """What its decoder is given are the encoder's states alone."""
    AutoTokenizer.from_pretrained(tiny_t5).save_pretrained(tmp_path)
    config = SwitchTransformersConfig(
        vocab_size=tokens_of(tmp_path), d_model=8, d_kv=4, d_ff=8, num_layers=2, num_decoder_layers=2,
        num_heads=2, num_experts=2, decoder_start_token_id=0,
    )  # fmt: skip
    SwitchTransformersForConditionalGeneration(config).save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match="a switch_transformers, does not work as an encoder-decoder"
    ):
        load_language_model("t5", locate(str(tmp_path)))


def test_an_encoder_decoder_that_does_not_ignore_padding_is_refused(
    tiny_t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fills would depend on the longest source of a batch."""
    AutoTokenizer.from_pretrained(tiny_t5).save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=tokens_of(tmp_path), d_model=16, d_kv=8, d_ff=16, num_layers=2, num_heads=2,
        decoder_start_token_id=0, initializer_factor=2.0,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    assert load_language_model("t5", locate(str(tmp_path)))
    forward = T5ForConditionalGeneration.forward

    def blind(self: Any, *args: Any, attention_mask: Any = None, **options: Any) -> Any:
        return forward(self, *args, **options)

    monkeypatch.setattr(T5ForConditionalGeneration, "forward", blind)
    with pytest.raises(ModelError, match="reads a text otherwise in a batch than alone"):
        load_language_model("t5", locate(str(tmp_path)))


@pytest.mark.parametrize("option", READ)
@pytest.mark.parametrize(("damage", "message"), ENCODERS, ids=name_of)
def test_every_option_refuses_what_is_no_encoder(
    folder: Path, corpus: Path, option: str, damage: Callable[[Path], None], message: str
) -> None:
    """Encoder-decoders, and what sees the words on the left alone."""
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        READ[option](folder, corpus)
    assert "\n" not in str(caught.value)
    assert not list(corpus.glob("runs/*/*/*/predictor"))


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """Of another program's format, such as llama.cpp's."""
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    said = f"a file, where a model is a folder.*name its folder, {re.escape(str(tmp_path))}"
    with pytest.raises(ModelError, match=said):
        locate(str(tmp_path / "model.gguf"))


def test_what_an_encoder_learned_with_stays_as_it_was(folder: Path) -> None:
    """One beside a parser is not asked for more than it had."""
    decoder(folder)
    load_encoder(str(folder), KEPT_ENCODER)


def test_chunks_of_a_layer_make_no_difference(folder: Path, tmp_path: Path) -> None:
    """They save memory, and would stop at a sentence whose length they do not divide."""
    make = partial(CoordinationPredictor.create, mlp_hidden=8, dropout=0.0, seed=0)
    expected = make(str(folder)).eval().predict([WORDS], [3])
    changed(folder, chunk_size_feed_forward=7)
    made = make(str(folder)).eval()
    assert made.predict([WORDS], [3]) == expected
    made.save(tmp_path / "predictor")
    card = json.loads((tmp_path / "predictor/predictor.json").read_text())
    card.pop("files")
    (tmp_path / "predictor/predictor.json").write_text(json.dumps(card))
    changed(tmp_path / "predictor", chunk_size_feed_forward=7)
    assert CoordinationPredictor.load(tmp_path / "predictor").predict([WORDS], [3]) == expected


def test_a_predictor_has_an_embedding_for_every_token(folder: Path, tmp_path: Path) -> None:
    """A word of a text may be any of them, a special one too."""
    made = CoordinationPredictor.create(str(folder), mlp_hidden=8, dropout=0.0, seed=0)
    made.encoding.tokenizer.add_special_tokens({"extra_special_tokens": ["[NEW]"]})
    made.save(tmp_path / "predictor")
    with pytest.raises(ModelError, match="ids up to"):
        CoordinationPredictor.load(tmp_path / "predictor")


def roberta(folder: Path, *, cut: bool) -> Path:
    """A tiny RoBERTa with a byte-level tokenizer.

    Args:
        folder: where it goes.
        cut: whether a pattern cuts the text before its bytes are looked at, as newer ones do.
    """
    learner = pre_tokenizers.ByteLevel.alphabet()
    vocab = {name: i for i, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *sorted(learner)])}
    merges: list[tuple[str, str]] = []
    for word in ("Ġnurse", "Ġold", "Ġthe", "Ġdog"):
        for size in range(1, len(word)):
            if word[: size + 1] not in vocab:
                vocab[word[: size + 1]] = len(vocab)
                merges.append((word[:size], word[size]))
    vocab["<mask>"] = len(vocab)
    mask = AddedToken("<mask>", lstrip=True, special=True)
    tokenizer: PreTrainedTokenizerBase = RobertaTokenizer(
        vocab=vocab, merges=merges, mask_token=mask
    )
    if cut:
        backend = tokenizer.backend_tokenizer
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(r" ?\p{L}+|\s+|."), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        special = {f"{name}_token": f"<{name}>" for name in ("pad", "unk", "mask")}
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    config = RobertaConfig(
        vocab_size=len(vocab), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=40, type_vocab_size=1,
    )  # fmt: skip
    RobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("cut", [False, True])
def test_words_one_by_one_have_the_tokens_of_running_text(tmp_path: Path, cut: bool) -> None:
    """For a predictor and a parser; what was saved with either is read as it is."""
    where = roberta(tmp_path / "model", cut=cut)
    plain = AutoTokenizer.from_pretrained(where)
    whole = plain(" " + " ".join(WORDS))["input_ids"]
    apart = WordEncoding(plain, 40).encode([WORDS])
    assert list(apart[0].ids) != whole
    made = CoordinationPredictor.create(str(where), mlp_hidden=8, dropout=0.0, seed=0)
    assert list(made.encoding.encode([WORDS])[0].ids) == whole
    parsers = words_encoder(str(where))[1]
    assert parsers(list(WORDS), is_split_into_words=True)["input_ids"] == whole
    made.save(tmp_path / "new")
    again = CoordinationPredictor.load(tmp_path / "new")
    assert again.encoding.encode([WORDS]) == made.encoding.encode([WORDS])
    earlier = CoordinationPredictor(load_encoder(str(where))[0], plain, 8, 0.0)
    earlier.save(tmp_path / "old")
    assert CoordinationPredictor.load(tmp_path / "old").encoding.encode([WORDS]) == apart


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_read_otherwise_now_is_another_run(
    tmp_path: Path, tiny_bert: Path, cut: bool
) -> None:
    """By its fingerprint; word pieces, and a parser's RoBERTa, are what they were."""
    where = roberta(tmp_path / "model", cut=cut)
    assert words_fact(str(where)) == {"words": "as in text"}
    assert ("words" in encoder_inputs(str(where))) == cut
    assert words_fact(str(tiny_bert)) == {}
    before = AutoTokenizer.from_pretrained(tiny_bert).backend_tokenizer
    after = load_encoder(str(tiny_bert))[1].backend_tokenizer
    assert json.loads(before.to_str()) == json.loads(after.to_str())


def test_a_run_needs_its_encoder_no_more_once_it_has_read_it(
    corpus: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be moved while it learns; the record names what was read."""
    expected, loop = identity(str(folder)), stage.algorithm1

    def moving(*given: Any, **more: Any) -> None:
        loop(*given, **more)
        folder.rename(tmp_path / "moved")

    monkeypatch.setattr(stage, "algorithm1", moving)
    out = tmp_path / "run"
    train(tiny.settings(corpus, encoder=str(folder), mode="baseline", steps=4, out=out))
    assert json.loads((out / "run.json").read_text())["model"] == expected


def test_an_encoder_that_changes_while_it_is_read_is_refused(
    corpus: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the weights are of the digest before or after, nobody could say."""
    load = stage.fresh_model

    def changing(*given: Any) -> Any:
        made = load(*given)
        changed(folder, hidden_dropout_prob=0.3)
        return made

    monkeypatch.setattr(stage, "fresh_model", changing)
    with pytest.raises(ModelError, match="changed while it was read"):
        train(tiny.settings(corpus, encoder=str(folder), steps=4, out=tmp_path / "run"))


def test_dropout_is_changed_where_a_module_has_the_rate() -> None:
    """XLM's is no layer: at 0 two passes in training agree, and not before."""
    config = XLMConfig(vocab_size=20, emb_dim=8, n_layers=1, n_heads=2, dropout=0.5)
    model = XLMModel(config).train()

    def agrees() -> bool:
        one, other = (model(torch.arange(5)[None]).last_hidden_state for _ in range(2))
        return torch.equal(one, other)

    assert not agrees()
    set_dropout(model, 0.0)
    assert agrees()
