"""Settings of ``conjoin ask``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from pipeline.core.names import HeldOutSplits
from pipeline.core.settings import OnlyWith, SourceSettings
from pipeline.tasks.questions.ask.bands import Band


def _is_band(text: str) -> str:
    Band.read(text)
    return text


BandText = Annotated[str, AfterValidator(_is_band)]


class AskSettings(SourceSettings):
    """Make questions with four choices of event pairs."""

    stage: ClassVar[str] = "ask"
    arguments: ClassVar[tuple[str, ...]] = ("pairs",)
    table: ClassVar[str] = "questions"
    corpus_field: ClassVar[str] = ""  # it asks of pairs, and holds them against any corpus
    every_task: ClassVar[bool] = True
    only_with: ClassVar[OnlyWith] = {"least": [("votes", ())]}

    pairs: Path = Field(description="Folder of event pairs that `conjoin pair` wrote.")
    corpus: Path | None = Field(  # type: ignore[assignment] # unset it is none: "." is a corpus, too
        None,
        description="Corpus folder with the held-out questions of --apart; unset: the one around PAIRS.",
    )
    condition: Literal["basic", "reliable"] = Field(
        "basic",
        description="Which pairs; basic: both events have a core event; reliable: all of them.",
    )
    votes: Path | None = Field(
        None, description="votes.parquet that `conjoin vote` wrote; unset: nobody was asked."
    )
    least: int = Field(2, ge=1, description="votes: how many a pair must have.")
    apart: HeldOutSplits = Field(
        [],
        description="Held-out splits of --corpus, e.g. dev,test: no pair that says what one of their "
        "questions says, its words in their order or its core events.",
    )
    choice_band: BandText = Field(
        "0.4-0.6",
        description="Between which cosines to the answer a distractor lies; 0.4- has no upper bound.",
    )
    context_band: BandText = Field(
        "0.5-0.7", description="Between which cosines to the context a distractor's own one lies."
    )
    length_band: BandText = Field(
        "0.5-2", description="Between which shares of the answer's words a distractor has words."
    )
    bands: Literal["cosine", "quantile"] = Field(
        "cosine",
        description="What the bounds of both cosines are; quantile: shares of random pairs' cosines below "
        "them, for other vectors than the thesis's have another scale.",
    )
    reuse: int | None = Field(
        None, ge=1, description="How often a clause may be a distractor; unset: without limit."
    )
    seed: int = Field(0, ge=0, description="Of distractors, and of the places of answers.")
    unit: int = Field(2048, ge=1, description="Pairs per work unit; one unit is one shard.")
    out: Path | None = Field(
        None,
        description="Folder for the shards; unset: candidates/asked/seed-SEED in the corpus around PAIRS.",
    )

    @classmethod
    def _of_entry(cls, entry: dict[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
        """Which pairs it asks of, by name, is the experiment's; commands name the folder."""
        del explicit
        return {key: value for key, value in entry.items() if key != "of"}

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.bands == "quantile":
            for text in (self.choice_band, self.context_band):
                if any(not 0 <= bound <= 1 for bound in Band.read(text).bounds):
                    raise ValueError(f"quantiles lie between 0 and 1, and {text} does not")
        return self
