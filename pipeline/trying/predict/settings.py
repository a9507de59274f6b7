"""Settings of ``conjoin predict``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from pipeline.core.runs import USUAL_TAU
from pipeline.core.settings import OnlyWith, Settings
from pipeline.core.types import COORDINATORS
from pipeline.text.unpacking import Size


class PredictSettings(Settings):
    """Predict coordination boundaries of sentences with a trained predictor."""

    stage: ClassVar[str] = "predict"
    arguments: ClassVar[tuple[str, ...]] = ("predictor", "text")
    only_with: ClassVar[OnlyWith] = {"tau": [("parser", ())]}

    predictor: Path = Field(
        description="Folder of a trained predictor, RUN/predictor, or one of the hub, OWNER/NAME@REVISION."
    )
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
        "sentence; conllu: the input with Coord, CoordConjuncts and CoordProb in MISC.",
    )
    n_best: int = Field(1, ge=1, description="Most probable structures shown per coordinator.")
    parser: Path | None = Field(
        None,
        description="A parser to ask as well: the folder of one, or of a corpus that has one (data/world).",
    )
    tau: float = Field(
        USUAL_TAU,
        ge=0,
        description="The parser's structure stands unless the predictor's probability of it is below so many "
        "times that of its best.",
    )
    coordinators: list[str] = Field(
        sorted(COORDINATORS),
        min_length=1,
        description="Word that counts as coordinator, in any case, instead of these.",
    )
    batch_tokens: int = Field(
        2048, ge=1, description="Subwords encoded together, padding included."
    )
    largest_unpacked: Size = Field(
        "16GiB", description="Refuse packed input that unpacks to more: 16GiB, 1TiB."
    )

    @field_validator("coordinators")
    @classmethod
    def _are_words(cls, words: list[str]) -> list[str]:
        for word in words:
            if len(word.split()) != 1:
                raise ValueError(f"a coordinator is one word, was {word!r}")
        return words
