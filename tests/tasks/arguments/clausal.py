"""A corpus of arguments that is learned in seconds: the embedded world's, with a tiny encoder."""

from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertForMaskedLM

from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.models.tokenizers import train_wordpiece
from pipeline.train.settings import TrainSettings

RAW = Path(__file__).resolve().parents[3] / "data/raw/world"


def build(folder: Path, sentences: int = 120) -> Path:
    """A corpus folder: 40 sentences in L, 12 to validate, a fifth of all to test, a BERT of one layer."""
    wanted = {"reader": "world-arguments", "source": RAW, "out": folder, "sentences": sentences}
    run(IngestSettings.build(wanted | {"labelled": ["40"], "validation": 12}, None))
    lines = (folder / "text.txt").read_text().splitlines()
    encoder(folder / "models/bert", lines)
    return folder


def encoder(folder: Path, lines: list[str]) -> Path:
    """A BERT of one layer, of random weights, whose vocabulary is that of some text."""
    tokenizer = train_wordpiece(lines, 600, 64)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def settings(corpus: Path, **given: Any) -> TrainSettings:
    """Settings that learn something of the corpus in seconds."""
    usual: dict[str, Any] = {
        "corpus": corpus, "mode": "baseline", "labelled": 40, "steps": 40, "warm_steps": 0, "eval_every": 10,
        "learning_rate": 0.02, "encoder_rate": 0, "encoder_dropout": 0.0, "rnn_layers": 2, "rnn_units": 24,
    }  # fmt: skip
    return TrainSettings(**usual | given)
