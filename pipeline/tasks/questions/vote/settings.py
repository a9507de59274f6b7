"""Settings of ``conjoin vote``."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, model_validator

from pipeline.core.settings import OWN_USE_HELP, OnlyWith, Settings, only_for


class VoteSettings(Settings):
    """Have people vote on event pairs: write sheets, and read them when they are filled."""

    stage: ClassVar[str] = "vote"
    arguments: ClassVar[tuple[str, ...]] = ("pairs",)
    corpus_field: ClassVar[str] = ""
    only_with: ClassVar[OnlyWith] = {
        "checks": [("sheets", ()), ("read", ())],
        **only_for(
            ("size", "checks_per_sheet", "workers", "seed"), ("sheets", ()), ("oracle", (True,))
        ),
        "own_use": [("sheets", ())],
        "error": [("oracle", (True,))],
        "out": [("read", ()), ("oracle", (True,))],
    }

    pairs: Path = Field(description="Folder of event pairs that `conjoin pair` wrote.")
    sheets: Path | None = Field(
        None,
        description="New folder for CSV sheets, one folder in it for each worker, who writes yes or no into "
        "the column answer: is the former event a cause or reason of the latter?",
    )
    read: Path | None = Field(
        None, description="The folder of the filled sheets, whose votes are counted."
    )
    oracle: bool = Field(
        False, description="The embedded world votes, with --error, instead of people."
    )
    checks: Path | None = Field(
        None,
        description="CSV file former,latter,answer of pairs whose answer (yes or no) is known: a sheet with "
        "a wrong one does not count.",
    )
    size: int = Field(17, ge=2, description="Pairs of a sheet, with the checks.")
    checks_per_sheet: int = Field(2, ge=1, description="How many of them are checks.")
    workers: int = Field(4, ge=1, description="How many are asked of each pair.")
    error: float = Field(0.1, ge=0, le=1, description="oracle: share of wrong answers.")
    seed: int = Field(0, ge=0, description="Of the order on a sheet, and of the oracle's errors.")
    out: Path | None = Field(
        None, description="File for the votes; unset: PAIRS-votes.parquet, beside PAIRS."
    )
    own_use: bool = Field(False, description=f"sheets: {OWN_USE_HELP}")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if (self.sheets is not None) + (self.read is not None) + self.oracle != 1:
            raise ValueError("say one of --sheets, --read and --oracle")
        if not self.oracle and self.checks is None:
            raise ValueError("which answers are known was not said: add --checks")
        if self.checks_per_sheet >= self.size:
            raise ValueError("checks_per_sheet: a sheet needs room for other pairs, too")
        return self
