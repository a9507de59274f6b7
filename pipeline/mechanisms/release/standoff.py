"""Rows without a word of their source, and back: what `release --stand-off` and `rehydrate` do to rows."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

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
        other: rows sealed because they are not the source with a coordinator and a fill put in.
        rows: all of them.
    """

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats
        self.rows = self.repeating = self.other = 0

    def convert(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Rows in the form of a stand-off release.

        Args:
            batches: rows as in a release with text, and their source's words in column ``source``.
            schema: ``STAND_OFF`` or ``STAND_OFF_REJECTS``.

        Raises:
            InputError: a sentence is not in the source, or a row does not rebuild exactly.
        """
        for batch in batches:
            rows = batch.select(list(_READ)).to_pylist()
            for row in rows:
                if row["source"] is None:
                    raise InputError(
                        "a row is of a sentence that the source does not have",
                        sentence_id=row["sentence_id"], remedy="name its corpus with --corpus",
                    )  # fmt: skip
            hidden = [self._hide(row) for row in rows]
            for row, each in zip(rows, hidden, strict=True):
                if rebuilt_text({**row, **each}) != (row["fill"], row["words"]):
                    raise InputError(
                        f"candidate {row['candidate_id']} cannot be rebuilt from its source",
                        sentence_id=row["sentence_id"], remedy="report this as a bug",
                    )  # fmt: skip
            columns = [
                pa.array([each[f.name] for each in hidden], f.type)
                if f.name in _HIDDEN
                else batch.column(f.name)
                for f in schema
            ]
            self.rows += len(batch)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _hide(self, row: Mapping[str, Any]) -> dict[str, Any]:
        source, fill = row["source"], row["fill"]
        form = _form(row)
        if form is None:
            self.other += 1
            return _closed(row, None, {"fill": fill, "words": row["words"]})
        word, words = form
        reference = source[row["reference"]["start"] : row["reference"]["end"]]
        if self._repeats.found(fill, words, source, reference):
            self.repeating += 1
            return _closed(row, word, {"fill": fill, "fill_words": words})
        return {"word": word, "fill": fill, "fill_words": words, "sealed": None}


_HIDDEN = frozenset({"word", "fill", "fill_words", "sealed"})


def _closed(row: Mapping[str, Any], word: str | None, text: Mapping[str, Any]) -> dict[str, Any]:
    written = json.dumps(text, ensure_ascii=False, sort_keys=True).encode()
    sealed = seal(written, row["candidate_id"], row["source"])
    return {"word": word, "fill": None, "fill_words": None, "sealed": sealed}


def _form(row: Mapping[str, Any]) -> tuple[str | None, Sequence[str]] | None:
    """Coordinator and words of the fill, if the row is the source with these put in after the reference.

    Without a usable fill a reject is the source itself: no coordinator, and no words.
    """
    words, source, at = row["words"], row["source"], row["coordinator"]
    if at == -1:
        return (None, []) if words == source and not row["conjuncts"] else None
    end = row["reference"]["end"]
    after = len(words) - (len(source) - end)  # where the source goes on
    fits = 0 <= end == at < after and words[:end] == source[:end] and words[after:] == source[end:]
    if not fits or len(words[at]) > _WORD or words[at].split() != [words[at]]:
        return None
    return words[at], words[at + 1 : after]


_WORD = 20  # characters of a coordinator at most; what is longer could be anything
