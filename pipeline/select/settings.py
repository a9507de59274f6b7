"""Settings of ``conjoin select``."""

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from pipeline.core.names import HeldOutSplits, among, by_commas
from pipeline.core.settings import OWN_USE_HELP, Label, OnlyWith, Settings, only_for

DELTA = 0.7
"""δ of the paper's filter (Algorithm 1, line 8)."""

NO_SCORE = "no score"
"""Why a row is left out that lacks the score it is asked for, or has one that is no number."""

BY = ("label", "length", "coordinator", "arity", "score")
"""What ``by`` may name: what strata are made by, and what the best are chosen by."""

NO_SPLITS = "corpus needs the splits to keep apart from: say --apart dev,test"
"""What is wrong with a corpus that nothing is to be held against."""

_PATHS = ("places", "out", "predictor", "agree", "corpus", "like")

_SHARE = re.compile(r"\d{1,3}(\.\d{1,6})?%", re.ASCII)
_COUNT = re.compile(r"\d{1,9}", re.ASCII)
_WORDS = re.compile(r"(\d{0,9})-(\d{0,9})|\d{1,9}", re.ASCII)


_CONDITIONS = (
    "label", "words", "min_score", "max_score", "license", "where", "predictor", "agree", "apart",
)  # fmt: skip
"""Options that leave rows out for what they are, of which ``whole_sentences`` asks every row."""


class SelectSettings(Settings):
    """Choose candidates by label, length, score, licence, predictors, likeness to L or a condition."""

    stage: ClassVar[str] = "select"
    every_task: ClassVar[bool] = False
    place_fields: ClassVar[tuple[str, ...]] = ("places",)
    arguments: ClassVar[tuple[str, ...]] = ("places",)
    table: ClassVar[str] = "selections"
    only_with: ClassVar[OnlyWith] = {
        **only_for(("delta", "relative"), ("predictor", ())),
        "whole_sentences": [(name, ()) for name in _CONDITIONS],
    }
    corpus_field: ClassVar[str] = (
        ""  # it may choose from several corpora, and has no section for each
    )

    places: list[Path] = Field(
        description="Folders of candidates or releases, or Parquet files of these; of equal rows the "
        "first counts."
    )
    out: Path = Field(description="Folder for what is chosen; it must not hold another.")
    own_use: bool = Field(False, description=f"out, outside their corpus folder: {OWN_USE_HELP}")
    label: list[Label] = Field(
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
        "probability --delta, or the share --relative of its best boundary's.",
    )
    delta: float | None = Field(
        None,
        ge=0,
        le=1,
        description=f"predictor: the least probability; unset: {DELTA}, or with --relative any.",
    )
    relative: float | None = Field(
        None,
        gt=0,
        le=1,
        description="predictor: the least probability over that of its best boundary of the same "
        "coordinator, e.g. 0.001.",
    )
    agree: list[Path] = Field(
        [],
        description="Folder of a trained predictor: only rows whose boundary is the best by its own "
        "account; of several, by that of all.",
    )
    apart: HeldOutSplits = Field(
        [],
        description="Held-out splits of --corpus, e.g. dev,test: no row that says what one of their "
        "sentences says: its words in their order, or its conjuncts' heads and label.",
    )
    whole_sentences: bool = Field(
        False,
        description="Only rows of sentences all of whose rows pass what the options above ask.",
    )
    corpus: Path | None = Field(
        None,
        description="apart: the corpus folder; unset: the one around the first folder of rows.",
    )
    like: Path | None = Field(
        None,
        description="A draw of L, CORPUS/draws/seed-S/N.json: rows are drawn by strata, in the "
        "proportions of its coordinations; with --sample it is only compared with.",
    )
    by: list[str] = Field(
        [],
        description=f"What --like's strata are made by, of {', '.join(BY[:-1])}; unset: label,length. "
        "score: what --top goes by.",
    )
    size: str | None = Field(
        None,
        description="like, sample: rows wanted, or their share, as 20%; random-tokens: words.",
    )
    sample: Literal["random-sentences", "random-tokens"] | None = Field(
        None, description="Draw --size rows, or rows of --size words, whatever they are (controls)."
    )
    top: str | None = Field(
        None,
        description="Only this share of each label and length, those with the highest score, e.g. "
        "20%; with --by score.",
    )
    seed: int = Field(0, ge=0, description="Seed of what is drawn; in a path {seed} stands for it.")
    limit: int | None = Field(
        None, ge=1, description="Only the first so many of those that all else lets pass."
    )

    @classmethod
    def _of_entry(cls, entry: dict[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
        """What it chooses from, by name, is the experiment's; commands name the folders."""
        del explicit
        return {key: value for key, value in entry.items() if key != "of"}

    @model_validator(mode="before")
    @classmethod
    def _put_in_the_seed(cls, given: Any) -> Any:
        """``{seed}`` in a path is the seed, so that one line chooses for every seed of a grid."""
        if not isinstance(given, dict):
            return given
        seed = str(given.get("seed", cls.model_fields["seed"].default))

        def put(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [put(each) for each in value]
            named = isinstance(value, str | Path) and "{seed}" in str(value)
            return str(value).replace("{seed}", seed) if named else value

        return given | {name: put(given[name]) for name in _PATHS if name in given}

    @field_validator("label", "license", "by", mode="before")
    @classmethod
    def _split_up(cls, value: Any) -> Any:
        return by_commas(value)

    @field_validator("by")
    @classmethod
    def _are_known(cls, value: list[str]) -> list[str]:
        return among(value, BY, "what rows are drawn by")

    @field_validator("size", mode="before")
    @classmethod
    def _is_size(cls, value: Any) -> Any:
        text = value if value is None else str(value)
        if text is not None and not (_COUNT.fullmatch(text) and int(text)):
            _require_share(text, "a number such as 5000, or a share such as 20%")
        return text

    @field_validator("top")
    @classmethod
    def _is_share(cls, value: str | None) -> str | None:
        if value is not None:
            _require_share(value, "a share such as 20%")
        return value

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        drawn = self.like is not None or self.sample is not None
        for wrong, what in (
            (drawn and self.size is None, "like and sample need a size: say --size 5000 or 20%"),
            (self.size is not None and not drawn,
             "size needs --like or --sample; the first so many are --limit's"),
            (self.top is not None and "score" not in self.by, "top needs what it goes by: --by score"),
            ("score" in self.by and self.top is None, "by score needs a share: say --top 20%"),
            (self.top is not None and self.like is None and set(self.by) - {"score"},
             "top is within label and length in any case: say --by score alone"),
            (self.like is None and set(self.by) - {"score"},
             f"by {', '.join(self.by)} needs the draw that is to be like: name it with --like"),
            (drawn and self.limit is not None,
             "limit would take the first of what was drawn: say a smaller --size"),
            (self.corpus is not None and not self.apart, NO_SPLITS),
        ):  # fmt: skip
            if wrong:
                raise ValueError(what)
        return self

    @property
    def strata(self) -> list[str]:
        """What the strata are made by."""
        return [name for name in self.by if name != "score"] or ["label", "length"]

    @property
    def samples(self) -> bool:
        """Whether it matters how many of the rows there are that all else lets pass."""
        return any(each is not None for each in (self.top, self.like, self.sample))

    @field_validator("words")
    @classmethod
    def _is_range(cls, value: str | None) -> str | None:
        if value is not None:
            low, high = bounds(value)
            if low is not None and high is not None and low > high:
                raise ValueError("the first number must not be above the second")
        return value


def share_of(text: str) -> Fraction:
    """The share that a text such as 20% stands for, exactly."""
    return Fraction(text.removesuffix("%")) / 100


def _require_share(text: str, what: str) -> None:
    if not _SHARE.fullmatch(text) or not 0 < share_of(text) <= 1:
        raise ValueError(f"must be {what}")


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
