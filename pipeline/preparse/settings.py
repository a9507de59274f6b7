"""Settings of ``conjoin preparse``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import MOST_PROCESSES, ParserSettings


class Preparse(ParserSettings):
    """Parse the unlabelled sentences U into constituency trees."""

    stage: ClassVar[str] = "preparse"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    parser: str = Field(
        "train",
        description="'train': train a stanza parser on this treebank's trees outside U; 'treebank': "
        "take the gold trees; else another corpus's folder, for the parser trained there, a stanza package "
        "(ptb3-revised_charlm) or a .pt file.",
    )
    min_words: int = Field(10, ge=1, description="Shortest sentence in U (§5.1, footnote 3).")
    parser_trees: int = Field(1000, ge=1, description="train: trees to learn from.")
    limit: int | None = Field(None, ge=1, description="Parse only the first so many of U.")
    coordinated: int = Field(
        0,
        ge=0,
        description="Training sentences outside U with a coordinator to parse as well, for "
        "`pretrain --objective twins`; of more, so many are drawn.",
    )
    seed: int = Field(
        0, ge=0, description="Seed of parser training and of the draw of coordinated sentences."
    )
    unit: int = Field(1024, ge=1, description="Sentences per work unit; one unit is one shard.")
    processes: int = Field(
        1, ge=1, le=MOST_PROCESSES, description="Worker processes, started by accelerate launch."
    )
