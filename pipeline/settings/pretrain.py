"""Settings of ``conjoin pretrain``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pipeline.settings.base import Settings

__all__ = ["Pretrain"]


class Pretrain(Settings):
    """Train or continue a language model on a corpus's raw training text, or name a ready one."""

    stage: ClassVar[str] = "pretrain"
    summary: ClassVar[str] = "Train or continue a masked LM (bert) or a text-infilling LM (t5)."
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    variant_field: ClassVar[str | None] = "lm"

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    lm: Literal["bert", "t5"] = Field("bert", description="Which language model to train.")
    ready: str | None = Field(
        None,
        description="Hub name or folder of a ready model: nothing is trained, it is used as is.",
    )
    base: str | None = Field(
        None, description="Hub name or folder to continue from; unset: from scratch, own tokenizer."
    )
    steps: int = Field(2000, ge=1, description="Optimizer updates.")
    batch_size: int = Field(32, ge=1, description="Sequences per update (over all processes).")
    max_length: int = Field(128, ge=16, description="Tokens per sequence; longer text is cut.")
    learning_rate: float = Field(1e-3, gt=0, description="Peak AdamW learning rate.")
    warmup: float = Field(0.05, ge=0, lt=1, description="Share of the steps that warm up linearly.")
    vocab_size: int = Field(4000, ge=100, description="From scratch: tokenizer vocabulary.")
    hidden: int = Field(
        128, ge=8, description="From scratch: model width (4x in the feed-forward)."
    )
    layers: int = Field(3, ge=1, description="From scratch: layers (in T5: of each half).")
    heads: int = Field(4, ge=1, description="From scratch: attention heads.")
    dropout: float = Field(0.1, ge=0, lt=1, description="From scratch: dropout.")
    mask_rate: float = Field(0.15, gt=0, lt=1, description="bert: share of tokens masked.")
    mask_span: float = Field(
        1.0, ge=1, description="bert: mean length of a masked run in words; 1: words apart."
    )
    density: float = Field(0.15, gt=0, lt=1, description="t5: share of tokens in corrupted spans.")
    mean_span: float = Field(
        3.0, ge=1, description="t5: mean length of a corrupted span in tokens."
    )
    seed: int = Field(0, ge=0, description="Seed of initialisation, order and masking.")
    threads: int = Field(1, ge=1, description="CPU threads.")
