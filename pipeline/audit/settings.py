"""Settings of ``conjoin audit``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import Settings


class AuditSettings(Settings):
    """Judge candidates with the grammar that made their corpus, or harvested ones with its treebank."""

    stage: ClassVar[str] = "audit"
    every_task: ClassVar[bool] = False
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)

    corpus: Path = Field(description="Corpus folder, e.g. data/world.")
    sample: int = Field(
        1000,
        ge=1,
        description="Candidates judged per folder of candidates, and per system and |L|.",
    )
    seed: int = Field(0, ge=0, description="Seed of the samples.")
    source: Path | None = Field(
        None, description="Folder of the corpus's lexicon.yaml; data/raw/CORPUS if left out."
    )
