"""Settings of ``conjoin pair``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import SourceSettings

TREEBANK = "treebank"
"""In place of a parser: the trees that the sentences have."""


class PairSettings(SourceSettings):
    """Take pairs of events from text that a causal or conditional connective joins."""

    stage: ClassVar[str] = "pair"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    table: ClassVar[str] = "pairs"
    every_task: ClassVar[bool] = True

    parser: str = Field(
        TREEBANK,
        min_length=1,
        description="Whose trees; treebank: those that the corpus has; else a folder, of a corpus or of a "
        "parser, whose parser reads the sentences.",
    )
    predicates: int = Field(
        5000, ge=1, description="α: the most frequent predicates have core events."
    )
    slots: float = Field(
        50, gt=0, le=100, description="γ: per cent of a predicate's arguments in its core slots."
    )
    fillers: float = Field(
        50, gt=0, le=100, description="δ: per cent of a slot's fillers that are core fillers."
    )
    most: float = Field(
        0.5,
        gt=0,
        le=100,
        description="Leave out pairs with a core event that more than so many per cent of the basic pairs' "
        "events have.",
    )
    limit: int | None = Field(
        None, ge=1, description="Read only the first so many sentences with a connective."
    )
    unit: int = Field(1024, ge=1, description="Sentences per work unit; one unit is one shard.")
    out: Path | None = Field(
        None,
        description="Folder for the shards; unset: CORPUS/pairs/treebank, or CORPUS/pairs/FOLDER.",
    )
