"""Settings of ``conjoin fill``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from pipeline.settings.base import Settings
from pipeline.settings.models import is_model_name

__all__ = ["Fill"]


class Fill(Settings):
    """Fill one sentence interactively."""

    stage: ClassVar[str] = "fill"
    summary: ClassVar[str] = "Coordinate a span of one sentence and print the result with brackets."
    arguments: ClassVar[tuple[str, ...]] = ("sentence",)

    sentence: str = Field(description="The sentence, as ordinary text.")
    span: str = Field(description="The reference span: a part of the sentence.")
    corpus: Path = Field(Path("data/world"), description="Corpus folder whose models to use.")
    lm: str = Field(
        "both", description="Language model to ask: bert, t5, one called like t5-twins, or both."
    )
    model: str | None = Field(None, description="Model folder or hub name, for a single --lm.")
    sync: bool = Field(True, description="Without it only S′(1) is filled.")
    synchronize: Literal["min", "mean"] = Field("min", description="f of Eq. 1 and 2.")
    scores: Literal["logits", "logprobs"] = Field("logits", description="What f is applied to.")
    decoding: Literal["greedy", "sample", "n-best"] = Field(
        "greedy", description="How fills are chosen: argmax (the paper), at random, or by search."
    )
    fills: int = Field(1, ge=1, description="N: fills to print; greedy has one.")
    temperature: float = Field(1.0, gt=0, description="sample: what u′ is divided by.")
    top_p: float = Field(1.0, gt=0, le=1, description="sample: mass of the tokens drawn from.")
    beams: int | None = Field(
        None, ge=1, description="n-best with T5: width of the search; unset: max(fills, 4)."
    )
    refine: int = Field(
        1,
        ge=1,
        description="greedy with BERT: passes of mask-predict; 1 is the paper's single one.",
    )
    seed: int = Field(
        0, ge=0, description="Seed of sampling, and of the model if there are several."
    )
    coordinator: str = Field(
        "and", pattern=r"^\S+$", description="The coordinator to insert, one word."
    )

    @field_validator("lm")
    @classmethod
    def _named(cls, value: str) -> str:
        if value != "both" and not is_model_name(value):
            raise ValueError("must be bert, t5, both, or a name like t5-twins")
        return value
