"""What the manifest of a corpus says, held against what its files hold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.parquet import MANIFEST
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import combined
from pipeline.corpus.manifest import READABLE
from pipeline.corpus.validity.checks import runs_of
from pipeline.sharing.validate.files import SumOf
from pipeline.sharing.validate.violations import Violations

_COUNT = "row count differs from manifest"
_DIGEST = "row digest differs from manifest"


@dataclass
class Held:
    """What a shard held when it was read.

    Attributes:
        rows: those that could be read.
        whole: whether all of it could be read.
        digest: of its rows; None where columns were missing, or the manifest has none.
    """

    rows: int = 0
    whole: bool = True
    digest: RowDigest | None = None


@dataclass
class Totals:
    """What all shards held together.

    Attributes:
        files: what each held, by its path.
        licences: rows by licence.
        generations: rows by run that the manifest names and configuration.
    """

    files: dict[Path, Held] = field(default_factory=dict)
    licences: Counter[str] = field(default_factory=Counter)
    generations: Counter[tuple[str, str]] = field(default_factory=Counter)


def check_manifest(shards: Shards, totals: Totals, sum_of: SumOf, found: Violations) -> None:
    """Hold files, rows, digests and licences against the manifest's, whatever is in it."""
    if shards.manifest is not None:
        _Comparison(shards, shards.manifest, totals, sum_of, found).run()


@dataclass(frozen=True, slots=True)
class _Comparison:
    shards: Shards
    manifest: Mapping[str, Any]
    totals: Totals
    sum_of: SumOf
    found: Violations

    def run(self) -> None:
        released = self.shards.kind != "candidates"
        if released and self.manifest.get("format") not in READABLE:
            what = f"format {self.manifest.get('format')!r}, not {' or '.join(map(str, READABLE))}"
            self.found.add("manifest of another format", MANIFEST, what)
        entries = entries_of(self.manifest)
        if entries is None:
            what = "it has no list of shards, each with its file"
            self.found.add("manifest unreadable", MANIFEST, what)
            return
        for name, entry in entries.items():
            self._shard(name, entry)
        names = Counter(entry["file"] for entry in self.manifest["shards"])
        for name in (name for name, count in names.items() if count > 1):
            self.found.add("shard listed twice", MANIFEST, f"{name}, {names[name]} times")
        for path in self.totals.files:
            name = path.relative_to(self.shards.place).as_posix()
            if name not in entries:
                self.found.add("shard not in manifest", name, "the manifest does not list it")
        if released:
            for config in ("train", "rejected"):
                self._total(config, self._files(config))
        if all(each.whole for each in self.totals.files.values()):
            if released:
                self._licences()
            self._generations()

    def _shard(self, name: str, entry: Mapping[str, Any]) -> None:
        path = self.shards.place / name
        held = self.totals.files.get(path)
        if held is None:
            self.found.add("file missing", name, "the manifest lists it as a shard")
            return
        config = entry.get("config")
        if config is not None and path not in self._files(config):
            what = f"the manifest has it under {config!r}"
            self.found.add("shard under another configuration", name, what)
        actual, size, rows = self.sum_of(path), path.stat().st_size, entry.get("rows")
        if entry.get("sha256") not in (None, actual):
            what = f"it is {actual}, the manifest has {entry['sha256']}"
            self.found.add("checksum differs", name, what)
        if entry.get("bytes") not in (None, size):
            what = f"{size} bytes, the manifest has {entry['bytes']}"
            self.found.add("size differs from manifest", name, what)
        if held.whole and rows != held.rows:
            self.found.add(_COUNT, name, f"{held.rows} rows, the manifest has {rows}")
        digest = entry.get("digest")
        if held.whole and held.digest and digest not in (None, held.digest.hex()):
            self.found.add(_DIGEST, name, f"it is {held.digest.hex()}, the manifest has {digest}")

    def _files(self, config: object) -> Sequence[Path]:
        both = {"train": self.shards.accepted, "rejected": self.shards.rejects}
        return both.get(config, ()) if isinstance(config, str) else ()

    def _total(self, config: str, paths: Sequence[Path]) -> None:
        held = [self.totals.files[path] for path in paths]
        if not all(each.whole for each in held):
            return
        rows, recorded = sum(each.rows for each in held), _inside(self.manifest, "rows", config)
        if rows != recorded:
            self.found.add(
                _COUNT, MANIFEST, f"{rows} rows in {config}, the manifest has {recorded}"
            )
        digests = [each.digest for each in held if each.digest]
        if len(digests) == len(held):
            actual, due = RowDigest.united(digests).hex(), _inside(self.manifest, "digests", config)
            if due not in (None, actual):
                self.found.add(
                    _DIGEST, MANIFEST, f"{config}: it is {actual}, the manifest has {due}"
                )

    def _licences(self) -> None:
        held, recorded = dict(self.totals.licences), self.manifest.get("licenses")
        if held != recorded:
            what = f"rows {str(held)[:60]}, manifest {str(recorded)[:60]}"
            self.found.add("licences differ from manifest", MANIFEST, what)
        due, whole = combined(held), self.manifest.get("license")
        if whole not in (None, due):  # what `push` goes by
            what = f"of its rows {due[:60]!r}, manifest {str(whole)[:60]!r}"
            self.found.add("licence of the whole differs from its rows", MANIFEST, what)

    def _generations(self) -> None:
        for key, run in (runs_of(self.manifest) or {}).items():
            rows = run.get("rows")
            recorded = rows if isinstance(rows, dict) else {}
            for config in ("train", "rejected"):
                actual = self.totals.generations[key, config]
                due = recorded.get(config, actual)
                if actual != due:
                    what = f"generation {key}: {actual} rows in {config}, the manifest has {due}"
                    self.found.add(_COUNT, MANIFEST, what)


def entries_of(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """What a manifest says of each shard, by its name; None if it has no such list."""
    entries = manifest.get("shards")
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        return None
    named = all(isinstance(each.get("file"), str) for each in entries)
    return {each["file"]: each for each in entries} if named else None


def _inside(manifest: Mapping[str, Any], key: str, config: str) -> Any:
    value = manifest.get(key)
    return value.get(config) if isinstance(value, dict) else None
