"""What several documents have: counts of what was kept, facts of files, and records of annotation."""

from typing import Annotated, Any, NotRequired

from pydantic import GetPydanticSchema
from typing_extensions import TypedDict

from pipeline.core.annotation import Part
from pipeline.core.documents import Count, Number

CountOf = dict[str, Count]
"""Numbers by name."""

Share = Number | None
"""A figure; None where there is nothing to measure."""

PartForm = Annotated[dict[str, Any], GetPydanticSchema(lambda _, schema_of: schema_of(Part))]
"""A ``Part`` of a record of annotation, as ``as_json`` writes it."""


class TallyForm(TypedDict):
    """What ``Tally.to_dict`` writes."""

    seen: Count
    kept: Count
    refused: CountOf


class FileForm(TypedDict):
    """What ``FileFacts`` are in a record of files."""

    rows: NotRequired[Count | None]
    bytes: NotRequired[Count]
    sha256: str


class FileOfRows(TypedDict):
    """A Parquet file in a manifest of candidates."""

    file: str
    rows: Count
    bytes: Count
    sha256: str


class Shard(FileOfRows):
    """One of candidates or of rejects; ``digest`` is that of its rows, where they were united or chosen."""

    digest: NotRequired[str]


def with_keys(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """For a form: the value, if it has all of these keys.

    Raises:
        ValueError: it lacks one.
    """
    if missing := [key for key in keys if key not in value]:
        raise ValueError(f"lacks {missing[0]}")
    return value
