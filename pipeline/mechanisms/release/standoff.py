"""Rows without their source's words: what `release --stand-off` does to rows."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.ground.errors import InputError
from pipeline.mechanisms.release.rebuilding import rebuilt_text
from pipeline.mechanisms.release.repeats import Repeats
from pipeline.mechanisms.release.sealing import seal

__all__ = ["StandOff"]

_READ = (
    "candidate_id", "sentence_id", "words", "coordinator", "conjuncts", "reference", "fill", "source",
)  # fmt: skip


class StandOff:
    """Takes the source's words out of rows, and proves of each that it can be rebuilt.

    Args:
        repeats: what finds the source's text in generated text.

    Attributes:
        repeating: rows whose generated text is sealed because it repeats the source.
        other: rows sealed because their coordinator could be anything.
        rows: all of them.
    """

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats
        self.rows = self.repeating = self.other = 0
        self._foreign, self._first = 0, ""

    def convert(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows in the form of a stand-off release.

        Args:
            batches: rows as in a release with text, and their source's words in column ``source``.
            schema: ``STAND_OFF`` or ``STAND_OFF_REJECTS``.

        A row that is not of the sentence beside it has no text; whoever keeps the rows asks
        ``require_own`` first.

        Raises:
            InputError: a row does not rebuild exactly, or a label could be text.
        """
        for batch in batches:
            _require_labels(batch)
            rows = batch.select(list(_READ)).to_pylist()
            hidden = [self._hide(row) for row in rows]
            columns = [
                pa.array([each[f.name] for each in hidden], f.type)
                if f.name in _HIDDEN
                else batch.column(f.name)
                for f in schema
            ]
            self.rows += len(batch)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def require_own(self, source: Path) -> None:
        """Refuse rows of which it is not proven that the source's sentences are theirs.

        What they are sealed under would otherwise be another text, which may be public.

        Raises:
            InputError: there are such rows.
        """
        if self._foreign:
            raise InputError(
                f"{self._foreign:,} rows are not what this corpus has under their sentence's id with a "
                "coordinator and a fill put in",
                path=source, sentence_id=self._first,
                remedy="name the corpus that they were made from with --corpus",
            )  # fmt: skip

    def _hide(self, row: Mapping[str, Any]) -> dict[str, Any]:
        inserted = None if row["source"] is None else _inserted(row)
        if inserted is None:
            self._first = self._first or row["sentence_id"]
            self._foreign += 1
            return dict.fromkeys(_HIDDEN)
        hidden = self._without(row, *inserted)
        if rebuilt_text({**row, **hidden}) != (row["fill"], row["words"]):
            raise InputError(
                f"candidate {row['candidate_id']} cannot be rebuilt from its source",
                sentence_id=row["sentence_id"], remedy="report this as a bug",
            )  # fmt: skip
        return hidden

    def _without(
        self, row: Mapping[str, Any], word: str | None, words: Sequence[str]
    ) -> dict[str, Any]:
        """The row's hidden columns as they may be read by anybody."""
        fill, source = row["fill"], row["source"]
        if (word is None and row["conjuncts"]) or (word is not None and not _plain_word(word)):
            self.other += 1
            return _closed(row, None, {"fill": fill, "words": row["words"]})
        reference = source[row["reference"]["start"] : row["reference"]["end"]]
        if self._repeats.found(word, fill, words, source, reference):
            self.repeating += 1
            return _closed(row, word, {"fill": fill, "fill_words": words})
        return {"word": word, "fill": fill, "fill_words": words, "sealed": None}


_HIDDEN = ("word", "fill", "fill_words", "sealed")
_LABEL = re.compile(r"[A-Z][A-Z0-9$-]{0,7}")
_WORD = 20  # characters of a coordinator at most; what is longer could be anything


def _plain_word(word: str) -> bool:
    return len(word) <= _WORD and word.split() == [word]


def _require_labels(batch: pa.RecordBatch) -> None:
    for label in pc.unique(batch.column("label")).to_pylist():
        if not _LABEL.fullmatch(label):
            raise InputError(
                f"label {label[:40]!r} could be text of the source, and labels stay readable",
                remedy="give labels of up to eight capital letters, such as NP, and generate again",
            )


def _closed(row: Mapping[str, Any], word: str | None, text: Mapping[str, Any]) -> dict[str, Any]:
    written = json.dumps(text, ensure_ascii=False, sort_keys=True).encode()
    sealed = seal(written, row["candidate_id"], row["source"])
    return {"word": word, "fill": None, "fill_words": None, "sealed": sealed}


def _inserted(row: Mapping[str, Any]) -> tuple[str | None, Sequence[str]] | None:
    """Coordinator and words of the fill, put in after the reference; None if the row is not so.

    Only then does it show that the source's sentence is its own. Without a usable fill a reject is
    the source itself: no coordinator, and no words.
    """
    words, source, at = row["words"], row["source"], row["coordinator"]
    if at == -1:
        return (None, []) if words and words == source else None
    end = row["reference"]["end"]
    after = len(words) - (len(source) - end)  # where the source goes on
    whole = words[:end] == source[:end] and words[after:] == source[end:]
    # The last conjunct is the fill: otherwise the end of a longer sentence could pass for one.
    filled = row["conjuncts"][-1:] == [{"start": at + 1, "end": after}]
    return (
        (words[at], words[at + 1 : after]) if 0 < end == at < after and whole and filled else None
    )
