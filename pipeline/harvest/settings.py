"""Settings of ``conjoin harvest``."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.core.corpus_folder import tree_set
from pipeline.core.settings import (
    ConjunctSettings,
    DrawSize,
    OnlyWith,
    SourceSettings,
    TreesName,
    only_for,
)
from pipeline.parsing.settings import ParserSettings

TREEBANK = "treebank"
"""In place of a parser: the trees that came with the text."""


class HarvestSettings(SourceSettings, ParserSettings, ConjunctSettings):
    """Take coordinations that a parser finds in training text as candidates."""

    stage: ClassVar[str] = "harvest"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    table: ClassVar[str] = "harvests"
    only_with: ClassVar[OnlyWith] = {
        **only_for(ParserSettings.only_with, ("parser", ("labelled",))),
        **{name: ParserSettings.only_with[name] for name in ("parser_lm_rate", "mixed_precision")},
        "parser_patience": [("parser", ("labelled",))],
        "batch_size": [("parser", ("corpus", "labelled"))],
    }

    labelled: DrawSize = Field(
        "250",
        description="|L|: the draw whose labelled and validation sentences are left out, a number or "
        "'full'.",
    )
    parser: Literal["corpus", "labelled", "treebank"] = Field(
        "corpus",
        description="Whose trees; corpus: those of the parser of `conjoin preparse`, without the "
        "sentences that it learned from; labelled: those of a parser trained on L's own trees; treebank: "
        "those that text came with (`ingest --unlabelled parsed.conllu`), of that text alone.",
    )
    trees: TreesName | None = Field(
        None,
        description="Take the parser of the trees that `conjoin preparse --name` gave this name, of the draw "
        "--labelled and the seed.",
    )
    seed: int = Field(0, ge=0, description="Which draw, and the seed of parser training.")
    tags: Literal["none", "treebank"] = Field(
        "none",
        description="labelled: whether the parser sees the treebank's part-of-speech tags, of the "
        "harvested sentences too.",
    )
    parser_epochs: int = Field(30, ge=1, description="labelled: passes over the trees.")
    parser_patience: int = Field(
        5,
        ge=0,
        description="labelled: it ends after so many epochs that are no better than the best, by F1 on L's "
        "validation trees; 0: it has them all.",
    )
    parser_hidden: int = Field(64, ge=8, le=65_536, description="labelled: hidden size.")
    parser_lm: str | None = Field(
        None,
        min_length=1,
        description="labelled: encoder whose layers the parser reads; bert: CORPUS/models/bert; a folder in "
        "the corpus, any folder, or a hub name; unset: it learns words from L's trees alone.",
    )
    limit: int | None = Field(
        None, ge=1, description="Harvest only the first so many sentences with a coordinator."
    )
    unit: int = Field(1024, ge=1, description="Sentences per work unit; one unit is one shard.")
    out: Path | None = Field(
        None,
        description="Folder for the shards; unset: CORPUS/candidates/harvest-LABELLED/seed-SEED, or "
        "harvest-labelled-LABELLED[-tagged][-LM]/seed-SEED, or harvest-TREES-LABELLED/seed-SEED.",
    )

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.trees is not None and self.parser != "corpus":
            raise ValueError("trees have a parser of their own: leave --parser or --trees out")
        if self.parser != "labelled" and self.parser_lm is not None:
            raise ValueError("parser-lm is read by a parser of L's trees: say --parser labelled")
        if self.parser != "labelled" and self.tags != "none":
            raise ValueError("tags are for a parser of L's trees: say --parser labelled")
        return self

    @property
    def named(self) -> str | None:
        """What the trees are called whose parser is taken; None: it has no such name."""
        return None if self.trees is None else tree_set(self.trees, self.labelled, self.seed)
