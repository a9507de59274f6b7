"""The tiny corpus with parts of speech and trees, and what makes variants of its L."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import tiny
import torch

from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, read_sentences, sentence_row
from pipeline.core.types import Sentence
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.tasks.augmentation import Augmentation, Labelled, Material
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.train.augmentation.kinds import kinds_of

TAGS = {
    "we": "PRP", "saw": "VBD", "near": "IN", "with": "IN", "today": "NN", "it": "PRP", "was": "VBD",
    "here": "RB", "and": "CC",
}  # fmt: skip


def tagged(sentence: Sentence) -> Sentence:
    """A sentence of the tiny corpus with its tags and a tree."""
    (gold,) = sentence.coordinations
    tags = tuple(TAGS.get(word, "NNS") for word in sentence.words)
    leaves = [f"({tag} {word})" for tag, word in zip(tags, sentence.words, strict=True)]
    left, right = (" ".join(leaves[s.start : s.end]) for s in gold.conjuncts)
    structure = f"(NP (NP {left}) {leaves[gold.coordinator]} (NP {right}))"
    tree = " ".join(["(S1 (S", *leaves[: gold.start], structure, *leaves[gold.end :]]) + "))"
    return replace(sentence, tags=tags, tree=tree)


def unlabelled(number: int) -> Sentence:
    """A sentence of U, of ten words, with noun phrases of one, two and three of them."""
    one, two, three = (tiny.NOUNS[(number * step + step) % 6] for step in (1, 2, 5))
    tree = (
        f"(S1 (S (NP (PRP we)) (VP (VBD saw) (NP (NNS {one}) (NNS {two})) (PP (IN near) (NP (NNS {three})))"
        f" (PP (IN with) (NP (NNS {two}) (NNS {three}) (NNS {one}))) (ADVP (RB here)))))"
    )
    words = ("we", "saw", one, two, "near", three, "with", two, three, one, "here")
    return Sentence(f"u{number}", "d", "train", words, None, tree, (), "CC0-1.0")


def build(folder: Path) -> Path:
    """The tiny corpus, tagged, with trees of U."""
    corpus = tiny.build(folder)
    every = [tagged(each) for each in read_sentences(corpus / "sentences.parquet")]
    every += map(unlabelled, range(30))
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, every))
    tiny.ingested(corpus)
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank"))
    return corpus


def augmentation(
    kind: str, corpus: Path, sentences: list[Sentence], **given: Any
) -> tuple[Augmentation, Material]:
    """A kind of variants of some sentences, and what it is made from."""
    encoder = str(corpus / "models/bert")
    predictor = CoordinationPredictor.create(encoder, mlp_hidden=8, dropout=0.0, seed=0)
    labelled = []
    for sentence in sentences:
        learned, _ = tiny.learned_of([sentence], predictor)
        fixed = tiny.COORDINATION.protected(sentence)
        labelled += [Labelled(sentence, example, fixed) for example in learned]
    usual = {
        "alpha": 0.5,
        "mask_tags": "all",
        "fill_mode": "multi-argmax",
        "seed": 0,
        "lm": encoder,
    }
    material = Material(
        corpus=corpus, labelled=labelled, encoding=predictor.encoding,
        device=torch.device("cpu"), **usual | given,
    )  # fmt: skip
    return kinds_of(tiny.COORDINATION)[kind](material), material
