"""Settings of ``conjoin release`` and ``conjoin rehydrate``."""

import re
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from pipeline.core.settings import TREES_OF_HELP, OnlyWith, Settings, TreesOf
from pipeline.core.words import is_without_control
from pipeline.corpus.licences import LONGEST


class ReleaseSettings(Settings):
    """Make a dataset repository of candidates, or a model repository of a run: card, checksums, licences."""

    stage: ClassVar[str] = "release"
    place_fields: ClassVar[tuple[str, ...]] = ("candidates", "corpus")
    arguments: ClassVar[tuple[str, ...]] = ("candidates",)
    table: ClassVar[str] = "releases"
    only_with: ClassVar[OnlyWith] = {"trees_of": [("trees", (True,))]}

    candidates: Path = Field(
        description="Folder of candidates, e.g. data/genia/candidates/t5-sync/seed-0; or of a finished run, "
        "whose predictor is released."
    )
    out: Path = Field(description="Folder of the release; one that stands there is replaced.")
    corpus: Path | None = Field(
        None,
        description="Corpus folder the candidates were made from; unset: the nearest folder above "
        "CANDIDATES that has a sentences.parquet.",
    )
    stand_off: bool = Field(
        False,
        description="Leave out the source's sentences: ids, offsets and generated text, from which "
        "`conjoin rehydrate` rebuilds the corpus for whoever has the source.",
    )
    trees: bool = Field(
        False,
        description="Add the columns `tree`, a bracketing with tags whose leaves are the words, and "
        "`tree_from` (treebank or parser) to the usable candidates.",
    )
    trees_of: TreesOf = Field("best", description=f"trees: {TREES_OF_HELP}")
    license: str | None = Field(
        None,
        max_length=LONGEST,
        description="Licence of the source (an SPDX expression) where its rows say unknown; of a predictor's "
        "weights, where what they learned from has none that permits to hand them on.",
    )
    shards: int | None = Field(
        None,
        ge=1,
        description="Files of usable candidates; unset: one for every 200,000 rows begun.",
    )
    seed: int = Field(0, ge=0, description="Seed of the order of the rows.")
    name: str | None = Field(
        None, description="Name of the corpus; unset: conjoin, the source's and the generator's."
    )
    version: str = Field("1.0.0", description="Version of the corpus, MAJOR.MINOR.PATCH.")
    author: list[str] = Field([], description="Whom to cite for the corpus.")
    url: str | None = Field(None, description="Where the corpus can be had, for card and citation.")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.trees and self.stand_off:
            raise ValueError(
                "a tree holds the source's words, which --stand-off leaves out; leave one of the two out"
            )
        return self

    @field_validator("name", "author")
    @classmethod
    def _can_be_printed(cls, given: str | list[str] | None) -> str | list[str] | None:
        for each in given if isinstance(given, list) else [given or "a name"]:
            if not (each.strip() and is_without_control(each)):
                raise ValueError("must have words, and no control character: cards show it")
        return given

    @field_validator("version")
    @classmethod
    def _is_version(cls, version: str) -> str:
        if not re.fullmatch(r"\d+\.\d+\.\d+", version, re.ASCII):
            raise ValueError("must be MAJOR.MINOR.PATCH, such as 1.0.0")
        return version

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        if url is not None and not re.fullmatch(r"https?://[^\s/]+\.[^\s/]+(/\S*)?", url):
            raise ValueError("must be an address on the web, beginning with https://")
        return url
