"""Settings of ``conjoin preparse``."""

from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from pipeline.core.corpus_folder import tree_set
from pipeline.core.settings import MOST_PROCESSES, DrawSize, OnlyWith, TreesName
from pipeline.parsing.settings import ParserSettings

LABELLED, TRAIN = "labelled", "train"
"""Parsers that are trained here: on trees of L, and on the treebank's trees outside U."""

_LABELLED_EPOCHS = 30  # over L's few trees; beside more trees the usual number will do


class PreparseSettings(ParserSettings):
    """Parse the unlabelled sentences U into constituency trees."""

    stage: ClassVar[str] = "preparse"
    every_task: ClassVar[bool] = False
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    only_with: ClassVar[OnlyWith] = {
        **ParserSettings.only_with,
        "parser_trees": [("parser", ("train",))],
    }

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    parser: str = Field(
        "train",
        description="'train': train a stanza parser on this treebank's trees outside U; 'labelled': on those "
        "of L; 'treebank': take the gold trees; else another corpus's folder, for the parser trained there, "
        "a stanza package (ptb3-revised_charlm) or a .pt file.",
    )
    name: TreesName | None = Field(
        None,
        description="Name of these trees and their parser, beside which others stand: "
        "CORPUS/trees/NAME/LABELLED/seed-SEED, and parsers/ likewise.",
    )
    labelled: DrawSize | None = Field(
        None,
        description="name: the draw of L that they go with, a number or 'full'; 'train' leaves its labelled "
        "and validation sentences out.",
    )
    more_trees: int = Field(
        0,
        ge=0,
        description="labelled: so many trees outside the draw and U to learn from as well; of more, so many "
        "are drawn.",
    )
    also: Path | None = Field(
        None,
        description="labelled: candidates of `conjoin harvest`, or selected from them, from whose sentences, "
        "as --teacher reads them, it learns as well; half of what it sees are gold trees.",
    )
    teacher: TreesName | None = Field(
        None, description="also: the name of the parser that reads them, of the same draw."
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
        0,
        ge=0,
        description="Seed of parser training, of the draw of coordinated sentences, and of that of L.",
    )
    unit: int = Field(1024, ge=1, description="Sentences per work unit; one unit is one shard.")
    processes: int = Field(
        1, ge=1, le=MOST_PROCESSES, description="Worker processes, started by accelerate launch."
    )

    @model_validator(mode="before")
    @classmethod
    def _epochs(cls, given: Any) -> Any:
        if (
            isinstance(given, dict)
            and given.get("parser") == LABELLED
            and not given.get("more_trees")
        ):
            return {"parser_epochs": _LABELLED_EPOCHS, **given}
        return given

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.name is not None and self.labelled is None:
            raise ValueError("trees with a name go with a draw of L: name it with --labelled")
        if self.name is None and self.parser == LABELLED:
            raise ValueError("trees of a parser of L have a name: say --name, such as l-trees")
        if self.name is None and self.labelled is not None:
            raise ValueError(
                "labelled is for trees with a name: say --name, or leave --labelled out"
            )
        if self.more_trees and self.parser != LABELLED:
            raise ValueError("more-trees stand beside those of L: say --parser labelled")
        if (self.also is None) != (self.teacher is None):
            raise ValueError("also and teacher go together: whose sentences, and who reads them")
        if self.also is not None and (self.parser != LABELLED or self.teacher == self.name):
            raise ValueError(
                "also is for a parser of L's trees with a name of its own: say --parser labelled, and "
                "another --name than the teacher's"
            )
        if self.also is not None and self.tags != "none":
            raise ValueError(
                "a parser that reads the treebank's tags cannot learn from another: leave --tags"
            )
        if self.parser_lm is not None and self.parser not in (TRAIN, LABELLED):
            raise ValueError(
                "parser-lm is read by a parser that is trained: say --parser train or labelled"
            )
        return self

    @property
    def named(self) -> str | None:
        """What these trees are called in the corpus; None: they have no name."""
        if self.name is None or self.labelled is None:
            return None
        return tree_set(self.name, self.labelled, self.seed)
