"""Settings of ``conjoin predict`` and ``conjoin corpora``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.settings.base import Settings

__all__ = ["Corpora", "Predict"]


class Predict(Settings):
    """Predict the boundaries of every coordination in new sentences."""

    stage: ClassVar[str] = "predict"
    summary: ClassVar[str] = (
        "Predict coordination boundaries of sentences with a trained predictor."
    )
    arguments: ClassVar[tuple[str, ...]] = ("predictor", "text")

    predictor: Path = Field(description="Folder of a trained predictor, RUN/predictor.")
    text: Path = Field(description="File with one sentence per line; '-' reads standard input.")
    batch_size: int = Field(64, ge=1, description="Sentences encoded together.")


class Corpora(Settings):
    """Tell where each corpus comes from and under which licence."""

    stage: ClassVar[str] = "corpora"
    summary: ClassVar[str] = "Tell where each corpus comes from and under which licence."
