"""Names of language models: the family, and after a hyphen what sets one apart from another of it."""

import re
from typing import Annotated, Literal

from pydantic import Field

__all__ = ["Family", "ModelName", "family_of", "is_model_name"]

Family = Literal["bert", "t5"]
"""``bert``: a masked LM; ``t5``: an encoder-decoder with sentinels."""

_NAME = r"^(bert|t5)(-[a-z0-9]+)*$"

ModelName = Annotated[str, Field(pattern=_NAME)]
"""``bert``, ``t5``, or ``t5-twins``: the folder below ``models/`` and the section of params.yaml."""


def family_of(name: str) -> Family:
    """The family that a model's name begins with."""
    return "bert" if name.startswith("bert") else "t5"


def is_model_name(name: object) -> bool:
    """Whether a language model may be called so."""
    return isinstance(name, str) and re.fullmatch(_NAME, name) is not None
