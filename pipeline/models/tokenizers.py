"""Subword tokenizers: trained here for new language models, their sentinels, padded batches.

A new BERT gets WordPiece, a new T5 Unigram. The training is that of `tokenizers`; added here is that
equal text gives equal bytes. The library counts words in randomly seeded hash maps, so ids, and where
merges tie even the vocabulary, change from run to run unless the alphabet's ids are fixed beforehand
and the result is sorted.
"""

import math
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers.pre_tokenizers import PreTokenizer
from torch import Tensor
from transformers import BertTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

SENTINELS = 100
"""How many sentinels an own T5 tokenizer has: as many as T5's."""

_ALPHABET = 1000  # rarer characters become the unknown token
_KANJI = 3000  # the same of Japanese, whose first thousand are a twentieth short of its text
_PRINTABLE = string.digits + string.ascii_letters + string.punctuation
_BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_T5_SPECIAL = ("<pad>", "</s>", "<unk>")
_VITERBI_ROUNDS = 4
_UNSEEN = 0.1  # count of a piece that no segmentation uses


def _alphabet(texts: Iterable[str]) -> list[str]:
    """Printable ASCII and the most frequent other characters, in code point order."""
    counts = Counter(char for text in texts for char in text if not char.isspace())
    size = _KANJI if _is_japanese(counts) else _ALPHABET
    common = sorted(counts, key=lambda char: (-counts[char], char))[:size]
    return sorted({*_PRINTABLE, *common})


def _is_japanese(counts: Mapping[str, int]) -> bool:
    """Whether a tenth of some characters are kana."""
    kana = sum(count for char, count in counts.items() if "\u3041" <= char <= "\u30ff")
    return 10 * kana >= max(sum(counts.values()), 1)


def train_wordpiece(
    texts: Sequence[str], vocab_size: int, max_length: int
) -> PreTrainedTokenizerBase:
    """A cased BERT tokenizer whose vocabulary is learnt from ``texts``.

    BERT's cuts Chinese characters from each other before it looks for words. Of Japanese, whose words blanks
    divide here, it does not: a word of two kanji is a word.

    Args:
        texts: natural text, one sentence each.
        vocab_size: tokens in all; the special tokens and the alphabet (each character as the
            beginning and as the inside of a word) are always there, and text with little variety
            may not need as many.
        max_length: the most tokens the model takes.
    """
    characters = _alphabet(texts)
    # Ties between merges go to the lower ids, so the alphabet must not take its ids by chance.
    fixed = [*_BERT_SPECIAL, *characters, *(f"##{char}" for char in characters)]
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106
    apart = not _is_japanese(Counter(char for text in texts for char in text if not char.isspace()))
    learner.normalizer = normalizers.BertNormalizer(
        lowercase=False, strip_accents=False, handle_chinese_chars=apart
    )
    learner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(vocab_size, len(fixed)), special_tokens=fixed, show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    learnt = learner.get_vocab()
    pieces = [*fixed, *sorted(set(learnt) - set(fixed), key=learnt.__getitem__)]
    # Only where it is not the usual, so that others' files are as they were.
    unusual: dict[str, Any] = {} if apart else {"tokenize_chinese_chars": False}
    return BertTokenizer(
        vocab={piece: index for index, piece in enumerate(pieces)},
        do_lower_case=False,
        strip_accents=False,
        model_max_length=max_length,
        **unusual,
    )


def train_unigram(
    texts: Sequence[str], vocab_size: int, max_length: int
) -> PreTrainedTokenizerBase:
    """A Unigram tokenizer with T5's special tokens and ``SENTINELS`` sentinels.

    The pieces are those of byte-pair merges, their scores the outcome of Viterbi training, all from
    integer counts. `tokenizers`' own Unigram trainer is not used: its floating-point sums differ
    from run to run, and it offers no piece that is a whole word unless the word is part of another,
    so that a small vocabulary spells ``the`` in letters.

    No piece has both punctuation and letters, so every word begins a piece; and text around a
    sentinel gives the same pieces as around the words it stands for.

    Args:
        texts: natural text, one sentence each.
        vocab_size: pieces and special tokens without the sentinels; the alphabet is always there,
            and text with little variety may not need as many.
        max_length: the most tokens the model takes.
    """
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="first")
    splitter = pre_tokenizers.Sequence([metaspace, pre_tokenizers.Punctuation("isolated")])
    parts = Counter(part for text in texts for part, _ in splitter.pre_tokenize_str(text))
    pieces = _merged_pieces(texts, splitter, [*_alphabet(texts), "▁"], vocab_size)
    backend = Tokenizer(models.Unigram(_scored(pieces, parts), unk_id=2, byte_fallback=False))
    backend.normalizer = normalizers.Replace(Regex(r"\s+"), " ")
    backend.pre_tokenizer = metaspace
    backend.decoder = decoders.Metaspace(prepend_scheme="first")
    # The space before a sentinel is the sentinel's, or it would be left over as a piece.
    sentinels = [AddedToken(f"<extra_id_{i}>", lstrip=True, special=True) for i in range(SENTINELS)]
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        **dict(zip(("pad_token", "eos_token", "unk_token"), _T5_SPECIAL, strict=True)),
        extra_special_tokens=sentinels,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=max_length,
    )


def _merged_pieces(
    texts: Sequence[str], splitter: PreTokenizer, alphabet: list[str], vocab_size: int
) -> list[str]:
    """The alphabet and the byte-pair merges of it, as many as fit beside the special tokens."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = splitter
    size = max(vocab_size - len(_T5_SPECIAL), len(alphabet))
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=alphabet, show_progress=False)
    learner.train_from_iterator(texts, trainer)
    learnt = learner.get_vocab()
    return sorted(learnt, key=learnt.__getitem__)


def _scored(pieces: Sequence[str], parts: Counter[str]) -> list[tuple[str, float]]:
    """Pieces with log-probabilities after Viterbi training on the counts of ``parts``.

    The first segmentation favours long pieces (every piece costs the same).
    """
    scores = dict.fromkeys(pieces, -1.0)
    special = [(name, 0.0) for name in _T5_SPECIAL]
    for _ in range(_VITERBI_ROUNDS):
        model = models.Unigram([*special, *scores.items()], unk_id=2, byte_fallback=False)
        counts: Counter[str] = Counter()
        for part, times in parts.items():
            for token in model.tokenize(part):
                counts[token.value] += times
        total = sum(counts.values()) + _UNSEEN * len(pieces)
        scores = {p: round(math.log((counts[p] + _UNSEEN) / total), 4) for p in pieces}
    return [*special, *sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def sentinel_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Ids of ``<extra_id_0>``, ``<extra_id_1>``, ... as far as the tokenizer has them.

    mT5 has them as pieces that begin a word, ``▁<extra_id_0>``.
    """
    vocabulary = tokenizer.get_vocab()
    # Where the pieces of mT5 were trained, tokens without the mark are later additions.
    mark = "▁" if "▁<extra_id_0>" in vocabulary else ""
    ids: list[int] = []
    while (name := f"{mark}<extra_id_{len(ids)}>") in vocabulary:
        ids.append(vocabulary[name])
    return ids


_RUNNING = ("a", "man", "saw", "the", "old", "houses", "near", "1999")
"""Words that a tokenizer cuts alone as it cuts them in running text, or not."""


def cuts_as_in_text(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether words that are given one by one have the tokens that they have after a blank in a text.

    Those of word pieces and sentencepiece have; byte-level BPE has a token of its own for a word after a
    blank, and other, smaller ones for the same letters without.
    """
    if not _is_byte_level(tokenizer):
        return True
    alone = tokenizer(list(_RUNNING), is_split_into_words=True, add_special_tokens=False)
    # The first one, which nothing stands before, is left out.
    text = tokenizer(" ".join(_RUNNING), add_special_tokens=False)
    later = [ids for word, ids in zip(alone.word_ids(), alone["input_ids"], strict=True) if word]
    found: list[int] = text["input_ids"]
    return found[len(found) - len(later) :] == later


def _is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    return "ByteLevel" in repr(tokenizer.backend_tokenizer.pre_tokenizer)


def cut_as_in_text(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let a byte-level tokenizer put a blank before each word that it is given by itself.

    Any other is left as it is. The change is saved with the tokenizer.
    """
    if cuts_as_in_text(tokenizer):
        return
    backend: Any = tokenizer.backend_tokenizer
    steps = backend.pre_tokenizer
    if isinstance(steps, pre_tokenizers.ByteLevel):
        steps.add_prefix_space = True
        # From these some classes make it anew.
        tokenizer.init_kwargs["add_prefix_space"] = True
        tokenizer.add_prefix_space = True
    else:
        before = [backend.normalizer] if backend.normalizer else []
        backend.normalizer = normalizers.Sequence([*before, normalizers.Prepend(" ")])


def padded(
    rows: Sequence[Sequence[int] | NDArray[Any]], value: int, *, left: bool = False
) -> NDArray[np.int64]:
    """Rows of any length as ``[rows, longest]``, filled up with ``value`` on one side."""
    grid = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for line, row in zip(grid, rows, strict=True):
        line[len(line) - len(row) if left else 0 :][: len(row)] = row
    return grid


def token_batch(
    rows: Sequence[Sequence[int] | NDArray[Any]],
    pad: int,
    device: torch.device | None = None,
    *,
    left: bool = False,
) -> tuple[Tensor, Tensor]:
    """Token ids and attention mask (1: a token, 0: padding) of rows, both ``[rows, longest]``.

    Padding is on the right, or on the left, so that all rows can be gone on with.
    """
    ids = padded(rows, pad, left=left)
    mask = np.arange(ids.shape[1]) < np.array([[len(row)] for row in rows])
    if left:
        mask = mask[:, ::-1].copy()
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask.astype(np.int64)).to(device)
