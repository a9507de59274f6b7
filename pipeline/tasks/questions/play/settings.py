"""Settings of ``conjoin play``."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.core.settings import OWN_USE_HELP, OnlyWith, Settings, only_for


class PlaySettings(Settings):
    """Play a card game with event pairs in a local web page: build sentences, and have them scored."""

    stage: ClassVar[str] = "play"
    arguments: ClassVar[tuple[str, ...]] = ("pairs",)
    corpus_field: ClassVar[str] = ""
    only_with: ClassVar[OnlyWith] = {
        **only_for(("level", "difficulty", "seed"), ("score", (None,))),
        **only_for(("out", "own_use"), ("deal", ())),
        "deal": [("score", (None,))],
        **only_for(("port", "open"), ("deal", (None,))),
    }

    pairs: Path = Field(description="Folder of event pairs that `conjoin pair` wrote.")
    level: Literal["easy", "medium", "hard"] | None = Field(
        None, description="How difficult the words of a card set are; unset: any words."
    )
    difficulty: Path | None = Field(
        None,
        description="CSV file: a word and its difficulty, 1 to 5; unset: frequent words are easy.",
    )
    votes: Path | None = Field(
        None,
        description="votes.parquet that `conjoin vote` wrote; only pairs with two votes count.",
    )
    score: Path | None = Field(
        None, description="Print what is said of the board in this JSON file instead."
    )
    deal: int | None = Field(None, ge=1, description="Write up to so many card sets instead.")
    out: Path | None = Field(None, description="deal: JSON file for the card sets.")
    own_use: bool = Field(False, description=f"deal: {OWN_USE_HELP}")
    seed: int = Field(0, ge=0, description="Of the draws.")
    port: int = Field(8322, ge=0, le=65535, description="Port on 127.0.0.1; 0: any free one.")
    open: bool = Field(True, description="Open the page in the web browser.")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.score is not None and self.deal is not None:
            raise ValueError("say --score or --deal")
        if self.deal is not None and self.out is None:
            raise ValueError("where the card sets go was not said: add --out")
        return self
