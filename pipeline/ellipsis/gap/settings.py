"""Settings of ``conjoin gap``."""

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from pipeline.core.names import by_commas, nearest
from pipeline.core.settings import (
    Settings,
)
from pipeline.corpus.licences import LONGEST, canonical, is_expression
from pipeline.text.unpacking import Size

GAP_KINDS = ("gapping", "reduction")
"""Of ellipsis that ``gap`` makes."""


class GapSettings(Settings):
    """Make artificial ellipsis: leave out coordinated verbs of a treebank in CoNLL-U."""

    stage: ClassVar[str] = "gap"
    arguments: ClassVar[tuple[str, ...]] = ("source",)
    corpus_field: ClassVar[str] = ""

    source: Path = Field(
        description="Treebank of Universal Dependencies: a .conllu file, also packed by gzip or xz, or a "
        "folder of such."
    )
    out: Path = Field(description="Folder for what is made; it must not hold anything.")
    kinds: list[str] = Field(
        list(GAP_KINDS),
        min_length=1,
        description="Of ellipsis, separated by commas; gapping: both verbs have a subject of their own; "
        "reduction: the second has none.",
    )
    tier: int | None = Field(
        None,
        ge=1,
        le=2,
        description="Only 1: the verb is left out that is said already; or 2: another one.",
    )
    parallel: bool = Field(
        False, description="Only where each dependent that stays has a like one at the first verb."
    )
    contrast: bool = Field(False, description="Only where no personal pronoun stays as object.")
    license: str | None = Field(
        None,
        max_length=LONGEST,
        min_length=1,
        description="SPDX licence of the treebank; unset: as its files' names tell (en_ewt-ud: "
        "CC-BY-SA-4.0), else unknown.",
    )
    largest_unpacked: Size = Field(
        "4GiB", description="Refuse packed files that unpack to more: 512MiB, 4GiB."
    )

    @field_validator("kinds", mode="before")
    @classmethod
    def _split_up(cls, value: Any) -> Any:
        return by_commas(value)

    @field_validator("kinds")
    @classmethod
    def _are_kinds(cls, value: list[str]) -> list[str]:
        for each in value:
            if each not in GAP_KINDS:
                like = nearest(each, GAP_KINDS)
                raise ValueError(
                    f"{each!r} is none{like and f', {like}'}; kinds: {', '.join(GAP_KINDS)}"
                )
        return list(dict.fromkeys(value))

    @field_validator("license")
    @classmethod
    def _is_expression(cls, value: str | None) -> str | None:
        if value is not None and not is_expression(value):
            raise ValueError("no SPDX expression of licences, such as CC-BY-SA-4.0")
        return value and canonical(value)
