"""Settings of ``conjoin export``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pipeline.core.settings import (
    OWN_USE_HELP,
    TREES_OF_HELP,
    DrawSize,
    OnlyWith,
    TreesName,
    TreesOf,
    only_for,
)
from pipeline.sharing.place import PlaceSettings


class ExportSettings(PlaceSettings):
    """Write a corpus, or a treebank that was ingested, for other tools: brackets, CoNLL-U, spaCy and more."""

    stage: ClassVar[str] = "export"
    every_task: ClassVar[bool] = False
    only_with: ClassVar[OnlyWith] = {
        "seed": [("labelled", ())],
        **only_for(("trees", "trees_of"), ("format", ("ptb",))),
        "corpus": [("format", ("ptb", "conllu", "spacy"))],
    }

    place: Path = Field(
        description="Folder of candidates, release, or a Parquet file of either; or a corpus folder, whose "
        "sentences are written with their gold coordinations and trees."
    )
    format: Literal["ptb", "ptb-ext", "conllu", "bioes", "spacy", "brat", "jsonl"] = Field(
        description="What to write. ptb: a tree with tags a line; ptb-ext: flat, only coordinations; "
        "conllu: a word a line, coordinations in MISC, heads if the corpus has them; bioes: a word and its "
        "label a line; spacy: a DocBin; brat: stand-off files; jsonl: an object a line."
    )
    out: Path = Field(
        description="File to write, for brat a folder; '-' writes text formats to standard output."
    )
    overwrite: bool = Field(
        False, description="Replace what stands there if it begins as an export does."
    )
    own_use: bool = Field(False, description=OWN_USE_HELP)
    limit: int | None = Field(
        None, ge=1, description="Only the first so many candidates or sentences."
    )
    split: Literal["train", "dev", "test", "test2"] | None = Field(
        None, description="corpus folder: only the sentences of this split."
    )
    labelled: DrawSize | None = Field(
        None,
        description="corpus folder: only the labelled sentences of this draw of L, N or full; trees: the "
        "draw that they go with.",
    )
    seed: int = Field(0, ge=0, description="labelled: seed of the draw.")
    trees_of: TreesOf = Field("best", description=f"ptb of candidates: {TREES_OF_HELP}")
    trees: TreesName | None = Field(
        None,
        description="ptb of candidates: the parser's trees that `preparse --name` gave this name, of the "
        "draw --labelled and --seed; unset: those that the candidates were made of.",
    )
    corpus: Path | None = Field(
        None,
        description="ptb, conllu, spacy of candidates: corpus folder they were made from; unset: the nearest "
        "at or above PLACE.",
    )
