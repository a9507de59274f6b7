"""``conjoin validate``: checks the files, the manifest and every row of a corpus, in bounded memory.

The corpus may come from anywhere: nothing in it is taken for granted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.console import Meter, say, table
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.corpus.candidate_checks import Fault
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.engine import engine
from pipeline.corpus.layout import Shards
from pipeline.corpus.validity.checks import RowChecks, nulls
from pipeline.release.kinds.known import kind_of
from pipeline.release.predictors.package import checked_predictor, is_predictor_release
from pipeline.release.readable import require_no_words
from pipeline.select.leakage import HeldOut
from pipeline.sharing.validate.files import (
    Reading,
    check_files,
    open_shard,
    readable_sum,
    take_stock,
)
from pipeline.sharing.validate.kinds import KindChecks
from pipeline.sharing.validate.leaks import leaked
from pipeline.sharing.validate.manifest import Held, Totals, check_manifest, entries_of
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.sharing.validate.trees import tree_faults
from pipeline.sharing.validate.violations import Violation, Violations, printable


def run(settings: ValidateSettings) -> None:
    """Print every kind of violation with its count and first examples.

    Raises:
        InputError: there is nothing to check.
        SettingsError: ``apart``, of rows that are no sentences.
        SystemExit: with code 1, after printing, if anything is wrong.
    """
    if is_predictor_release(settings.place):
        _check_predictor(settings)
        return
    found, totals, sum_of = Violations(settings.examples), Totals(), cache(readable_sum)
    held_out = None
    shards = take_stock(settings.place, found)
    if settings.apart and (kind := kind_of(shards)) is not None:
        raise SettingsError(
            f"--apart holds sentences against held-out ones, and these are {kind.called}: leave it out"
        )
    if settings.apart:
        held_out = HeldOut.read(settings.place, settings.corpus, settings.apart)
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


def _check_predictor(settings: ValidateSettings) -> None:
    """Say whether the files of a released predictor are those that were written, or which one is not."""
    if settings.apart:
        raise SettingsError("--apart is for candidates, and this is a predictor: leave it out")
    found, files = Violations(settings.examples), 0
    try:
        files = len(checked_predictor(settings.place)[1])
    except (InputError, ModelError) as error:
        found.add("not the predictor that was written", settings.place.name, str(error))
    if settings.json_:
        say(json.dumps({"rows": 0, "files": files, "violations": found.to_dict()}, indent=2))
    elif len(found):
        _show(found, 0, files)
    else:
        say(f"a release of a predictor, {files} files: every digest holds")
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
        self._held_out, self._database = held_out, database
        kind = kind_of(shards)
        self._rows = (
            RowChecks(shards, database) if kind is None else KindChecks(kind, shards, database)
        )
        self._withholds_words = kind is None and shards.kind == "stand-off"
        entries = entries_of(shards.manifest or {}) or {}
        self._digested = any("digest" in entry for entry in entries.values())

    def run(self) -> None:
        files, name = self._rows.files, self._rows.name
        readings = [open_shard(path, self._shards, name(path), self._found) for path in files]
        with Meter("validate, rows", sum(each.rows for each in readings if each)) as meter:
            for number, reading in enumerate(readings):
                held = self._totals.files[files[number]] = Held(whole=reading is not None)
                if reading is not None:
                    if self._digested and len(reading.columns) == len(reading.schema):
                        held.digest = RowDigest()
                    self._check_fingerprint(reading)
                    for batch in self._read(reading, held):
                        self._try(batch, reading, number, held)
                        held.rows += len(batch)
                        meter.advance(len(batch))
        for kind, (file, row), what in self._rows.repeated():
            self._found.add(kind, name(files[file]), what, row)
        try:
            for kind, (file, row), what in self._rows.strange():
                self._found.add(kind, name(files[file]), what, row)
        except InputError as error:
            place = self._shards.place.name
            self._found.add("sources that cannot be checked", place, str(error))

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
            if self._rows.is_run(key):  # others are violations, and may be without number
                self._totals.generations[key, config] += count
        places = held.rows + np.arange(len(batch))
        missing = list(nulls(fitting, reading.schema))
        self._count(reading, fitting, places, [*large, *alien, *missing])
        if not fitting.schema.names:
            return
        sound = np.ones(len(batch), dtype=bool)
        for fault in (*alien, *missing):
            sound[fault.rows] = False  # nothing else can be checked in these rows
        whole = fitting if sound.all() else fitting.filter(pa.array(sound))
        whole = self._rows.completed(whole, places[sound])
        if self._withholds_words:
            try:
                require_no_words(whole)
            except InputError as error:
                self._found.add("text in a stand-off release", reading.name, error.what)
        found = self._rows.faults(whole, rejects=reading.rejects)
        self._count(reading, whole, places[sound], found)
        if self._held_out is not None and not reading.rejects:
            self._count(
                reading, whole, places[sound], leaked(self._held_out, whole, self._database)
            )
        self._count(reading, whole, places[sound], tree_faults(whole, self._database))
        self._rows.remember(whole, number, rejects=reading.rejects)

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
