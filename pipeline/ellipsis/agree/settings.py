"""Settings of ``conjoin agree``."""

import re
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from pipeline.core.settings import OnlyWith, Settings
from pipeline.text.unpacking import Size


class AgreeSettings(Settings):
    """Keep sentences whose trees two parsers agree on, drawn like a treebank."""

    stage: ClassVar[str] = "agree"
    arguments: ClassVar[tuple[str, ...]] = ("one", "other")
    corpus_field: ClassVar[str] = ""
    only_with: ClassVar[OnlyWith] = {"seed": [("like", ())]}

    one: Path = Field(
        description="A parser's CoNLL-U, also packed; what is kept is written as it is here."
    )
    other: Path = Field(description="Another parser's, of the same sentences.")
    out: Path = Field(description="Folder for what is kept; it must not hold anything.")
    tags: Literal["upos", "xpos", "both", "none"] = Field(
        "upos", description="Which tags must be the same, beside heads and relations."
    )
    orphans: bool = Field(False, description="Only sentences with an orphan.")
    apart: list[Path] = Field(
        [], description="CoNLL-U with held-out sentences: none that has one's words is kept."
    )
    like: Path | None = Field(
        None,
        description="Treebank to be like, in CoNLL-U: what is drawn is spread over lengths and complexities "
        "as its sentences are, and none of its sentences is kept.",
    )
    size: str | None = Field(
        None,
        description="like: sentences wanted, or their share of the treebank's, as 20% or 200%; unset: 100%.",
    )
    sample: Literal["identical", "random-sentences", "random-tokens"] = Field(
        "identical",
        description="like: what is drawn; identical: like the treebank; random-sentences: as many sentences "
        "as that, random-tokens: as many words (controls).",
    )
    seed: int = Field(0, ge=0, description="Seed of what is drawn.")
    largest_unpacked: Size = Field(
        "16GiB", description="Refuse packed files that unpack to more: 512MiB, 16GiB."
    )

    @field_validator("size", mode="before")
    @classmethod
    def _is_size(cls, value: Any) -> Any:
        text = value if value is None else str(value)
        if text is not None and not re.fullmatch(
            r"[1-9]\d{0,8}|[1-9]\d{0,3}(\.\d{1,6})?%|0\.\d{1,6}%", text, re.ASCII
        ):
            raise ValueError("must be a number such as 5000, or a share such as 20% or 200%")
        return text

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        drawn = self.size is not None or self.sample != "identical"
        if drawn and self.like is None:
            raise ValueError(
                "size and sample need the treebank that is to be like: name it with --like"
            )
        return self
