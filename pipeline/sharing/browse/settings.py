"""Settings of ``conjoin browse``."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from pipeline.core.settings import OWN_USE_HELP, OnlyWith, only_for
from pipeline.sharing.place import PlaceSettings


class BrowseSettings(PlaceSettings):
    """Read a corpus in a local web page, or write a sample of it as one file."""

    stage: ClassVar[str] = "browse"
    every_task: ClassVar[bool] = False
    only_with: ClassVar[OnlyWith] = {
        "scored": [("predictor", ())],
        **only_for(("sample", "own_use"), ("export", ())),
        **only_for(("port", "open"), ("export", (None,))),
        "seed": [("predictor", ()), ("export", ())],
    }

    predictor: Path | None = Field(
        None, description="Folder of a trained predictor, whose probabilities are shown."
    )
    port: int = Field(8321, ge=0, le=65535, description="Port on 127.0.0.1; 0: any free one.")
    open: bool = Field(True, description="Open the page in the web browser.")
    export: Path | None = Field(None, description="Write one self-contained HTML file instead.")
    own_use: bool = Field(
        False, description=f"export: {OWN_USE_HELP[:1].lower()}{OWN_USE_HELP[1:]}"
    )
    scored: int = Field(
        2000, ge=1, description="predictor: candidates drawn, of which the δ shares are estimated."
    )
    sample: int = Field(500, ge=1, description="export: rows drawn for the file.")
    seed: int = Field(0, ge=0, description="Seed of these draws.")
