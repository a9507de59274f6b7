"""``conjoin validate``: checks the files, the manifest and every row of a corpus, in bounded memory.

The corpus may come from anywhere: nothing in it is taken for granted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.candidates import HARVESTED
from pipeline.core.console import Meter, say, table
from pipeline.core.types import COORDINATORS
from pipeline.corpus.candidate_checks import Fault, faults, null_rows
from pipeline.corpus.content import IDENTITY, content_ids
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.engine import engine
from pipeline.corpus.layout import Shards
from pipeline.corpus.statistics import SCORES
from pipeline.generate.settings import LIKE_L
from pipeline.select.leakage import HeldOut
from pipeline.sharing.validate.donors import Donated, sentences_of
from pipeline.sharing.validate.files import (
    Reading,
    check_files,
    open_shard,
    readable_sum,
    take_stock,
)
from pipeline.sharing.validate.harvested import Harvested
from pipeline.sharing.validate.identity import Seen
from pipeline.sharing.validate.leaks import leaked
from pipeline.sharing.validate.manifest import Held, Totals, check_manifest, entries_of, runs_of
from pipeline.sharing.validate.rules import RULES, Expected, standing
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.sharing.validate.trees import tree_faults
from pipeline.sharing.validate.violations import Violation, Violations, printable


def run(settings: ValidateSettings) -> None:
    """Print every kind of violation with its count and first examples.

    Raises:
        InputError: there is nothing to check.
        SystemExit: with code 1, after printing, if anything is wrong.
    """
    found, totals, sum_of = Violations(settings.examples), Totals(), cache(readable_sum)
    held_out = None
    if settings.apart:
        held_out = HeldOut.read(settings.place, settings.corpus, settings.apart)
    shards = take_stock(settings.place, found)
    check_files(shards, sum_of, found)
    with engine() as database:
        _Checker(shards, found, totals, database, held_out).run()
    check_manifest(shards, totals, sum_of, found)
    rows, files = sum(held.rows for held in totals.files.values()), len(totals.files)
    if settings.json_:
        say(json.dumps({"rows": rows, "files": files, "violations": found.to_dict()}, indent=2))
    else:
        _show(found, rows, files)
    if len(found):
        raise SystemExit(1)


def _show(found: Violations, rows: int, files: int) -> None:
    counts = found.counts()
    size = f"{rows:,} row{'s' * (rows != 1)} in {files:,} file{'s' * (files != 1)}"
    if not counts:
        say(f"{size}: no violations")
        return
    table("violations", ["kind", "count"], counts.items())
    for kind, count in counts.items():
        examples = found.examples(kind)
        more = f", the first {len(examples)}" if 0 < len(examples) < count else ""
        if examples:
            say(f"\n{kind} ({count:,}{more})")
        for each in examples:
            row = "" if each.row is None else f", row {each.row}"
            candidate = "" if each.candidate_id is None else f", candidate {each.candidate_id}"
            say(f"  {each.file}{row}{candidate}: {each.what}")
    violations, kinds = len(found), len(counts)
    say(
        f"\n{size}: {violations:,} violation{'s' * (violations != 1)} "
        f"of {kinds} kind{'s' * (kinds != 1)}; rows count from 0"
    )


class _Checker:
    def __init__(
        self, shards: Shards, found: Violations, totals: Totals,
        database: duckdb.DuckDBPyConnection, held_out: HeldOut | None,
    ) -> None:  # fmt: skip
        self._shards, self._found, self._totals = shards, found, totals
        self._held_out = held_out
        self._database, self._seen = database, Seen(database)
        self._sentences, self._donated = sentences_of(shards), Donated(database)
        self._harvested = Harvested(database)
        self._files = [*shards.accepted, *shards.rejects]
        self._runs = runs_of(shards.manifest)
        self._natural = _natural_runs(self._runs)
        entries = entries_of(shards.manifest or {}) or {}
        self._digested = any("digest" in entry for entry in entries.values())
        self._expected = {rejects: asdict(self._expects(rejects)) for rejects in (False, True)}

    def run(self) -> None:
        readings = [
            open_shard(path, self._shards, self._name(path), self._found) for path in self._files
        ]
        with Meter("validate, rows", sum(each.rows for each in readings if each)) as meter:
            for number, reading in enumerate(readings):
                held = self._totals.files[self._files[number]] = Held(whole=reading is not None)
                if reading is not None:
                    if self._digested and len(reading.columns) == len(reading.schema):
                        held.digest = RowDigest()
                    self._check_fingerprint(reading)
                    for batch in self._read(reading, held):
                        self._try(batch, reading, number, held)
                        held.rows += len(batch)
                        meter.advance(len(batch))
        doubles = chain(self._seen.doubles(), self._seen.contradictions())
        for kind, (file, row), (first, at) in doubles:
            what = f"as {self._name(self._files[first])}, row {at}"
            self._found.add(kind, self._name(self._files[file]), what, row)
        if self._sentences is not None:
            self._check_corpus(self._sentences)

    def _check_corpus(self, sentences: Path) -> None:
        try:
            wrong = chain(self._donated.wrong(sentences), self._harvested.wrong(sentences))
            for kind, (file, row), what in wrong:
                self._found.add(kind, self._name(self._files[file]), what, row)
        except duckdb.Error as error:  # the corpus is not what is checked
            what = f"{sentences} cannot be read: {error}"
            self._found.add("sources that cannot be checked", self._shards.place.name, what)

    def _name(self, path: Path) -> str:
        place = self._shards.place
        return path.name if path == place else path.relative_to(place).as_posix()

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
            coordinators=tuple(sorted(COORDINATORS | inserted)),
            any_label=any(each.get("spans") == "given" for each in settings),
            rebuilt=(self._shards.manifest or {}).get("rehydrated") is True,
        )

    def _check_fingerprint(self, reading: Reading) -> None:
        fingerprint = (self._shards.manifest or {}).get("fingerprint")
        if self._shards.kind == "candidates" and fingerprint and reading.fingerprint != fingerprint:
            what = f"fingerprint {reading.fingerprint}, the manifest has {fingerprint}"
            self._found.add("shard of another run", reading.name, what)

    def _read(self, reading: Reading, held: Held) -> Iterator[pa.RecordBatch]:
        try:
            yield from reading.batches()
        except Exception as error:  # a damaged file may fail anywhere in its decoder
            held.whole = False
            what = f"not readable after row {held.rows}: {error}"
            self._found.add("unreadable file", reading.name, what)

    def _try(self, batch: pa.RecordBatch, reading: Reading, number: int, held: Held) -> None:
        try:
            self._check(batch, reading, number, held)
        except Exception as error:  # whatever these rows hold, the rest is still checked
            end = held.rows + len(batch)
            what = f"rows {held.rows} to {end - 1}: {type(error).__name__}: {error}"
            self._found.add("rows that cannot be checked", reading.name, what)

    def _check(self, batch: pa.RecordBatch, reading: Reading, number: int, held: Held) -> None:
        fitting, large, alien = reading.fitting(batch)
        if held.digest is not None:
            held.digest.add(fitting)
        self._totals.licences.update(_texts(fitting, "license"))
        config = "rejected" if reading.rejects else "train"
        for key, count in _texts(fitting, "generation").items():
            if key in (self._runs or {}):  # others are violations, and may be without number
                self._totals.generations[key, config] += count
        places = held.rows + np.arange(len(batch))
        missing = list(_nulls(fitting, reading.schema))
        self._count(reading, fitting, places, [*large, *alien, *missing])
        if not fitting.schema.names:
            return
        sound = np.ones(len(batch), dtype=bool)
        for fault in (*alien, *missing):
            sound[fault.rows] = False  # nothing else can be checked in these rows
        whole = fitting if sound.all() else fitting.filter(pa.array(sound))
        whole = _with_computed(whole, places[sound], self._natural)
        found = faults(self._database, whole, RULES, self._expected[reading.rejects])
        self._count(reading, whole, places[sound], found)
        if self._held_out is not None and not reading.rejects:
            self._count(
                reading, whole, places[sound], leaked(self._held_out, whole, self._database)
            )
        self._count(reading, whole, places[sound], tree_faults(whole, self._database))
        if self._sentences is not None:
            self._donated.add(whole, number)
            self._harvested.add(whole, number)
        if "candidate_id" in whole.schema.names:
            # Among each other rejects may share an id: their fills came out the same.
            add = self._seen.add_rejects if reading.rejects else self._seen.add
            add(whole, number)

    def _count(
        self,
        reading: Reading,
        batch: pa.RecordBatch,
        places: npt.NDArray[np.int64],
        found: Iterable[Fault],
    ) -> None:
        ids = batch.column("candidate_id") if "candidate_id" in batch.schema.names else None
        for fault in found:
            examples = []
            for row in fault.rows[: self._found.wanted(fault.kind)].tolist():
                known = None if ids is None else _text(ids[row])
                shown = None if known is None else printable(known)
                what = printable(fault.message(row))
                examples.append(Violation(printable(reading.name), int(places[row]), shown, what))
            self._found.add_all(fault.kind, len(fault.rows), examples)


def _natural_runs(runs: Mapping[str, Mapping[str, Any]] | None) -> list[str] | None:
    """The runs of ``harvest`` among some, by the value of ``generation``; None where none is known."""
    if runs is None:
        return None
    recorded = ((key, run.get("settings")) for key, run in runs.items())
    return [key for key, s in recorded if isinstance(s, dict) and s.get("fills") == HARVESTED]


def _with_computed(
    batch: pa.RecordBatch, places: npt.NDArray[np.int64], natural: Sequence[str] | None
) -> pa.RecordBatch:
    """The rows with ``place`` (in their file), ``harvested``, ``standing`` and ``due``, as far as known.

    Args:
        batch: some rows.
        places: their numbers in the file.
        natural: of ``_natural_runs``.
    """
    names = set(batch.schema.names)
    batch = batch.append_column("place", pa.array(places))
    batch = batch.append_column("harvested", _harvested(batch, natural))
    if "license" in names:
        batch = batch.append_column("standing", standing(batch.column("license")))
    if names.issuperset(IDENTITY):
        batch = batch.append_column("due", content_ids(batch))
    return batch


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


def _texts(batch: pa.RecordBatch, name: str) -> Counter[str]:
    """How many rows have each text of a column, which may be missing, or not be UTF-8."""
    found: Counter[str] = Counter()
    if name in batch.schema.names:
        raw = batch.column(name).drop_null().cast(pa.binary())
        for each in pc.value_counts(raw).to_pylist():
            found[each["values"].decode(errors="replace")] += each["counts"]
    return found


def _text(value: pa.Scalar) -> str | None:
    try:
        return None if value.as_py() is None else str(value.as_py())
    except UnicodeDecodeError:
        return None


def _nulls(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[Fault]:
    """Nulls where the schema has none."""
    for name in batch.schema.names:
        column = batch.column(name)
        rows = null_rows(column)
        if schema.field(name).nullable and len(rows):  # a null list, but not a list of nulls
            rows = np.setdiff1d(rows, np.flatnonzero(np.asarray(pc.is_null(column))))
        if len(rows):
            yield Fault("null value", rows, f"null in {name}")
