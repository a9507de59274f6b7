"""A stand-off release with its text put back: rows, shards and manifest."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, write_json
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.layout import Shards
from pipeline.release.shards import CONFIGS, RELEASED, STAND_OFF, with_source, write_shards
from pipeline.release.stand_off import rebuilt_words


def write_rehydrated(folder: Path, shards: Shards, source: Path, command: str) -> dict[str, Any]:
    """Write shards and ``manifest.json`` into an empty folder; rows and shards are those released.

    Args:
        folder: of the rebuilt release.
        shards: the stand-off release; ``require_whole`` has checked it.
        source: the ``sentences.parquet`` it was made of.
        command: the line that does this.

    Returns:
        The manifest.

    Raises:
        InputError: the source is another one, or the manifest has no digests to hold the rows against.
    """
    manifest = dict(shards.manifest or {})
    try:
        digests = manifest.pop("full_digests")
        expected = {config: str(digests[config]) for config in CONFIGS}
        rows = {config: int(manifest["rows"][config]) for config in CONFIGS}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "not a manifest of a stand-off release: it lacks rows or full_digests",
            path=shards.place / MANIFEST, remedy="get the release again",
        ) from error  # fmt: skip
    entries, found, rebuilder = [], {}, _Rebuilder()
    for config, files in zip(CONFIGS, (shards.accepted, shards.rejects), strict=True):
        if not files and not rows[config]:
            continue
        with with_source(files, STAND_OFF[config], source) as batches:
            made, whole = write_shards(
                folder, config, RELEASED[config], rebuilder.rebuild(batches, RELEASED[config]),
                rows=rows[config], count=len(files),
            )  # fmt: skip
        entries += made
        found[config] = whole.hex()
    if any(found.get(config, expected[config]) != expected[config] for config in CONFIGS):
        raise rebuilder.error(source)
    manifest |= {
        "stand_off": False,
        "rehydrated": True,
        "digests": expected,
        "shards": entries,
        "command": f"{manifest.get('command', '')} && {command}",
    }
    write_json(folder / MANIFEST, manifest)
    return manifest


_READ = (
    "candidate_id", "sentence_id", "coordinator", "word", "conjuncts", "reference", "fill_words", "source",
)  # fmt: skip
_MISSING = "their sentence is not in it"
_CHANGED = "rebuilt to other words than were released"


class _Rebuilder:
    """Puts the source's words back into rows, and keeps account of where that failed."""

    def __init__(self) -> None:
        self._rows = {_MISSING: 0, _CHANGED: 0}
        self._first = {_MISSING: "", _CHANGED: ""}

    def rebuild(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows with text.

        Args:
            batches: rows of a stand-off release, with their source's words in column ``source``.
            schema: ``RELEASED`` or ``RELEASED_REJECTS``.

        A row whose sentence is missing has no words; the caller compares the rows' digest.
        """
        for batch in batches:
            texts = pa.array(
                [self._words(row) for row in batch.to_pylist()], schema.field("words").type
            )
            columns = [texts if f.name == "words" else batch.column(f.name) for f in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def error(self, source: Path) -> InputError:
        """One line on why the source is not the one the release was made of."""
        parts = [
            f"{what}: {rows:,} rows, first {self._first[what]}"
            for what, rows in self._rows.items()
            if rows
        ]
        return InputError(
            "this is not the source that the release was made of ("
            + ("; ".join(parts) or "the rows come out with another digest")
            + ")",
            path=source,
            remedy="ingest the very corpus that the release's manifest.json names as its source",
        )

    def _words(self, row: Mapping[str, Any]) -> list[str]:
        if row["source"] is None:
            return self._fault(_MISSING, row)
        words = rebuilt_words(row)
        spans = [[s["start"], s["end"]] for s in (row["reference"], *row["conjuncts"])]
        content = [row["sentence_id"], words, row["coordinator"], spans]
        if not str(digest_of(content)).startswith(row["candidate_id"]):
            # Only a hint why the digest is another: an id that conjoin did not make says nothing.
            self._fault(_CHANGED, row)
        return words

    def _fault(self, what: str, row: Mapping[str, Any]) -> list[str]:
        self._first[what] = self._first[what] or row["sentence_id"]
        self._rows[what] += 1
        return []
