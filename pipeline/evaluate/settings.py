"""Settings of ``conjoin evaluate``."""

from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from pipeline.core.runs import USUAL_TAU
from pipeline.core.settings import MOST_THREADS, OnlyWith, Settings

VALIDATION = "validation"
"""The τ that is chosen on validation sentences."""


def _tau(value: Any) -> str:
    if value == VALIDATION:
        return VALIDATION
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < inf:
        raise ValueError(f"must be a number from 0, or '{VALIDATION}'")
    return f"{number:g}"


Tau = Annotated[str, BeforeValidator(_tau)]
"""A number, or ``VALIDATION``."""


class EvaluateSettings(Settings):
    """Evaluate all runs of a corpus: accuracy by the four criteria whole, outer, inner and exact."""

    stage: ClassVar[str] = "evaluate"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    only_with: ClassVar[OnlyWith] = {"tau": [("parser", ())]}

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    split: Literal["test", "dev", "test2"] = Field(
        "test", description="Which split to evaluate on."
    )
    parser: list[str] = Field(
        [],
        description="A parser whose structures become rows, alone and beside every predictor: a name, for "
        "those in CORPUS/parsers/NAME/DRAW/seed-S; 'corpus', for CORPUS/parser; or a folder.",
    )
    tau: Tau = Field(
        f"{USUAL_TAU:g}",
        description="A parser's structure stands unless the predictor's probability of it is below so many "
        "times that of its best; 'validation' chooses it on the draw's validation sentences.",
    )
    batch_tokens: int = Field(
        2048, ge=1, description="Subwords encoded together, padding included."
    )
    limit: int | None = Field(None, ge=1, description="Evaluate only the first so many sentences.")
    threads: int = Field(2, ge=1, le=MOST_THREADS, description="CPU threads.")

    @field_validator("parser", mode="before")
    @classmethod
    def _may_be_one(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value
