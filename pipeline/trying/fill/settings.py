"""Settings of ``conjoin fill``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from pipeline.core.families import FAMILY_FACTS, is_model_name
from pipeline.core.settings import (
    DecodingSettings,
)
from pipeline.core.types import LABEL


class FillSettings(DecodingSettings):
    """Coordinate a span of one sentence and print the result with brackets."""

    stage: ClassVar[str] = "fill"
    every_task: ClassVar[bool] = False
    arguments: ClassVar[tuple[str, ...]] = ("sentence",)

    sentence: str = Field(description="The sentence, as ordinary text.")
    span: str = Field(description="The reference span: a part of the sentence.")
    corpus: Path = Field(Path("data/world"), description="Corpus folder whose models to use.")
    lm: str = Field(
        "both",
        description=f"Language model to ask: {', '.join(FAMILY_FACTS)}, one called like t5-twins, or both.",
    )
    model: str | None = Field(None, description="Model folder or hub name, for a single --lm.")
    label: str | None = Field(
        None, pattern=f"^{LABEL}$", description="attested: label of the span, e.g. NP."
    )
    seed: int = Field(
        0, ge=0, description="Seed of sampling, and of the model if there are several."
    )

    @field_validator("lm")
    @classmethod
    def _named(cls, value: str) -> str:
        if value != "both" and not is_model_name(value):
            raise ValueError(f"must be {', '.join(FAMILY_FACTS)}, both, or a name like t5-twins")
        return value
