"""Settings of what trains and runs a parser."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipeline.core.settings import MOST_THREADS, OnlyWith, Precision, Settings, only_for


class ParserSettings(Settings):
    """How a parser is trained and run: what ``preparse`` and ``harvest`` have in common."""

    only_with: ClassVar[OnlyWith] = {
        **only_for(
            ("tags", "parser_epochs", "parser_hidden", "parser_lm"),
            ("parser", ("train", "labelled")),
        ),
        **only_for(("parser_lm_rate", "mixed_precision"), ("parser_lm", ())),
    }

    tags: Literal["none", "treebank"] = Field(
        "none",
        description="train, labelled: whether the parser sees the treebank's part-of-speech tags.",
    )
    parser_epochs: int = Field(
        5, ge=1, description="train, labelled: passes over the trees; of L's alone, unset: 30."
    )
    parser_hidden: int = Field(64, ge=8, le=65_536, description="train, labelled: hidden size.")
    parser_lm: str | None = Field(
        None,
        min_length=1,
        description="train, labelled: encoder whose layers the parser reads; bert: CORPUS/models/bert; a "
        "folder in the corpus, any folder, or a hub name; unset: it learns words from the trees alone.",
    )
    parser_lm_rate: float = Field(
        0.0,
        ge=0,
        description="train, labelled: learning rate of that encoder, which then learns, too; 0: it "
        "stays as it is.",
    )
    mixed_precision: Precision = Field(
        "no",
        description="parser_lm: number format in which the parser reads its encoder, now and later; bf16: "
        "matrix products in bfloat16, weights and sums in float32.",
    )
    batch_size: int = Field(256, ge=1, description="Sentences per call of the parser.")
    seed: int = Field(0, ge=0, description="Seed of parser training.")
    threads: int = Field(
        1, ge=1, le=MOST_THREADS, description="CPU threads per process (part of the fingerprint)."
    )

    @property
    def of_encoder(self) -> set[str]:
        """Names of what is set of the encoder; what is not leaves a parser as it was before it could be."""
        usual = {"parser_lm_rate": 0.0, "mixed_precision": "no"}
        return {name for name, value in usual.items() if getattr(self, name) != value}

    @model_validator(mode="after")
    def _has_what_learns(self) -> Self:
        if self.parser_lm_rate and self.parser_lm is None:
            raise ValueError("parser-lm-rate is of an encoder: name it with --parser-lm")
        if self.mixed_precision != "no" and self.parser_lm is None:
            raise ValueError("mixed-precision is of an encoder: name it with --parser-lm")
        return self
