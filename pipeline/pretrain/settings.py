"""Settings of ``conjoin pretrain``."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.core.families import FAMILY_FACTS, MODEL_NAMES, ModelName, family_of
from pipeline.core.settings import MOST_PROCESSES, MOST_THREADS, OnlyWith, Settings, only_for
from pipeline.text.unpacking import Size

_TRAINING = (
    "base", "objective", "steps", "batch_size", "max_length", "learning_rate", "warmup", "span_lengths",
    "eval_every", "checkpoint_every", "dtype",
)  # fmt: skip
"""Options of training, which a ready model goes without; others need one of these."""


class PretrainSettings(Settings):
    """Train or continue a masked LM (bert) or a text-infilling LM (t5)."""

    stage: ClassVar[str] = "pretrain"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    variant_field: ClassVar[str | None] = "lm"
    only_with: ClassVar[OnlyWith] = {
        **only_for(_TRAINING, ("ready", (None,))),
        **only_for(("segment", "repeat"), ("texts", ())),
        **only_for(("texts", "pack"), ("objective", ("corruption",))),
        **only_for(("vocab_size", "hidden", "layers", "heads", "dropout"), ("base", (None,))),
        **{
            name: [("lm", (family,))]
            for family, facts in FAMILY_FACTS.items()
            if facts.pretraining
            for name in facts.pretraining.settings
        },
        "longest_span": [("span_lengths", ("geometric", "log-uniform"))],
    }

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    lm: ModelName = Field("bert", description=f"Language model to train: {MODEL_NAMES}.")
    ready: str | None = Field(
        None,
        description="Hub name or folder of a ready model: nothing is trained, it is used as is; for "
        "predictors and parsers an encoder alone will do.",
    )
    base: str | None = Field(
        None,
        description="Hub name or folder (models/t5: this corpus's) to continue from; a BERT that is an "
        "encoder alone is given a head; unset: from scratch, own tokenizer.",
    )
    objective: Literal["corruption", "twins"] = Field(
        "corruption",
        description="What is learnt: masked words or spans of raw text; or twins of its natural "
        "coordinations, which `preparse --coordinated` parsed; options of text are then without effect.",
    )
    texts: list[Path] = Field(
        [],
        description="More raw text beside the corpus's text.txt: .txt, .gz or .xz files, or folders "
        "of them.",
    )
    segment: Literal["line", "punkt"] = Field(
        "punkt", description="texts: one sentence per line, or running text that punkt cuts."
    )
    largest_unpacked: Size = Field(
        "16GiB", description="Refuse packed texts that unpack to more in all: 16GiB, 1TiB."
    )
    repeat: int = Field(
        1,
        ge=1,
        description="How often an epoch, and an own tokenizer, has the corpus's own text, beside "
        "`texts` once.",
    )
    held_out: Literal["drop", "count"] = Field(
        "drop",
        description="Raw sentences that hold one of the dev or test split: left out, or only counted.",
    )
    steps: int = Field(2000, ge=1, description="Optimizer updates.")
    batch_size: int = Field(32, ge=1, description="Sequences per update (over all processes).")
    max_length: int = Field(128, ge=16, description="Tokens per sequence; longer text is cut.")
    pack: int = Field(
        0,
        ge=0,
        description="Join consecutive sentences up to so many tokens; 0: each stands alone.",
    )
    learning_rate: float = Field(1e-3, gt=0, description="Peak AdamW learning rate.")
    body_learning_rate: float | None = Field(
        None,
        gt=0,
        description="bert: that of all but the head; unset: the same, or a fifth of it where the head is "
        "new, as the base has none.",
    )
    warmup: float = Field(0.05, ge=0, lt=1, description="Share of the steps that warm up linearly.")
    vocab_size: int = Field(
        4000,
        ge=100,
        le=1 << 24,
        description="From scratch: tokens in all; more where the text's characters, each of which is one, "
        "are more.",
    )
    hidden: int = Field(
        128, ge=8, le=65_536, description="From scratch: model width (4x in the feed-forward)."
    )
    layers: int = Field(3, ge=1, le=1000, description="From scratch: layers (in T5: of each half).")
    heads: int = Field(4, ge=1, le=1024, description="From scratch: attention heads.")
    dropout: float = Field(0.1, ge=0, lt=1, description="From scratch: dropout.")
    mask_rate: float = Field(0.15, gt=0, lt=1, description="bert: share of words masked.")
    mask_span: float = Field(
        1.0, ge=1, description="bert: mean length of a masked run in words; 1: words apart."
    )
    density: float = Field(0.15, gt=0, lt=1, description="t5: share of words in corrupted spans.")
    mean_span: float = Field(3.0, ge=1, description="t5: mean length of a corrupted span in words.")
    span_lengths: Literal["composed", "geometric", "log-uniform"] = Field(
        "composed",
        description="Lengths of hidden runs: T5's random cuts of a share of noise; SpanBERT's "
        "geometric; or each order of magnitude alike, as constituents have them.",
    )
    longest_span: int = Field(
        10, ge=1, description="geometric, log-uniform: the longest hidden run in words."
    )
    eval_every: int = Field(
        1000, ge=1, description="Steps between two looks at held-out text (and one at the end)."
    )
    checkpoint_every: int = Field(
        1000, ge=1, description="Steps between two checkpoints, from which a killed run goes on."
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "float32",
        description="Arithmetic; weights stay float32. auto: bfloat16 on a GPU that has it.",
    )
    seed: int = Field(0, ge=0, description="Seed of initialisation, order and masking.")
    processes: int = Field(
        1, ge=1, le=MOST_PROCESSES, description="Processes, started by accelerate launch."
    )
    threads: int = Field(1, ge=1, le=MOST_THREADS, description="CPU threads per process.")

    @property
    def family(self) -> str:
        """The family that the language model is of."""
        return family_of(self.lm)

    def inert(self) -> set[str]:
        """Settings that do not bear on the weights, beside the others: a change makes nothing stale.

        ``texts`` and ``corpus`` are where things lie; what lies there has a digest of its own.
        """
        inert = {"corpus", "texts", "largest_unpacked", "processes", "threads", "dtype", "ready"}
        inert |= {"eval_every", "checkpoint_every"}
        inert |= {name for name in self.only_with if not self.has_effect(name)}
        if self.body_learning_rate is None:
            inert.add("body_learning_rate")
        if self.objective == "twins":
            inert |= {
                "mask_rate",
                "mask_span",
                "density",
                "mean_span",
                "span_lengths",
                "longest_span",
            }
        return inert

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.ready and FAMILY_FACTS[self.family].pretraining is None:
            title = FAMILY_FACTS[self.family].title
            raise ValueError(f"a {title} cannot be trained here; name a ready one with --ready")
        if self.objective == "twins" and not (self.base or self.ready):
            raise ValueError("objective twins adapts a model: name its base, e.g. models/t5")
        return self
