"""Settings of ``conjoin evaluate``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pipeline.core.settings import MOST_THREADS, Settings


class Evaluate(Settings):
    """Evaluate all runs of a corpus: accuracy by the four criteria whole, outer, inner and exact."""

    stage: ClassVar[str] = "evaluate"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    split: Literal["test", "dev", "test2"] = Field(
        "test", description="Which split to evaluate on."
    )
    batch_tokens: int = Field(
        2048, ge=1, description="Subwords encoded together, padding included."
    )
    limit: int | None = Field(None, ge=1, description="Evaluate only the first so many sentences.")
    threads: int = Field(2, ge=1, le=MOST_THREADS, description="CPU threads.")
