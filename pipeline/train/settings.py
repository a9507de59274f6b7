"""Settings of ``conjoin train``: the constants of Algorithm 1 and of §5.1."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from pipeline.core.cards.runs import ShownAs
from pipeline.core.names import of_a_draw
from pipeline.core.runs import NO_AUGMENTATION, System
from pipeline.core.settings import (
    MOST_PROCESSES,
    MOST_THREADS,
    DrawSize,
    Label,
    OnlyWith,
    Precision,
    Settings,
    only_for,
)
from pipeline.core.words import is_without_control
from pipeline.text.coarse_tags import classes_of
from pipeline.train.acceptance import RULES, RuleName

_GENERATED = ("filter", "no-filter", "self-train")
"""Modes that learn from candidates."""


class TrainSettings(Settings):
    """Train a predictor on L and on the candidates it believes (Algorithm 1)."""

    stage: ClassVar[str] = "train"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    table: ClassVar[str] = "systems"
    name_field: ClassVar[str | None] = "system"
    only_with: ClassVar[OnlyWith] = {
        **only_for(("k", "k_max", "labels", "weight"), ("mode", _GENERATED)),
        "candidates": [("mode", _GENERATED), ("augment", ("substitute",))],
        "accept": [("mode", ("filter", "self-train"))],
        "delta": [("accept", ("delta",))],
        "share": [("accept", ("quantile",))],
        "relative": [("accept", ("relative",))],
        "alpha": [("augment", ("mask", "fill", "substitute"))],
        "mask_tags": [("augment", ("mask", "fill"))],
        "fill_mode": [("augment", ("fill",))],
        "augment_lm": [("augment", ("fill", "substitute"))],
    }

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    candidates: str | None = Field(
        None,
        description="Candidates: a folder of shards, a released corpus's folder, or a hub dataset's "
        "name (not read in mode baseline).",
    )
    labels: list[Label] = Field(
        [], description="Draw only candidates with one of these labels (NP, VP …); unset: all."
    )
    mode: Literal["baseline", "filter", "no-filter", "self-train"] = Field(
        "filter",
        description="L only; believed candidates (--accept); all candidates (δ = 0); boundaries from the "
        "predictor itself on unsynchronized text.",
    )
    system: str = Field(
        "",
        description="Name of the run's folder; unset: the mode, and what --augment and --mask-tags add. Its "
        "entry of `systems` in --params, if there is one, has options, too.",
    )
    generator: str | None = Field(
        None,
        description="For tables: what made the candidates, as T5; none for a baseline. Unset: tables show "
        "--system as it stands.",
    )
    caption: str | None = Field(
        None, description="For tables: what sets them apart from that generator's own."
    )
    variation: str | None = Field(
        None, description="For tables: what training does otherwise, as no-filter, self-train."
    )
    control_of: str | None = Field(
        None,
        description="For tables: the caption whose effect this is the control for; any: of its generator.",
    )
    labelled: DrawSize = Field(
        "250", description="|L|: which labelled draw to use, a number or 'full'."
    )
    gold_of: str | None = Field(
        None,
        description="Folder of a parser, in the corpus or any: L is extended by the sentences that it "
        "learned from, with their gold coordinations; {seed} and {labelled} stand for the draw's.",
    )
    seed: int = Field(0, ge=0, description="Which draw, and the seed of fine-tuning.")
    encoder: str = Field(
        "models/bert",
        description="Encoder: a folder in the corpus (its seed-SEED, if any), any folder, or a hub name; "
        "of a predictor its encoder. {seed} and {labelled} stand for the draw's.",
    )
    n_batch: int = Field(16, ge=1, description="N_batch: examples per update.")
    k: int = Field(8, ge=0, description="K: generated examples wanted in a batch.")
    k_max: int = Field(16, ge=0, description="K_max: generation trials per batch.")
    accept: RuleName = Field(
        "delta",
        description="Which candidates are believed (not in mode no-filter): "
        f"{', or '.join(rule.description for rule in RULES.values())}.",
    )
    delta: float = Field(0.7, ge=0, le=1, description="δ: least probability to accept a candidate.")
    share: float = Field(0.5, gt=0, le=1, description="quantile: share of each label to accept.")
    relative: float = Field(
        0.001,
        gt=0,
        le=1,
        description="relative: least probability to accept, over that of the best boundary.",
    )
    warm_steps: int = Field(1000, ge=0, description="Updates on L alone (Algorithm 1, line 1).")
    steps: int = Field(10000, ge=1, description="Updates in all.")
    learning_rate: float = Field(
        2e-5, gt=0, description="AdamW, linearly decreased after --warm-up."
    )
    warm_up: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Share of the updates in which the learning rate first grows linearly.",
    )
    encoder_rate: float = Field(
        1.0, ge=0, description="The encoder's learning rate as a share of the scorer's; 0: frozen."
    )
    weight_decay: float = Field(0.01, ge=0, description="AdamW weight decay.")
    clip: float = Field(1.0, gt=0, description="Gradient norm clipping threshold.")
    eval_every: int = Field(100, ge=1, description="Updates between validations.")
    patience: int = Field(
        1000, ge=1, description="Stop after so many updates without improvement (see --select)."
    )
    select: Literal["accuracy", "loss", "last", "average"] = Field(
        "accuracy",
        description="Which weights become the predictor: of the best validation accuracy (of relations "
        "macro-F1), the earliest of equals; of the least validation loss, the latest of equals; those after "
        "the last update; the mean of those at the validations in the second half of the updates after the "
        "warm steps. With the last two all --steps are made.",
    )
    weight: float | None = Field(
        None,
        ge=0,
        description="λ: the loss is the mean over a batch's labelled instances + λ times the mean over its "
        "generated ones; unset: one mean over both (not used in mode baseline).",
    )
    brackets: float | None = Field(
        None,
        gt=0,
        description="λ of the brackets: L's constituents are learned beside its coordinations, by a binary "
        "cross-entropy over all spans of its sentences that have a tree; unset: they are not.",
    )
    augment: Literal["none", "copy", "mask", "fill", "substitute"] = Field(
        "none",
        description="A variant of each labelled example of a batch, added to it; copy: the same again (the "
        "control); mask: words hidden by [MASK]; fill: words that a masked LM puts in their place; "
        "substitute: conjuncts replaced by constituents of other sentences.",
    )
    alpha: float = Field(
        0.5,
        ge=0,
        le=1,
        description="α: probability that a word changes in an epoch; substitute: that a structure does.",
    )
    mask_tags: str = Field(
        "all",
        description="mask, fill: S, the parts of speech that may change: all, all-VERB (all but verbs), "
        "all-VERB-SYM, NOUN, NOUN+ADJ; the classes are those of docs/augmentation.md.",
    )
    fill_mode: Literal["multi-argmax", "multi-sample", "single-argmax", "single-sample"] = Field(
        "multi-argmax",
        description="fill: all words of a sentence in one pass, or each in its own; the most probable word, "
        "or one drawn.",
    )
    augment_lm: str | None = Field(
        None,
        description="fill, substitute: the language model, a folder in the corpus, any folder or a hub "
        "name; unset: the encoder's own checkpoint.",
    )
    mlp_hidden: int = Field(256, ge=1, le=65_536, description="Hidden units of the MLP in Eq. 3.")
    dropout: float = Field(0.5, ge=0, lt=1, description="Dropout in that MLP.")
    rnn_layers: int = Field(
        10, ge=1, le=64, description="arguments: k, GRU layers of alternating direction."
    )
    rnn_units: int = Field(256, ge=1, le=65_536, description="arguments: M, units of each layer.")
    logit_adjustment: float = Field(
        0.0,
        ge=0,
        description="relations: τ of logit adjustment, by which rare senses are learned with a margin.",
    )
    choices_only: bool = Field(
        False,
        description="questions: the model does not read the context, so learns what choices give away.",
    )
    encoder_dropout: float | None = Field(
        None, ge=0, lt=1, description="Dropout in the encoder; unset: as it was pretrained."
    )
    mixed_precision: Precision = Field(
        "no", description="bf16: matrix products in bfloat16, weights and sums in float32."
    )
    processes: int = Field(
        1,
        ge=1,
        le=MOST_PROCESSES,
        description="Processes that share every batch (GPUs), started by accelerate launch.",
    )
    threads: int = Field(1, ge=1, le=MOST_THREADS, description="CPU threads per process.")
    checkpoint_every: int = Field(
        1000, ge=0, description="Updates between checkpoints in RUN/checkpoints; 0: none."
    )
    keep: int = Field(2, ge=1, description="Newest checkpoints to keep while the run goes on.")
    resume: bool = Field(
        False, description="Go on from the last good checkpoint, if there is one; else start over."
    )
    out: Path | None = Field(
        None, description="Run folder; unset: CORPUS/runs/SYSTEM/LABELLED/seed-SEED."
    )

    @classmethod
    def _of_entry(cls, entry: dict[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
        """The name of its candidates is a folder of the corpus and of the seed."""
        if isinstance(name := entry.get("candidates"), str) and "corpus" in explicit:
            seed = explicit.get("seed", cls.model_fields["seed"].default)
            entry["candidates"] = str(Path(explicit["corpus"], f"candidates/{name}/seed-{seed}"))
        return entry

    @field_validator("candidates", mode="before")
    @classmethod
    def _candidates(cls, value: Any) -> Any:
        return str(value) if isinstance(value, Path) else value

    @field_validator("generator", "caption", "variation", "control_of")
    @classmethod
    def _shown(cls, value: str | None) -> str | None:
        value = value if value is None else value.strip()
        if value and not is_without_control(value):
            raise ValueError(f"must be one line of text, was {value[:40]!r}")
        return value

    @field_validator("mask_tags")
    @classmethod
    def _mask_tags(cls, value: str) -> str:
        classes_of(value)
        return value

    @property
    def usual_name(self) -> str:
        """The run's folder where none is named: variants take no baseline's, nor those of other tags."""
        if self.augment == NO_AUGMENTATION:
            return self.mode
        usual = self.mask_tags == type(self).model_fields["mask_tags"].default
        tags = "" if usual else "-" + self.mask_tags.replace("+", "-")
        return f"{self.mode}-{self.augment}{tags}"

    @property
    def shown_as(self) -> ShownAs:
        """What tables and comparisons of systems go by, of what was given; no part of the result."""
        fields = {name: getattr(self, name) for name in System.FIELDS}
        return {name: value for name, value in fields.items() if value is not None}

    def of_draw(self, name: str) -> str:
        """A name in which ``{seed}`` and ``{labelled}`` stand for the draw's."""
        return of_a_draw(name, self.seed, self.labelled)

    @property
    def gold_folder(self) -> Path | None:
        """The folder of the parser whose sentences extend L."""
        if self.gold_of is None:
            return None
        name = self.of_draw(self.gold_of)
        inside = self.corpus / name
        return inside if inside.is_dir() else Path(name)

    @property
    def needs_scores(self) -> bool:
        """Whether candidates' scores decide who is believed."""
        return self.mode in ("filter", "self-train")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.k > self.n_batch:
            raise ValueError(f"K must not exceed N_batch, was {self.k} > {self.n_batch}")
        if self.mode != "baseline" and self.candidates is None:
            raise ValueError(f"mode {self.mode} needs --candidates")
        if self.brackets is not None and self.encoder_rate == 0:
            raise ValueError("brackets teach the encoder, which --encoder-rate 0 freezes")
        if self.mode == "self-train" and self.accept in ("agree", "relative"):
            raise ValueError(
                "in self-training every boundary is the predictor's own: "
                f"accept {self.accept} asks nothing"
            )
        return self
