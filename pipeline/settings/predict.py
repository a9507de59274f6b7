"""Settings of ``conjoin predict`` and ``conjoin corpora``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from pipeline.ground.coordination import COORDINATORS
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
    text: Path = Field(
        description="File to predict for, also packed by gzip or xz; '-' reads standard input."
    )
    format: Literal["auto", "text", "conllu", "ptb"] = Field(
        "auto",
        description="Form of the input: text has one sentence per line, ptb trees in brackets; "
        "auto goes by the name's suffix, else by the first lines.",
    )
    output: Literal["tsv", "jsonl", "conllu"] = Field(
        "tsv",
        description="tsv: bracketed sentence, coordinator, probability; jsonl: an object per "
        "sentence; conllu: the input with Coord and CoordProb in MISC.",
    )
    n_best: int = Field(1, ge=1, description="Most probable structures shown per coordinator.")
    coordinators: list[str] = Field(
        sorted(COORDINATORS),
        min_length=1,
        description="Word that counts as coordinator, in any case, instead of these; repeatable.",
    )
    batch_tokens: int = Field(
        2048, ge=1, description="Subwords encoded together, padding included."
    )

    @field_validator("coordinators")
    @classmethod
    def _are_words(cls, words: list[str]) -> list[str]:
        for word in words:
            if len(word.split()) != 1:
                raise ValueError(f"a coordinator is one word, was {word!r}")
        return words


class Corpora(Settings):
    """Tell where each corpus comes from and under which licence."""

    stage: ClassVar[str] = "corpora"
    summary: ClassVar[str] = "Tell where each corpus comes from and under which licence."
