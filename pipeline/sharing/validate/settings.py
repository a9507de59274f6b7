"""Settings of ``conjoin validate``."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, model_validator

from pipeline.core.names import HeldOutSplits
from pipeline.select.settings import NO_SPLITS
from pipeline.sharing.place import PlaceSettings


class ValidateSettings(PlaceSettings):
    """Check a corpus: schema, checksums, digests, ids, spans, text, licence."""

    stage: ClassVar[str] = "validate"

    examples: int = Field(3, ge=0, description="Rows shown of each kind of violation.")
    apart: HeldOutSplits = Field(
        [],
        description="Held-out splits of --corpus, e.g. dev,test: a row that says what one of their "
        "sentences says is a violation.",
    )
    corpus: Path | None = Field(
        None, description="apart: the corpus folder; unset: the nearest at or above PLACE."
    )
    json_: bool = Field(False, description="Print one JSON object instead.")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.corpus is not None and not self.apart:
            raise ValueError(NO_SPLITS)
        return self
