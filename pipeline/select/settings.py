"""Settings of ``conjoin select``."""

import re
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from pipeline.core.settings import Settings

DELTA = 0.7
"""δ of the paper's filter (Algorithm 1, line 8)."""

_WORDS = re.compile(r"(\d{0,9})-(\d{0,9})|\d{1,9}", re.ASCII)


class Select(Settings):
    """Choose candidates by score, length, label, licence, a predictor or a condition."""

    stage: ClassVar[str] = "select"
    arguments: ClassVar[tuple[str, ...]] = ("places",)
    corpus_field: ClassVar[str] = (
        ""  # it may choose from several corpora, and has no section for each
    )

    places: list[Path] = Field(
        description="Folders of candidates or releases, or Parquet files of these; of equal rows the "
        "first counts."
    )
    out: Path = Field(description="Folder for what is chosen; it must not hold another.")
    label: list[str] = Field(
        [], description="Only these labels, e.g. NP,VP; separated by commas, or repeatable."
    )
    words: str | None = Field(
        None, description="Words of the fill, e.g. 2-8; 2- has no upper bound, 3 is 3-3."
    )
    min_score: float | None = Field(None, description="Only with at least this score.")
    max_score: float | None = Field(None, description="Only with at most this score.")
    license: list[str] = Field(
        [],
        description="Only rows that these licences permit (of A AND B both must be among them, of A OR "
        "B one), e.g. CC-BY-4.0,CC-BY-SA-3.0; what a licence keeps out is in no file of the result.",
    )
    where: str | None = Field(
        None,
        description="Only rows for which this condition of SQL (DuckDB's) on the columns holds, e.g. "
        "\"score > -1 AND label = 'NP'\".",
    )
    predictor: Path | None = Field(
        None,
        description="Folder of a trained predictor: only rows whose boundary has at least the "
        "probability --delta.",
    )
    delta: float | None = Field(
        None, ge=0, le=1, description=f"predictor: the least probability; unset: {DELTA}."
    )
    limit: int | None = Field(
        None, ge=1, description="Only the first so many of those that all else lets pass."
    )

    @field_validator("label", "license", mode="before")
    @classmethod
    def _apart(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        apart = [[part.strip() for part in str(each).split(",")] for each in value]
        if not all(map(any, apart)):  # an empty list would ask for nothing
            raise ValueError("names nothing; leave it out, or name one or more")
        return [part for parts in apart for part in parts if part]

    @field_validator("words")
    @classmethod
    def _is_range(cls, value: str | None) -> str | None:
        if value is not None:
            low, high = bounds(value)
            if low is not None and high is not None and low > high:
                raise ValueError("the first number must not be above the second")
        return value


def bounds(words: str) -> tuple[int | None, int | None]:
    """The least and the greatest number of words, both included, that a text such as 2-8 stands for.

    Raises:
        ValueError: it is no such text.
    """
    found = _WORDS.fullmatch(words)
    if found is None or words == "-":
        raise ValueError("must be a range of numbers such as 2-8, 2-, -8 or 3")
    if "-" not in words:
        return int(words), int(words)
    low, high = found.groups()
    return int(low) if low else None, int(high) if high else None
