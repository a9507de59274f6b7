"""Rows of other tasks than coordination held against what their kind says (``release.kinds``)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.corpus.candidate_checks import Fault
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import LONGEST_OF_ROW, terms
from pipeline.corpus.validity.checks import runs_of
from pipeline.corpus.validity.donors import Wrong
from pipeline.corpus.validity.identity import Seen
from pipeline.release.kinds.protocol import RowKind

_NO_COLUMNS = pa.schema([])


def columns_of_kind(kind: RowKind, shards: Shards, found: pa.Schema, *, rejects: bool) -> pa.Schema:
    """The columns that a file should have.

    Args:
        kind: of its rows.
        shards: the corpus.
        found: the columns that it has.
        rejects: whether its rows are rejects.
    """
    config = "rejected" if rejects else "train"
    bare = not set(kind.stand_off.get(config, _NO_COLUMNS).names).isdisjoint(
        set(found.names) - set(kind.released[config].names)
    )
    if kind.stand_off and (shards.kind == "stand-off" or (shards.kind == "file" and bare)):
        return kind.stand_off[config]
    released = shards.kind != "candidates" and (
        shards.kind != "file" or "generation" in found.names
    )
    return (kind.released if released else kind.bare)[config]


class KindChecks:
    """What ``validate`` asks of rows of a kind, in the place of ``RowChecks``, whose methods it has.

    Args:
        kind: of the rows.
        shards: the corpus.
        database: an empty one of ``corpus.engine``, which remembers ids.
    """

    def __init__(self, kind: RowKind, shards: Shards, database: duckdb.DuckDBPyConnection) -> None:
        self.files = [*shards.accepted, *shards.rejects]
        self._kind, self._shards, self._seen = kind, shards, Seen(database)
        self._runs = runs_of(shards.manifest)
        self._rebuilt = (shards.manifest or {}).get("rehydrated") is True

    def name(self, path: Path) -> str:
        """What a file is called in the corpus."""
        place = self._shards.place
        return path.name if path == place else path.relative_to(place).as_posix()

    def completed(self, batch: pa.RecordBatch, places: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """The rows with their numbers in the file."""
        return batch.append_column("place", pa.array(places))

    def faults(self, batch: pa.RecordBatch, *, rejects: bool) -> Iterator[Fault]:
        """What is wrong with rows, each for itself; where a column lacks nothing is asked."""
        config = "rejected" if rejects else "train"
        there = set(batch.schema.names)
        texts = there.issuperset(self._kind.bare[config].names)
        without = self._kind.stand_off.get(config)
        if not texts and (without is None or not there.issuperset(without.names)):
            return
        found: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for place, row in enumerate(batch.to_pylist()):
            wrong = self._kind.fault(row, usable=not rejects)
            for kind, what in (*([wrong] if wrong else ()), *self._origin(row, texts=texts)):
                found[kind][place] = what
        for kind, rows in found.items():
            yield Fault(kind, np.array(list(rows)), rows.__getitem__)

    def _origin(self, row: Mapping[str, Any], *, texts: bool) -> Iterator[tuple[str, str]]:
        """What is wrong with a row's licence, its run and its reason; ``texts``: whether it has its text."""
        licence = row["license"]
        known = terms(licence)
        if not licence.strip():
            yield "licence missing", "no licence"
        elif len(licence) > LONGEST_OF_ROW:
            yield "licence too long", repr(licence)
        elif texts and not self._rebuilt:
            if not known.known:
                yield "licence unknown", repr(licence)
            elif not known.redistributable and self._shards.kind == "release":
                yield "text under a licence that forbids it", repr(licence)
        if (
            self._runs is not None
            and row.get("generation", next(iter(self._runs), "")) not in self._runs
        ):
            yield "generation unknown", repr(row["generation"])
        if not row.get("reason", "-").strip():
            yield "reject without reason", "the reason is empty"

    def remember(self, batch: pa.RecordBatch, file: int, *, rejects: bool) -> None:
        """Take in usable rows of ``completed``; a reject may say what another row says."""
        if not rejects and "candidate_id" in batch.schema.names:
            self._seen.add(batch, file)

    def repeated(self) -> Iterator[Wrong]:
        """Usable rows that stand twice among those remembered."""
        for _, row, (first, at) in self._seen.doubles():
            yield "duplicate row", row, f"as {self.name(self.files[first])}, row {at}"

    def strange(self) -> Iterator[Wrong]:
        """None: what rows are of is not asked."""
        yield from ()

    def is_run(self, key: str) -> bool:
        """Whether the manifest names a run."""
        return key in (self._runs or {})
