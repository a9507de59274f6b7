"""What the generation benchmark works on: models of the right shape, references, forced lengths."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
)

from pipeline.core.tally import Tally
from pipeline.core.types import Reference, Sentence, SourceSentence, Span
from pipeline.generate.spans import draw_spans
from pipeline.ingest.readers.genia import read_genia
from pipeline.models.tokenizers import train_unigram, train_wordpiece
from pipeline.text.natural import join_words
from pipeline.text.trees import parse_tree

__all__ = ["SHAPES", "Shape", "forced_lengths", "model_of", "references", "tokenizer_of"]

GENIA = Path(__file__).resolve().parents[3] / "shared" / "data" / "genia"
PIECES = 5_000
"""Subword vocabulary learnt from the sentences: about 1.35 pieces per word on GENIA."""


@dataclass(frozen=True)
class Shape:
    """A model's architecture; weights are random."""

    kind: str
    width: int
    feed: int
    layers: int
    heads: int
    vocabulary: int
    gated: bool = False

    @property
    def inner(self) -> int:
        """Width of all heads together."""
        return self.heads * 64


SHAPES = {
    # about what conjoin pretrains itself, google/t5-efficient-tiny, t5-small, google/t5-v1_1-large
    "t5-mini": Shape("t5", 64, 256, 2, 1, 8_192),
    "t5-tiny": Shape("t5", 256, 1024, 4, 4, 32_128),
    "t5-small": Shape("t5", 512, 2048, 6, 8, 32_128),
    "t5-large": Shape("t5", 1024, 2816, 24, 16, 32_128, gated=True),
    "bert-base": Shape("bert", 768, 3072, 12, 12, 28_996),
    "bert-large": Shape("bert", 1024, 4096, 24, 16, 28_996),
}


def model_of(shape: Shape, dtype: torch.dtype, device: str) -> PreTrainedModel:
    """A model of this shape with weights from a fixed seed."""
    torch.manual_seed(0)
    if shape.kind == "t5":
        model: PreTrainedModel = T5ForConditionalGeneration(
            T5Config(
                vocab_size=shape.vocabulary, d_model=shape.width, d_ff=shape.feed, d_kv=64,
                num_layers=shape.layers, num_heads=shape.heads, decoder_start_token_id=0,  # type: ignore[call-arg]
                feed_forward_proj="gated-gelu" if shape.gated else "relu",
            )
        )  # fmt: skip
    else:
        model = BertForMaskedLM(
            BertConfig(
                vocab_size=shape.vocabulary, hidden_size=shape.width, intermediate_size=shape.feed,
                num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
            )
        )  # fmt: skip
    return model.eval().to(device=device, dtype=dtype)  # type: ignore[no-untyped-call,no-any-return]


def references(count: int, source: Path | None) -> tuple[list[Reference], str]:
    """Reference spans to fill, the same for every run, and what they are in words.

    Args:
        count: how many.
        source: the GENIA treebank; without it sentences are made up.
    """
    source = source or (GENIA if GENIA.is_dir() else None)
    if source is None:
        return _made_up(count), "made-up sentences of GENIA's lengths (no treebank at hand)"
    sentences = [
        each
        for each in read_genia(source, Tally())
        if each.split == "train" and not each.coordinations and len(each.words) >= 10
    ]
    random.Random(0).shuffle(sentences)
    found = [one for each in sentences for one in _drawn(each)]
    return found[:count], "GENIA, train, sentences without coordination, one span each"


def _drawn(sentence: Sentence) -> list[Reference]:
    tree = parse_tree(sentence.tree) if sentence.tree else None
    source = SourceSentence(sentence.sentence_id, sentence.words, sentence.license)
    return draw_spans(source, tree=tree, references=1, seed=0)


def _made_up(count: int) -> list[Reference]:
    """Sentences and spans with the quartiles of GENIA's lengths, of words with Zipf's frequencies."""
    rng = random.Random(0)
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "in", "er")]
    lexicon = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(8000)]
    weights = [1 / rank for rank in range(1, 8001)]
    found = []
    for i in range(count):
        length = max(10, round(rng.lognormvariate(3.05, 0.38)))
        size = min(length - 1, max(1, round(rng.lognormvariate(1.39, 0.93))))
        start = rng.randrange(length - size + 1)
        words = tuple(rng.choices(lexicon, weights, k=length))
        found.append(Reference(f"s{i}", words, Span(start, start + size), "NP", "CC0"))
    return found


def tokenizer_of(kind: str, found: Sequence[Reference]) -> PreTrainedTokenizerBase:
    """A subword tokenizer of the model's family, learnt from the sentences."""
    texts = [join_words(each.words).text for each in found]
    return (train_unigram if kind == "t5" else train_wordpiece)(texts, PIECES, 512)


def forced_lengths(limits: Sequence[tuple[int, int]]) -> list[int]:
    """One length between each pair of limits, drawn once for both sides."""
    rng = random.Random(1)
    return [rng.randint(*each) for each in limits]
