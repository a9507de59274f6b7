"""Settings of ``conjoin report``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import Settings


class ReportSettings(Settings):
    """Write the Markdown and HTML report of a corpus."""

    stage: ClassVar[str] = "report"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    examples: int = Field(
        20,
        ge=0,
        description="Candidates to show: of each generation, and accepted and rejected ones.",
    )
    own_use: bool = Field(
        False,
        description="Show examples, too, whose licence forbids to hand on their text or is not known: the "
        "report stays with you.",
    )
    seed: int = Field(0, ge=0, description="Seed of the drawn examples.")
    judgements: Path | None = Field(
        None,
        description="Verdicts of people on the examples: a CSV file of candidate_id,sensible,note.",
    )
