"""Settings of ``conjoin diagnose``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import MOST_THREADS, Settings


class DiagnoseSettings(Settings):
    """Find where a run's predictor fails: by folds of L, or of relations among its validation pairs."""

    stage: ClassVar[str] = "diagnose"
    arguments: ClassVar[tuple[str, ...]] = ("run",)
    corpus_field: ClassVar[str] = "run"

    run: Path = Field(
        description="Folder of a finished run, e.g. data/genia/runs/filter/250/seed-0."
    )
    folds: int = Field(
        5, ge=2, le=100, description="F: parts of L; each is judged by a predictor of the others."
    )
    smoothing: float = Field(
        5.0, gt=0, le=10_000, description="m: structures that what is expected of a cell counts as."
    )
    candidates: str | None = Field(
        None, description="The run's candidates, where they are no longer in the corpus."
    )
    out: Path | None = Field(
        None,
        description="Folder for targets.json and the folds, or confusions.json; unset: "
        "CORPUS/diagnosis/SYSTEM-L-SEED.",
    )
    cells: int = Field(5, ge=1, description="relations: confusions to print and write.")
    least_errors: int = Field(
        3, ge=1, description="relations: fewest errors of a confusion that is one of these."
    )
    threads: int = Field(
        1, ge=1, le=MOST_THREADS, description="relations: CPU threads; else the run's own."
    )
    resume: bool = Field(True, description="Go on with folds that were interrupted.")
