"""From rows of a stand-off release and the words of their sources to the rows that were released."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.ground.errors import InputError
from pipeline.ground.files import digest_of
from pipeline.mechanisms.release.sealing import unseal

__all__ = ["Rebuilder", "rebuilt_text"]

_READ = (
    "candidate_id", "sentence_id", "coordinator", "word", "conjuncts", "reference",
    "fill", "fill_words", "sealed", "source",
)  # fmt: skip


def rebuilt_text(row: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The fill and the words of the generated sentence; None if the source is not the one it was made of.

    Args:
        row: a row of a stand-off release, with the words of its source sentence as ``source``.
    """
    source, fill, words = row["source"], row["fill"], row["fill_words"]
    if row["sealed"] is not None:
        text = unseal(row["sealed"], row["candidate_id"], source)
        if text is None:
            return None
        open_ = json.loads(text)
        if "words" in open_:
            return open_["fill"], open_["words"]
        fill, words = open_["fill"], open_["fill_words"]
    if fill is None or words is None:
        return None
    if row["word"] is None:
        return fill, source
    end = row["reference"]["end"]
    return fill, [*source[:end], row["word"], *words, *source[end:]]


class Rebuilder:
    """Puts the source's words back into rows, and keeps account of where that failed.

    Attributes:
        missing: sentence ids that the source does not have, counted by row.
        locked: rows that other words are sealed under than the source has.
        changed: rows whose content is not what their id says. Only a hint why the digest is another:
            an id that conjoin did not make says nothing.
    """

    def __init__(self) -> None:
        self.missing, self.locked, self.changed = _Fault(), _Fault(), _Fault()

    def rebuild(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows with text.

        Args:
            batches: rows of a stand-off release, with their source's words in column ``source``.
            schema: ``RELEASED`` or ``RELEASED_REJECTS``.

        A row that cannot be rebuilt has no words; whoever keeps the rows asks ``error`` first.
        """
        for batch in batches:
            texts = [self._text(row) for row in batch.select(list(_READ)).to_pylist()]
            new = {
                "fill": pa.array([fill for fill, _ in texts], schema.field("fill").type),
                "words": pa.array([words for _, words in texts], schema.field("words").type),
            }
            columns = [new[f.name] if f.name in new else batch.column(f.name) for f in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def error(self, source: Path) -> InputError:
        """One line on why the source is not the one the release was made of."""
        faults = {
            "their sentence is not in it": self.missing,
            "sealed under other words": self.locked,
            "rebuilt to other words than were released": self.changed,
        }
        parts = [
            f"{what}: {f.rows:,} rows, first {f.first}" for what, f in faults.items() if f.rows
        ]
        return InputError(
            "this is not the source that the release was made of ("
            + ("; ".join(parts) or "the rows come out with another digest")
            + ")",
            path=source,
            remedy="ingest the very corpus that the release's manifest.json names as its source",
        )

    def _text(self, row: Mapping[str, Any]) -> tuple[str, list[str]]:
        """The row's text, or none in place of it: what is at fault is never written."""
        if row["source"] is None:
            self.missing.add(row)
            return "", []
        text = rebuilt_text(row)
        if text is None:
            self.locked.add(row)
            return "", []
        spans = [[s["start"], s["end"]] for s in (row["reference"], *row["conjuncts"])]
        content = [row["sentence_id"], text[1], row["coordinator"], spans]
        if not str(digest_of(content)).startswith(row["candidate_id"]):
            self.changed.add(row)
        return text


class _Fault:
    """How many rows have a fault, and the sentence of the first."""

    def __init__(self) -> None:
        self.rows, self.first = 0, ""

    def add(self, row: Mapping[str, Any]) -> None:
        self.first = self.first or row["sentence_id"]
        self.rows += 1
