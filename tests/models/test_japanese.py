"""Words of a language without blanks: tokenizers that are trained here, and masks among its words."""

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerBase

from pipeline.models.loading import load_tokenizer
from pipeline.models.tokenizers import train_wordpiece
from pipeline.models.words import WordEncoding
from pipeline.train.augmentation.fills import Blank, WordFiller
from pipeline.train.augmentation.masks import mask_word, masked

LINES = [
    "企業 が 基準 を 超える 。",
    "太郎 は 大学 に 行った 。",
    "彼 が パン を 食べ 、 ガラス を 見る 。",
    "学生 は 大学 の 基準 を 見る 。",
]
SENTENCE = ("企業", "が", "大学", "の", "パン", "を", "見る", "。")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return train_wordpiece(LINES * 20, 600, 64)


def test_words_of_several_kanji_are_words(
    tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    """Not cut between characters, nor stripped of their marks; and so when they are read again."""
    tokenizer.save_pretrained(tmp_path)
    for each in (tokenizer, load_tokenizer(str(tmp_path))):
        encoding = WordEncoding(each, 64)
        (found,) = encoding.encode([SENTENCE])
        assert each.convert_ids_to_tokens(list(found.ids[1:-1])) == list(SENTENCE)
        assert found.first == found.last == tuple(range(1, len(SENTENCE) + 1))
        assert each.tokenize("ガラス が") != each.tokenize("カラス か")


def test_english_is_cut_as_it_was() -> None:
    """A few kanji in it stand each by itself, as BERT has them."""
    english = train_wordpiece(["the old man read 東京 and left"] * 20, 300, 32)
    assert english.tokenize("東京") == ["東", "京"]


def test_the_alphabet_of_japanese_is_larger() -> None:
    """Of 2,000 different kanji none is unknown, as long as there are kana, too."""
    kanji = [chr(0x4E00 + number) for number in range(2_000)]
    lines = [f"{each} は の に" for each in kanji]
    japanese = train_wordpiece(lines, 600, 32)
    unknown = japanese.unk_token_id
    assert all(unknown not in japanese(each)["input_ids"] for each in kanji[::50])


def test_a_mask_is_one_token_among_words(tokenizer: PreTrainedTokenizerBase) -> None:
    """In the place of a word, and the others are what they were."""
    encoding = WordEncoding(tokenizer, 64)
    mask = mask_word(encoding)
    (found,) = encoding.encode([masked(SENTENCE, [0, 4], mask)])
    (whole,) = encoding.encode([SENTENCE])
    hidden = tokenizer.mask_token_id
    expected = [hidden if place in (1, 5) else each for place, each in enumerate(whole.ids)]
    assert list(found.ids) == expected


def test_fills_are_whole_words(tokenizer: PreTrainedTokenizerBase, tmp_path: Path) -> None:
    """One token each, never a piece or what is unknown."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    encoding = WordEncoding(tokenizer, 64)
    filler = WordFiller(str(tmp_path), torch.device("cpu"), encoding)
    blanks = [
        Blank(masked(SENTENCE, [place], filler.mask), (place,), f"s{place}") for place in range(8)
    ]
    for (word,) in filler.fill(blanks, (0, 0)):
        (pieces,) = encoding.encode([(word,)])
        assert len(pieces.ids) == 3
        assert tokenizer.unk_token_id not in pieces.ids
