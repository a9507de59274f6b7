"""Everything that is asked of the rows of a corpus, in bounded memory.

``conjoin validate`` counts what is wrong; who writes rows on refuses the first (``require_valid``). Whether
text may be handed on is asked elsewhere (``corpus.handing_on``): of ``validate``'s rules on licences a writer
has but the one that each row names one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.candidates import HARVESTED, LIKE_L
from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.parquet import column_names, read_batches, regroup, require_text, row_count
from pipeline.core.schema import CANDIDATES, REJECTS
from pipeline.corpus.candidate_checks import Fault, faults, null_rows
from pipeline.corpus.content import IDENTITY, content_ids
from pipeline.corpus.coordinators import coordinators_of_runs
from pipeline.corpus.engine import engine
from pipeline.corpus.layout import Shards
from pipeline.corpus.rows import (
    STAND_OFF,
    STAND_OFF_REJECTS,
    generation_key,
    read_accepted,
    read_rejects,
)
from pipeline.corpus.statistics import SCORES
from pipeline.corpus.validity.donors import Donated, Wrong, sentences_of
from pipeline.corpus.validity.harvested import Harvested
from pipeline.corpus.validity.identity import FILE, Seen
from pipeline.corpus.validity.rules import RULES, Expected, standing

BATCH = 16_384
"""Rows that are checked at once: DuckDB plans the rules anew for every batch."""

_LONGEST = 160  # characters of a row that a message shows


class RowChecks:
    """The rules of rows, held against the files of a corpus one after the other.

    Args:
        shards: the corpus.
        database: an empty one of ``corpus.engine``, which remembers what rows say of each other.

    Attributes:
        files: of usable candidates, then of rejects; rows are called by their file's number in it.
    """

    def __init__(self, shards: Shards, database: duckdb.DuckDBPyConnection) -> None:
        self.files = [*shards.accepted, *shards.rejects]
        self._shards, self._database = shards, database
        self._runs = runs_of(shards.manifest)
        self._natural = _natural_runs(self._runs)
        self._expected = {rejects: asdict(self._expects(rejects)) for rejects in (False, True)}
        self._seen = Seen(database)
        self._sentences = sentences_of(shards)
        self._donated, self._harvested = Donated(database), Harvested(database)

    def name(self, path: Path) -> str:
        """What a file is called in the corpus."""
        place = self._shards.place
        return path.name if path == place else path.relative_to(place).as_posix()

    def completed(self, batch: pa.RecordBatch, places: npt.NDArray[np.int64]) -> pa.RecordBatch:
        """The rows with ``place`` (in their file), ``harvested`` and ``due``, as far as known.

        Args:
            batch: rows without nulls where none may be.
            places: their numbers in the file.
        """
        batch = batch.append_column("place", pa.array(places))
        batch = batch.append_column("harvested", _harvested(batch, self._natural))
        if set(batch.schema.names).issuperset(IDENTITY):
            batch = batch.append_column("due", content_ids(batch))
        return batch

    def faults(
        self, batch: pa.RecordBatch, *, rejects: bool, terms: bool = True
    ) -> Iterator[Fault]:
        """What is wrong with rows, each for itself.

        Args:
            batch: rows of ``completed``.
            rejects: they are rejects, of which less can be asked.
            terms: ask what their licences permit, too.
        """
        if terms and "license" in batch.schema.names:
            batch = batch.append_column("standing", standing(batch.column("license")))
        yield from faults(self._database, batch, RULES, self._expected[rejects])

    def remember(self, batch: pa.RecordBatch, file: int, *, rejects: bool) -> None:
        """Take in rows of ``completed`` for what is asked of all rows together.

        Args:
            batch: the rows.
            file: the number of their file.
            rejects: they are rejects.
        """
        if self._sentences is not None:
            self._donated.add(batch, file)
            self._harvested.add(batch, file)
        if "candidate_id" in batch.schema.names:
            # Among each other rejects may share an id: their fills came out the same.
            add = self._seen.add_rejects if rejects else self._seen.add
            add(batch, file)

    def repeated(self) -> Iterator[Wrong]:
        """Rows that stand twice among those remembered, and rejects that contradict a candidate."""
        for kind, row, (first, at) in chain(self._seen.doubles(), self._seen.contradictions()):
            yield kind, row, f"as {self.name(self.files[first])}, row {at}"

    def strange(self) -> Iterator[Wrong]:
        """Rows remembered that are not what the sentences of their corpus say, where that is known.

        Raises:
            InputError: these sentences cannot be read.
        """
        if self._sentences is None:
            return
        try:
            yield from self._donated.wrong(self._sentences)
            yield from self._harvested.wrong(self._sentences)
        except duckdb.Error as error:  # the corpus is not what is checked
            raise InputError(f"cannot be read: {error}", path=self._sentences) from error

    def is_run(self, key: str) -> bool:
        """Whether the manifest names a run."""
        return key in (self._runs or {})

    def _expects(self, rejects: bool) -> Expected:
        runs: Mapping[str, Mapping[str, Any]] = self._runs or {}
        recorded = [run.get("settings") for run in runs.values()]
        settings = [each for each in recorded if isinstance(each, dict)]
        lists_of_words = (
            str(each.get("coordinators") or each.get("coordinator", "and")) for each in settings
        )
        inserted = {word.lower() for words in lists_of_words for word in words.split(",")} - {
            LIKE_L.lower()
        }
        return Expected(
            rejects=rejects,
            shared=self._shards.kind == "release",
            generations=None if self._runs is None else tuple(sorted(runs)),
            coordinators=tuple(sorted(coordinators_of_runs(runs.values()) | inserted)),
            any_label=any(each.get("spans") == "given" for each in settings),
            rebuilt=(self._shards.manifest or {}).get("rehydrated") is True,
        )


def runs_of(manifest: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]] | None:
    """The runs that a manifest names, by the value of ``generation``; None if it names none."""
    if manifest is None:
        return None
    if "generations" in manifest:
        runs = manifest["generations"]
        runs = runs if isinstance(runs, dict) else {}
        return {key: run if isinstance(run, dict) else {} for key, run in runs.items()}
    fingerprint = manifest.get("fingerprint")
    return {generation_key(fingerprint): manifest} if isinstance(fingerprint, str) else None


def _natural_runs(runs: Mapping[str, Mapping[str, Any]] | None) -> list[str] | None:
    """The runs of ``harvest`` among some, by the value of ``generation``; None where none is known."""
    if runs is None:
        return None
    recorded = ((key, run.get("settings")) for key, run in runs.items())
    return [key for key, s in recorded if isinstance(s, dict) and s.get("fills") == HARVESTED]


def _harvested(batch: pa.RecordBatch, runs: Sequence[str] | None) -> pa.Array:
    """Which rows are natural text; without a manifest those that nobody scored or took a fill for."""
    if runs is not None and "generation" in batch.schema.names:
        keys = batch.column("generation").cast(pa.binary())  # whatever bytes they are
        return pc.is_in(keys, pa.array([key.encode() for key in runs], pa.binary()))
    if runs is not None:
        return pa.array([bool(runs)] * len(batch), pa.bool_())
    found = pa.array(["score" in batch.schema.names] * len(batch), pa.bool_())
    for name in (*SCORES, "donor"):
        if name in batch.schema.names:
            found = pc.and_(found, pc.is_null(batch.column(name)))
    return found


def nulls(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[Fault]:
    """Nulls where the schema has none."""
    for name in batch.schema.names:
        column = batch.column(name)
        rows = null_rows(column)
        if schema.field(name).nullable and len(rows):  # a null list, but not a list of nulls
            rows = np.setdiff1d(rows, np.flatnonzero(np.asarray(pc.is_null(column))))
        if len(rows):
            yield Fault("null value", rows, f"null in {name}")


def require_valid(shards: Shards, *, distinct: bool) -> None:
    """Refuse a corpus with a row that ``conjoin validate`` refuses, for another reason than its licence.

    Args:
        shards: the corpus, which is what its manifest says.
        distinct: rows that stand twice are refused, too; else the caller keeps the first of them.

    Raises:
        InputError: there is such a row; it is named, with what is wrong with it.
    """
    total = sum(map(row_count, (*shards.accepted, *shards.rejects)))
    with engine() as database, Meter("rows checked", total) as meter:
        checks = RowChecks(shards, database)
        for rejects in (False, True):
            # Of many small files together, for each batch costs a tenth of a second.
            for batch in regroup(_rows(shards, rejects=rejects), repeat(BATCH)):
                places = batch.column(_PLACE).to_numpy()
                own = batch.drop_columns([_PLACE])
                for fault in nulls(own, own.schema):
                    raise _refusal(checks, places, fault)
                whole = checks.completed(own, places)
                for fault in checks.faults(whole, rejects=rejects, terms=False):
                    raise _refusal(checks, places, fault)
                checks.remember(whole, 0, rejects=rejects)
                meter.advance(len(batch))
        for kind, place, what in chain(checks.repeated() if distinct else (), checks.strange()):
            raise _wrong(checks, place, kind, what)


_PLACE = "number of file and row"


def holds_rejects(shards: Shards, path: Path) -> bool:
    """Whether a file of a corpus has rejects; of a single file its columns tell."""
    return "reason" in column_names(path) if shards.kind == "file" else path in shards.rejects


def _rows(shards: Shards, *, rejects: bool) -> Iterator[pa.RecordBatch]:
    """All rows of a kind, with the number of each as ``RowChecks`` remembers it."""
    unnamed = (
        runs_of(shards.manifest) is None
    )  # nothing says which run made rows that do not say it
    for number, path in enumerate((*shards.accepted, *shards.rejects)):
        if holds_rejects(shards, path) != rejects:
            continue
        if shards.kind == "stand-off":
            batches = read_batches(path, STAND_OFF_REJECTS if rejects else STAND_OFF)
        elif unnamed and "generation" not in column_names(path):
            batches = read_batches(path, REJECTS if rejects else CANDIDATES)
        elif rejects:
            batches = read_rejects(replace(shards, rejects=(path,)))
        else:
            batches = read_accepted(replace(shards, accepted=(path,)))
        begin = number * FILE
        for batch in batches:
            require_text(batch, path)
            yield batch.append_column(_PLACE, pa.array(begin + np.arange(len(batch))))
            begin += len(batch)


def _refusal(checks: RowChecks, places: npt.NDArray[np.int64], fault: Fault) -> InputError:
    row = int(fault.rows[0])
    return _wrong(checks, divmod(int(places[row]), FILE), fault.kind, fault.message(row))


def _wrong(checks: RowChecks, place: tuple[int, int], kind: str, what: str) -> InputError:
    file, row = place
    return InputError(
        f"row {row:,} (from 0): {kind}: {what[:_LONGEST]}", path=checks.files[file],
        remedy="`conjoin validate` says which other rows are not right; make or get the corpus again",
    )  # fmt: skip
