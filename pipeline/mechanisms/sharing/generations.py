"""Who made the rows of a corpus: the runs of ``generate`` behind it, down to each row."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.ground.batches import column_names, read_batches
from pipeline.ground.errors import InputError
from pipeline.ground.schema import CANDIDATES, REJECTS
from pipeline.mechanisms.sharing.layout import Shards
from pipeline.mechanisms.sharing.rows import RELEASED, RELEASED_REJECTS

__all__ = ["generation_key", "generations", "read_accepted", "read_rejects"]

_OF_FOLDER = {"shards", "fingerprint"}  # of a manifest of ``generate``: not about the rows' making


def generation_key(fingerprint: str) -> str:
    """What a run of ``generate`` is called in the column ``generation``: 16 hex digits."""
    return fingerprint[:16]


def generations(shards: Shards) -> dict[str, Mapping[str, Any]]:
    """The runs that made the rows, by the value of their column ``generation``.

    Each says what its rows depend on (``settings``, ``model``, ``inputs``, ``code``, ``versions``,
    ``device``), its whole ``fingerprint``, and what it kept and refused (``tally``, ``notes``). None
    for files without a manifest.
    """
    manifest = shards.manifest or {}
    if "generations" in manifest:
        return dict(manifest["generations"])
    if "fingerprint" not in manifest:
        return {}
    fingerprint = str(manifest["fingerprint"])
    about = {key: value for key, value in manifest.items() if key not in _OF_FOLDER}
    return {generation_key(fingerprint): {"fingerprint": fingerprint, **about}}


def read_accepted(shards: Shards) -> Iterator[pa.RecordBatch]:
    """Stream the usable candidates, with the columns of ``RELEASED``, in the order of the files.

    Raises:
        InputError: a file is damaged or has other columns, or nothing says who made its rows.
    """
    return _read(shards, shards.accepted, CANDIDATES, RELEASED)


def read_rejects(shards: Shards) -> Iterator[pa.RecordBatch]:
    """Stream the rejects, with the columns of ``RELEASED_REJECTS``.

    Raises:
        InputError: as ``read_accepted``.
    """
    return _read(shards, shards.rejects, REJECTS, RELEASED_REJECTS)


def _read(
    shards: Shards, files: tuple[Path, ...], bare: pa.Schema, full: pa.Schema
) -> Iterator[pa.RecordBatch]:
    known = generations(shards)
    for path in files:
        if "generation" in column_names(path):
            yield from read_batches(path, full)
            continue
        if len(known) != 1:
            raise InputError(
                "nothing says which run made these rows: there is neither a column 'generation' nor "
                "a manifest.json of one run beside them",
                path=path, remedy="name the folder that `conjoin generate` wrote",
            )  # fmt: skip
        (key,) = known
        for batch in read_batches(path, bare):
            keys = pa.array([key] * len(batch), pa.string())
            columns = [keys if f.name == "generation" else batch.column(f.name) for f in full]
            yield pa.RecordBatch.from_arrays(columns, schema=full)
