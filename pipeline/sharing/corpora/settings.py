"""Settings of ``conjoin corpora``."""

from typing import ClassVar

from pipeline.core.settings import (
    Settings,
)


class CorporaSettings(Settings):
    """Tell where each corpus comes from and under which licence."""

    stage: ClassVar[str] = "corpora"
