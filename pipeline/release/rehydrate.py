"""A stand-off release with its text put back: rows, shards and manifest."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.parquet import MANIFEST, row_count
from pipeline.core.types import Span, candidate_id
from pipeline.corpus.layout import Shards
from pipeline.corpus.manifest import FORMAT
from pipeline.release.kinds.protocol import Columns, PuttingBack
from pipeline.release.shards import CONFIGS, RELEASED, STAND_OFF, with_source, write_shards
from pipeline.release.stand_off import donated_fill, natural_fill, rebuilt_words
from pipeline.text.columns import with_text


def write_rehydrated(
    folder: Path, shards: Shards, source: Path, command: str, putting: PuttingBack
) -> dict[str, Any]:
    """Write shards and ``manifest.json`` into an empty folder; rows and shards are those released.

    Args:
        folder: of the rebuilt release.
        shards: the stand-off release; ``require_whole`` has checked it.
        source: the ``sentences.parquet`` it was made of.
        command: the line that does this.
        putting: what puts its words back.

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
    entries, found = [], {}
    for config, files in zip(CONFIGS, (shards.accepted, shards.rejects), strict=True):
        if (held := sum(map(row_count, files))) != rows[config]:
            raise InputError(
                f"it has {rows[config]:,} rows in {config}, its files hold {held:,}",
                path=shards.place / MANIFEST, remedy="get the release again",
            )  # fmt: skip
        if not files:
            continue
        with putting.rows(files, config) as batches:
            made, whole = write_shards(
                folder, config, putting.released[config], batches,
                rows=rows[config], count=len(files),
            )  # fmt: skip
        entries += made
        found[config] = whole.hex()
    if any(found.get(config, expected[config]) != expected[config] for config in CONFIGS):
        raise putting.error(source)
    manifest |= {
        "format": FORMAT,
        "stand_off": False,
        "rehydrated": True,
        "digests": expected,
        "shards": entries,
        "command": f"{manifest.get('command', '')} && {command}",
    }
    write_json(folder / MANIFEST, manifest)
    return manifest


_READ = (
    "candidate_id", "sentence_id", "coordinator", "word", "conjuncts", "reference", "fill",
    "fill_words", "donor", "middle_donors", "gap", "source", "donated", "donated_middle",
)  # fmt: skip
_MISSING = "their sentence is not in it"
_NO_DONOR = "their donor is not in it"
_CHANGED = "rebuilt to other words than were released"


class RebuiltCandidates:
    """Puts the source's words back into rows of coordination (``PuttingBack``).

    Args:
        source: a ``sentences.parquet``.
    """

    released: Columns = RELEASED

    def __init__(self, source: Path) -> None:
        self._source = source
        self._rows = dict.fromkeys((_MISSING, _NO_DONOR, _CHANGED), 0)
        self._first = dict.fromkeys(self._rows, "")

    @contextmanager
    def rows(self, files: Sequence[Path], config: str) -> Iterator[Iterator[pa.RecordBatch]]:
        """See ``PuttingBack``."""
        with with_source(files, STAND_OFF[config], self._source) as batches:
            yield self._rebuilt(batches, RELEASED[config])

    def _rebuilt(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows with text.

        Args:
            batches: rows of a stand-off release, with the columns of ``with_source``.
            schema: ``RELEASED`` or ``RELEASED_REJECTS``.

        A row whose sentence or donor is missing has no words; the caller compares the rows' digest.
        """
        for batch in batches:
            made = [self._text(row) for row in batch.select(_READ).to_pylist()]
            texts = {
                name: pa.array([each[i] for each in made], schema.field(name).type)
                for i, name in enumerate(("fill", "words"))
            }
            there = {name: batch.column(name) for name in batch.schema.names} | texts
            # What else was left out follows from the words.
            columns = [
                there[f.name] if f.name in there else pa.nulls(len(made), f.type) for f in schema
            ]
            yield with_text(pa.RecordBatch.from_arrays(columns, schema=schema))

    def error(self, source: Path) -> InputError:
        """One line on why the source is not the one the release was made of."""
        parts = [
            f"{what}: {rows:,} rows, first {self._first[what]}"
            for what, rows in self._rows.items()
            if rows
        ]
        return another_source(source, parts)

    def _text(self, row: Mapping[str, Any]) -> tuple[str, list[str]]:
        """The fill and the words of the sentence."""
        if row["source"] is None:
            return self._fault(_MISSING, row)
        fill, own = row["fill"] or "", row["fill_words"] or []
        harvested = row["donor"] is None and row["fill"] is None and bool(row["conjuncts"])
        if harvested:
            fill = natural_fill(row)
        elif row["donor"] is not None:
            donated = donated_fill(row)
            if donated is None:
                return self._fault(_NO_DONOR, row)
            fill, own = donated
        words = row["source"] if harvested else rebuilt_words({**row, "fill_words": own})
        first, *others = (Span(s["start"], s["end"]) for s in (row["reference"], *row["conjuncts"]))
        own = candidate_id(row["sentence_id"], words, row["coordinator"], first, others)
        if not own.startswith(row["candidate_id"]):
            # Only a hint why the digest is another: an id that conjoin did not make says nothing.
            self._fault(_CHANGED, row)
        return fill, words

    def _fault(self, what: str, row: Mapping[str, Any]) -> tuple[str, list[str]]:
        self._first[what] = self._first[what] or row["sentence_id"]
        self._rows[what] += 1
        return "", []


def another_source(source: Path, faults: Sequence[str]) -> InputError:
    """One line on why the source is not the one that the release was made of."""
    return InputError(
        "this is not the source that the release was made of ("
        + ("; ".join(faults) or "the rows come out with another digest")
        + ")",
        path=source,
        remedy="ingest the very corpus that the release's manifest.json names as its source",
    )
