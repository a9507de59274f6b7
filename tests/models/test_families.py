"""Every family of models that can fill: tiny random ones of each class, built here."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    AlbertConfig,
    AlbertTokenizer,
    AutoConfig,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertConfig,
    DebertaV2Config,
    DebertaV2Tokenizer,
    DistilBertConfig,
    ElectraConfig,
    Gemma3Config,
    ModernBertConfig,
    MPNetConfig,
    MPNetTokenizer,
    MT5Config,
    PretrainedConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaTokenizer,
    T5Config,
    T5Tokenizer,
    UMT5Config,
    XLMRobertaConfig,
    XLMRobertaTokenizer,
)

from pipeline.core.types import Reference, Span
from pipeline.infill import BertInfiller, InfillRequest, T5Infiller, fill, load_infiller
from pipeline.infill.base import SOURCE_HAS_SPECIAL, SPLIT_WORD, make_twins
from pipeline.models.language_models import positionwise_end
from pipeline.models.loading import length_limit
from pipeline.models.tokenizers import train_unigram, train_wordpiece
from pipeline.text.natural import join_words

TEXTS = [
    "The old man saw a small dog near the harbor.",
    "the girl who sold the lamp saw the old harbor yesterday and a man",
    "harbors lamps quickly fathom unlock girls dogs near a small man",
] * 20
SENTENCES = [
    ("the old man saw a small dog near the harbor", 0, 3),
    ("the girl ( a small dog ) saw quickly , yesterday", 3, 6),
    ("a girl sold the lamp yesterday", 2, 5),
    ("a dog saw the girl", 4, 5),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(SENTENCES)
]
OFFSET = {"roberta", "xlm-roberta", "mpnet"}
SMALL = {
    "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 90, "initializer_range": 0.5,
}  # fmt: skip


def wordpieces() -> PreTrainedTokenizerBase:
    return train_wordpiece(TEXTS, 320, 512)


def bytelevel(*, swallow: bool = True) -> PreTrainedTokenizerBase:
    """RoBERTa's byte-level BPE, whose mask has the blank before it as in released checkpoints."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=340, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    )  # fmt: skip
    learner.train_from_iterator(TEXTS, trainer)
    merges = [tuple(pair) for pair in json.loads(learner.to_str())["model"]["merges"]]
    return RobertaTokenizer(
        vocab=learner.get_vocab(),
        merges=merges,
        mask_token=AddedToken("<mask>", lstrip=swallow, special=True),
        model_max_length=int(1e30),
    )


def pieces(special: list[str]) -> list[tuple[str, float]]:
    own = train_unigram(TEXTS, 300, 512)
    learnt = sorted(own.get_vocab(), key=own.get_vocab().__getitem__)
    ordinary = [piece for piece in learnt if piece not in own.all_special_tokens]
    return [*((name, 0.0) for name in special), *((p, -float(len(p) < 3)) for p in ordinary)]


def wordpieces_of_mpnet() -> PreTrainedTokenizerBase:
    own = wordpieces().get_vocab()
    own["[PAD]"], own["[UNK]"] = 1, 0  # positions begin after 1, whatever the padding's id
    renamed = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[MASK]": "<mask>"}
    return MPNetTokenizer(vocab={renamed.get(k, k): i for k, i in own.items()})


def xlmr() -> PreTrainedTokenizerBase:
    return XLMRobertaTokenizer(vocab=pieces(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))


def deberta() -> PreTrainedTokenizerBase:
    return DebertaV2Tokenizer(vocab=pieces(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))


def albert() -> PreTrainedTokenizerBase:
    return AlbertTokenizer(vocab=pieces(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]))


Family = tuple[type[PretrainedConfig], Callable[[], PreTrainedTokenizerBase], dict[str, Any]]
MASKED: dict[str, Family] = {
    "bert": (BertConfig, wordpieces, {}),
    "roberta": (RobertaConfig, bytelevel, {"type_vocab_size": 1}),
    "xlm-roberta": (XLMRobertaConfig, xlmr, {"type_vocab_size": 1}),
    "deberta-v3": (
        DebertaV2Config, deberta,
        {
            "relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"],
            "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
            "type_vocab_size": 0,
        },
    ),
    "deberta-v2": (DebertaV2Config, deberta, {"relative_attention": False, "legacy": False}),
    "modernbert": (
        ModernBertConfig, bytelevel,
        {
            "local_attention": 8, "global_attn_every_n_layers": 2, "sparse_prediction": True,
            "cls_token_id": 0, "sep_token_id": 2, "bos_token_id": 0, "eos_token_id": 2,
        },
    ),
    "distilbert": (
        DistilBertConfig, wordpieces, {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 32}
    ),
    "electra": (ElectraConfig, wordpieces, {"embedding_size": 8}),
    "albert": (AlbertConfig, albert, {"embedding_size": 8}),
    "mpnet": (MPNetConfig, wordpieces_of_mpnet, {}),
}  # fmt: skip


def save_masked(folder: Path, family: Family) -> Path:
    config, make, more = family
    tokenizer = make()
    ids = {"pad_token_id": tokenizer.pad_token_id, "vocab_size": len(tokenizer)}
    torch.manual_seed(3)
    AutoModelForMaskedLM.from_config(config(**{**SMALL, **ids, **more})).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=sorted(MASKED))
def masked_lm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny random masked LM of each architecture."""
    return save_masked(tmp_path_factory.mktemp(request.param), MASKED[request.param])


def tokens_in_place(tokenizer: PreTrainedTokenizerBase, reference: Reference) -> int:
    """Tokens of the span as it stands in the sentence, by their offsets in it."""
    text = join_words(reference.words)
    first, last = reference.span.start, reference.span.end - 1
    start, end = text.offsets[first][0], text.offsets[last][1]
    found = tokenizer(text.text, return_offsets_mapping=True, add_special_tokens=False)
    return sum(begin < end and stop > start for begin, stop in found["offset_mapping"])


@torch.inference_mode()
def naive(where: Path, reference: Reference) -> tuple[str, list[int]]:
    """Text and tokens of the fill from one plain forward pass of the pair, every position scored."""
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForMaskedLM.from_pretrained(where).eval()
    n = tokens_in_place(tokenizer, reference)
    twins = make_twins(reference, "and", tokenizer.mask_token, n)
    typed = getattr(model.config, "type_vocab_size", 0) > 1
    pair = tokenizer(twins.append, twins.prepend, return_tensors="pt", return_token_type_ids=typed)
    logits = model(**pair).logits[0][pair["input_ids"][0] == tokenizer.mask_token_id]
    tokens = torch.minimum(logits[:n], logits[n:]).argmax(-1).tolist()
    return str(tokenizer.decode(tokens)).strip(), tokens


def test_masked_lm_equals_a_plain_forward_pass(masked_lm: Path) -> None:
    """Batched, padded and with the head at masks only, every architecture fills as without."""
    model = load_infiller("bert", str(masked_lm), InfillRequest())
    found = [only for (only,) in fill(model, REFERENCES)]
    expected = [naive(masked_lm, reference) for reference in REFERENCES]
    assert [each.text for each in found] == [text for text, _ in expected]
    assert len({each.text for each in found}) > 1
    assert all(each.score is not None and each.score < 0 for each in found)


def test_length_limit_of_a_model_of_text_and_pictures() -> None:
    """What it says of text stands in a part of its configuration."""
    config = Gemma3Config(text_config={"max_position_embeddings": 77})
    tokenizer = SimpleNamespace(model_max_length=10**30)
    assert length_limit(config, tokenizer) == 77  # type: ignore[arg-type]


def test_length_limit_is_what_the_positions_allow(masked_lm: Path) -> None:
    """The limit is the positions less RoBERTa's offset, and an input that long has a forward pass."""
    config = AutoConfig.from_pretrained(masked_lm)
    limit = length_limit(config, AutoTokenizer.from_pretrained(masked_lm))
    offset = config.pad_token_id + 1 if config.model_type in OFFSET else 0
    assert limit == 90 - offset
    model = AutoModelForMaskedLM.from_pretrained(masked_lm)
    with torch.inference_mode():
        assert model(input_ids=torch.full((1, limit), 7)).logits.shape[1] == limit


def test_last_layer_is_cut_short_where_it_can_be(masked_lm: Path) -> None:
    """BERT's kin work on masks alone after the last attention; others keep the whole encoder."""
    model = AutoModelForMaskedLM.from_pretrained(masked_lm)
    kin = model.config.model_type in {"bert", "roberta", "xlm-roberta", "electra"}
    assert (positionwise_end(model.base_model) is not None) is kin
    sdpa = not model.config.model_type.startswith(("deberta", "mpnet"))
    assert model.config._attn_implementation == ("sdpa" if sdpa else "eager")


def test_mask_takes_the_blank_before_it(tmp_path: Path) -> None:
    """A byte-level tokenizer whose mask leaves the blank over is mended: masks lie side by side."""
    more = {"type_vocab_size": 1}
    family: Family = (RobertaConfig, lambda: bytelevel(swallow=False), more)
    save_masked(tmp_path, family)
    model = load_infiller("bert", str(tmp_path), InfillRequest())
    assert isinstance(model, BertInfiller)
    for reference, encoded in zip(REFERENCES, model.encode(REFERENCES), strict=True):
        assert not isinstance(encoded, str)
        n = tokens_in_place(model.tokenizer, reference)
        masks = [i for i, token in enumerate(encoded.ids) if token == model.tokenizer.mask_token_id]
        assert len(masks) == 2 * n
        assert masks[n - 1] - masks[0] == masks[-1] - masks[n] == n - 1


@pytest.mark.parametrize(
    "make", [wordpieces, bytelevel, xlmr, deberta, albert, wordpieces_of_mpnet]
)
def test_fill_inside_a_word_is_distinguished_from_one_that_begins_a_word(
    make: Callable[[], PreTrainedTokenizerBase],
) -> None:
    """A bare "s" would make "and" to "ands"; a word with its mark, or a comma, is no fault."""
    tokenizer = make()
    config = BertConfig(**SMALL, vocab_size=len(tokenizer))
    model = BertInfiller(AutoModelForMaskedLM.from_config(config), tokenizer, InfillRequest())
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    inside = next(
        i for i, token in enumerate(tokens)
        if token in ("s", "##s") and token != ("s" if "##s" in tokens else "##s")
    )  # fmt: skip
    begins = tokenizer("a small dog", add_special_tokens=False).input_ids[-1]
    comma = tokens.index(",")
    assert model._text([inside, begins])[1] == SPLIT_WORD
    assert model._text([begins, inside])[1] is None
    assert model._text([begins, begins])[0] == "dog dog"
    assert model._text([comma, begins])[1] is None


def mt5_tokenizer() -> PreTrainedTokenizerBase:
    sentinels = [(f"▁<extra_id_{i}>", 0.0) for i in range(9, -1, -1)]
    vocab = [*pieces(["<pad>", "</s>", "<unk>"]), *sentinels]
    return T5Tokenizer(vocab=vocab, extra_ids=0)


def t5_tokenizer() -> PreTrainedTokenizerBase:
    names = [f"<extra_id_{i}>" for i in range(10)]
    vocab = [*pieces(["<pad>", "</s>", "<unk>"]), *((name, 0.0) for name in reversed(names))]
    return T5Tokenizer(vocab=vocab, extra_ids=10)


SEQ2SEQ = {
    "t5": (T5Config, t5_tokenizer, {}),
    "flan": (
        T5Config, t5_tokenizer, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    ),
    "mt5": (MT5Config, mt5_tokenizer, {}),
    "umt5": (UMT5Config, mt5_tokenizer, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SEQ2SEQ))
def test_encoder_decoder_equals_a_plain_loop(name: str, tmp_path: Path) -> None:
    """T5's kin, sentinels as tokens or as pieces of words, write what two plain passes a token do."""
    config, make, more = SEQ2SEQ[name]
    tokenizer = make()
    torch.manual_seed(5)
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    model = AutoModelForSeq2SeqLM.from_config(
        config(
            **{**shape, **more}, vocab_size=len(tokenizer), decoder_start_token_id=0,
            pad_token_id=0, eos_token_id=1, initializer_factor=3.0,
        )
    ).eval()  # fmt: skip
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    infiller = load_infiller("t5", str(tmp_path), InfillRequest())
    assert isinstance(infiller, T5Infiller)
    found = [each for (each,) in fill(infiller, REFERENCES)]
    mark = "▁" if "mt5" in name else ""
    first, second = tokenizer.convert_tokens_to_ids([f"{mark}<extra_id_{i}>" for i in range(2)])
    for reference, each in zip(REFERENCES, found, strict=True):
        twins = make_twins(reference, "and", "<extra_id_0>")
        n = tokens_in_place(tokenizer, reference)
        sources = []
        for text in (twins.append, twins.prepend):
            before, after = text.split("<extra_id_0>")
            ids = tokenizer(before.rstrip(), add_special_tokens=False).input_ids
            ids += [first, *tokenizer(after, add_special_tokens=False).input_ids, 1]
            sources.append(torch.tensor([ids]))
        tokens: list[int] = []
        while len(tokens) < 3 * n:
            decoder = torch.tensor([[0, first, *tokens]])
            with torch.inference_mode():
                one, two = (
                    model(input_ids=s, decoder_input_ids=decoder).logits[0, -1] for s in sources
                )
            fused = torch.minimum(one, two)
            if len(tokens) * 3 < n:
                fused[[second, 1]] = -torch.inf
            if (token := int(fused.argmax())) in (second, 1):
                break
            tokens.append(token)
        assert each.text == infiller.tokenizer.decode(tokens).strip()
    assert len({each.text for each in found}) > 1
    spoiled = Reference(
        "x", ("the", "<extra_id_3>", "saw", "a", "dog"), Span(3, 5), "NP", "CC0-1.0"
    )
    assert infiller.encode([spoiled]) == [SOURCE_HAS_SPECIAL]
