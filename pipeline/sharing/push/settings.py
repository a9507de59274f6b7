"""Settings of ``conjoin push``."""

import re
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from pipeline.core.settings import (
    Settings,
)


class PushSettings(Settings):
    """Upload a release to a hub repository; shows what it would send, or sends it."""

    stage: ClassVar[str] = "push"
    arguments: ClassVar[tuple[str, ...]] = ("release", "repository")
    corpus_field: ClassVar[str] = "release"

    release: Path = Field(description="Folder of a release, of candidates or of a predictor.")
    repository: str = Field(
        description="Repository, owner/name: of datasets, or of models for a predictor."
    )
    dry_run: bool = Field(True, description="Only show what would be sent.")
    private: bool = Field(False, description="Make the repository private if it is made.")

    @field_validator("repository")
    @classmethod
    def _is_name(cls, repository: str) -> str:
        if not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", repository, re.ASCII):
            raise ValueError("must be OWNER/NAME, as in the repository's address on the hub")
        return repository
