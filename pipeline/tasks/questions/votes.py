"""Votes for event pairs: how many people were asked of each, and how many saw a cause in it."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.parquet import read_rows

VOTES = pa.schema(
    [
        pa.field("pair_id", pa.string(), nullable=False),
        pa.field("votes", pa.int32(), nullable=False),
        pa.field("asked", pa.int32(), nullable=False),
    ]
)
"""Columns of ``votes.parquet``, which ``vote`` writes and ``ask`` reads."""


def read_votes(path: Path, known: Mapping[str, object]) -> dict[str, int]:
    """Votes by the id of a pair.

    Args:
        path: of the file.
        known: event pairs by their ids.

    Raises:
        InputError: it is no such file, or has a pair that is not known.
    """
    found = {row["pair_id"]: row["votes"] for row in read_rows(path, VOTES)}
    for pair_id in found:
        if pair_id not in known:
            raise InputError(
                f"votes for pair {pair_id}, which is none of these event pairs", path=path,
                remedy="read the sheets again: `conjoin vote PAIRS --read FOLDER`",
            )  # fmt: skip
    return found
