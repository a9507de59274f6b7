"""Settings of ``conjoin fill``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pipeline.settings.base import Settings

__all__ = ["Fill"]


class Fill(Settings):
    """Fill one sentence interactively."""

    stage: ClassVar[str] = "fill"
    summary: ClassVar[str] = "Coordinate a span of one sentence and print the result with brackets."
    arguments: ClassVar[tuple[str, ...]] = ("sentence",)

    sentence: str = Field(description="The sentence, as ordinary text.")
    span: str = Field(description="The reference span: a part of the sentence.")
    corpus: Path = Field(Path("data/world"), description="Corpus folder whose models to use.")
    lm: Literal["bert", "t5", "both"] = Field("both", description="Model families to ask.")
    model: str | None = Field(None, description="Model folder or hub name, for a single --lm.")
    sync: bool = Field(True, description="Without it only S′(1) is filled.")
    synchronize: Literal["min", "mean"] = Field("min", description="f of Eq. 1 and 2.")
    scores: Literal["logits", "logprobs"] = Field("logits", description="What f is applied to.")
    coordinator: str = Field(
        "and", pattern=r"^\S+$", description="The coordinator to insert, one word."
    )
