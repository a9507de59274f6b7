"""What stays readable in a stand-off release beside the generated text, and must not be the source's.

Ids, labels, reasons and names of runs are handed on as they stand in rows that anybody may have made, so
each has a form in which no sentence could be written; a manifest is searched for the source's sentences.
What else is kept of a row and has text in it must be one short name, whatever column it is.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import InputError
from pipeline.core.parquet import MANIFEST
from pipeline.core.types import COLUMNS, Span, candidate_id
from pipeline.corpus.licences import UNKNOWN, terms
from pipeline.release.method_text import said

_LABEL = re.compile(r"[A-Z][A-Z0-9$-]{0,7}")
_NO_TEXT = pa.array([], pa.string())
_ID = re.compile(r"[0-9a-f]{24}")
_RUN = re.compile(r"[0-9a-f]{16}")
_REASON = 200  # characters: the labels that `select` asked for may be many
_LICENCE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,98}[\x21-\x7e])?")
_NAME = re.compile(r"[\w.:/+-]{1,40}", re.ASCII)
_SHOWN = 40  # characters of it in a message
_AGAIN = "generate again"


def meaning(reason: str) -> str | None:
    """What a reason of ``generate`` or ``select`` means; None of any other."""
    exact: str | None = said("reasons").get(reason)
    if exact is not None:
        return exact
    return next((explanation for form, explanation in _forms() if form.fullmatch(reason)), None)


@cache
def _forms() -> list[tuple[re.Pattern[str], str]]:
    """Reasons with what was asked for in them, such as a bound of the score."""
    return [
        (re.compile(form, re.ASCII), explanation) for form, explanation in said("asked").items()
    ]


_PROVEN = {"candidate_id", "sentence_id", "label", "generation", "reason", "license"}
_OTHERS = [
    each.name
    for each in COLUMNS
    if each.of in ("candidate", "release", "reject")
    and (each.kind, each.stand_off) == ("string", "kept")
    and each.name not in _PROVEN
]
"""Columns with text that a stand-off release keeps and of which nothing else is asked."""


def require_readable(batch: pa.RecordBatch) -> None:
    """Check labels, runs, reasons and licences of rows that are about to lose their text.

    Raises:
        InputError: one could be text.
    """
    asked: list[tuple[str, Callable[[str], object], str]] = [
        ("label", _LABEL.fullmatch, "give labels of up to eight capital letters, such as NP, and "),
        ("generation", _RUN.fullmatch, "the key of a run is 16 hex digits: "),
        ("reason", _is_reason, "a reason is one that `generate` or `select` gives: "),
        ("license", _LICENCE.fullmatch, "name the licence of the source as SPDX does, and "),
    ]
    asked += [(name, _NAME.fullmatch, "a value of it is one short name: ") for name in _OTHERS]
    for column, holds, remedy in asked:
        if column not in batch.schema.names:
            continue
        for value in pc.unique(batch.column(column).drop_null()).to_pylist():
            if not holds(value):
                raise InputError(
                    f"{column} {value[:_SHOWN]!r} could be text of the source, and {column}s stay "
                    "readable",
                    remedy=remedy + _AGAIN,
                )  # fmt: skip


def require_no_words(batch: pa.RecordBatch) -> None:
    """Check rows of a stand-off release, whose words are not at hand, for what could be text.

    Args:
        batch: rows of coordination. Ids of sentences are whatever their corpus calls them.

    Raises:
        InputError: an id is no hash; as ``require_readable``.
    """
    ids = batch.column("candidate_id") if "candidate_id" in batch.schema.names else _NO_TEXT
    for value in pc.unique(ids.drop_null()).to_pylist():
        if not _ID.fullmatch(value):
            raise InputError(
                f"candidate_id {value[:_SHOWN]!r} is no hash, so it could be text of the source",
                remedy=_AGAIN,
            )  # fmt: skip
    require_readable(batch)


def _is_reason(reason: str) -> bool:
    return len(reason) <= _REASON and meaning(reason) is not None


def free_texts(row: Mapping[str, Any]) -> list[str]:
    """What was written by hand in a row's readable columns: a licence of one's own, labels asked for."""
    found = []
    if row["license"] != UNKNOWN and not terms(row["license"]).known:
        found.append(row["license"])
    if row.get("reason") is not None and row["reason"] not in said("reasons"):
        found.append(row["reason"])
    return found


def require_own_id(row: Mapping[str, Any]) -> None:
    """Check that a row's id is the hash of its content, which says nothing.

    Raises:
        InputError: it is something else.
    """
    first, *others = (Span(s["start"], s["end"]) for s in (row["reference"], *row["conjuncts"]))
    own = candidate_id(row["sentence_id"], row["words"], row["coordinator"], first, others)
    if row["candidate_id"] != own:
        raise InputError(
            f"candidate_id {row['candidate_id'][:_SHOWN]!r} is not the hash of its row ({own}): it could "
            "be text of the source, and ids stay readable",
            sentence_id=row["sentence_id"], remedy=_AGAIN,
        )  # fmt: skip


def require_no_text(manifest: Mapping[str, Any], repeats: Callable[[str], bool]) -> None:
    """Check that a manifest has no sentence of the source in it, wherever in it that stands.

    Args:
        manifest: of the release.
        repeats: whether a text has such a sentence.

    Raises:
        InputError: it has.
    """
    for text in dict.fromkeys(_texts(manifest)):
        if repeats(text):
            raise InputError(
                f"what {MANIFEST} says holds a sentence of the source: {text[:_SHOWN]!r}",
                remedy="take it out of the settings that it came from, and make the candidates again",
            )


def _texts(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            waiting += part
