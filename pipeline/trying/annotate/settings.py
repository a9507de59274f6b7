"""Settings of ``conjoin annotate``."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.core.settings import OnlyWith, Settings
from pipeline.core.types import SPLITS


class AnnotateSettings(Settings):
    """Annotate the coordinations of a corpus in a local web page."""

    stage: ClassVar[str] = "annotate"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    every_task: ClassVar[bool] = False
    only_with: ClassVar[OnlyWith] = {"among": [("by", ("disagreement",))]}

    corpus: Path = Field(description="Corpus folder that `conjoin ingest` wrote.")
    size: int = Field(100, ge=1, description="Sentences to annotate in all.")
    out: Path | None = Field(
        None,
        description="File for the decisions, a line each, that is gone on with where it is there; unset: "
        "annotated.jsonl in the corpus folder. It has no text.",
    )
    by: Literal["random", "disagreement"] = Field(
        "random",
        description="How sentences are chosen; disagreement: first those of which predictor and parser say "
        "different boundaries, the surest first.",
    )
    predictor: Path | None = Field(
        None, description="Folder of a trained predictor, which proposes structures."
    )
    parser: Path | None = Field(
        None, description="A parser to ask as well: the folder of one, or of a corpus that has one."
    )
    among: int = Field(
        1000, ge=1, description="disagreement: sentences drawn at random that both read."
    )
    split: str = Field("train", description=f"Of which split: {', '.join(SPLITS)}.")
    seed: int = Field(0, ge=0, description="Of the draw.")
    port: int = Field(8323, ge=0, le=65535, description="Port on 127.0.0.1; 0: any free one.")
    open: bool = Field(True, description="Open the page in the web browser.")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, was {self.split[:40]!r}")
        if self.parser is not None and self.predictor is None:
            raise ValueError("a parser is asked beside a predictor: add --predictor")
        if self.by == "disagreement" and self.parser is None:
            raise ValueError("disagreement is that of a predictor and a parser: add --parser")
        return self
