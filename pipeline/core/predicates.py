"""Predicates with their arguments, as ``ingest`` keeps them in a corpus folder beside its sentences."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.corpus_folder import ARGUMENTS_FILE, require_ingested
from pipeline.core.parquet import read_rows
from pipeline.core.types import Span

ROLES = ("NOM", "ACC", "DAT")
"""ガ, ヲ and ニ: subject, direct and indirect object."""

DEP, ZAR = "DEP", "ZAR"
"""How an argument is tied to its predicate: one of their bunsetsu depends on the other, or none does."""

_SPANS = pa.list_(
    pa.field(
        "element",
        pa.struct([pa.field(each, pa.int32(), nullable=False) for each in ("start", "end")]),
        nullable=False,
    )
)
_WORDS = pa.list_(pa.field("element", pa.int32(), nullable=False))
_ARGUMENT = pa.struct(
    [
        pa.field("role", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("fillers", _WORDS, nullable=False),
        pa.field("mentions", _WORDS, nullable=False),
    ]
)
PREDICATES = pa.schema(
    [
        pa.field("sentence_id", pa.string(), nullable=False),
        pa.field("predicate", pa.int32(), nullable=False),
        pa.field("start", pa.int32(), nullable=False),
        pa.field("end", pa.int32(), nullable=False),
        pa.field("tied", _SPANS, nullable=False),
        pa.field("verbal", pa.bool_(), nullable=False),
        pa.field(
            "arguments", pa.list_(pa.field("element", _ARGUMENT, nullable=False)), nullable=False
        ),
    ]
)
"""The columns of ``arguments.parquet``."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What fills a role, in the sentence of its predicate.

    Attributes:
        role: one of ``ROLES``.
        kind: ``DEP`` or ``ZAR``.
        fillers: numbers of the words that fill it, each of which is right.
        mentions: numbers of further words that mean the same as one of them.
    """

    role: str
    kind: str
    fillers: tuple[int, ...]
    mentions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate of a sentence.

    Attributes:
        sentence_id: the sentence's.
        predicate: number of its word.
        phrase: the words of its bunsetsu, none of which can be its argument.
        tied: the bunsetsu that depend on that, in their order, and the one that it depends on: an argument
            in one of them is ``DEP``.
        verbal: it is a verb or an adjective, or has a copula; else a noun.
        arguments: at most one a role, in the order of ``ROLES``.
    """

    sentence_id: str
    predicate: int
    phrase: Span
    verbal: bool
    arguments: tuple[Argument, ...]
    tied: tuple[Span, ...] = ()

    def kind_of(self, word: int) -> str:
        """``DEP`` or ``ZAR``: how a word would be tied to it as its argument."""
        return DEP if any(each.start <= word < each.end for each in self.tied) else ZAR


def predicate_row(predicate: Predicate) -> dict[str, Any]:
    """The row of a predicate."""
    return {
        "sentence_id": predicate.sentence_id,
        "predicate": predicate.predicate,
        "start": predicate.phrase.start,
        "end": predicate.phrase.end,
        "tied": [{"start": each.start, "end": each.end} for each in predicate.tied],
        "verbal": predicate.verbal,
        "arguments": [
            {"role": a.role, "kind": a.kind, "fillers": a.fillers, "mentions": a.mentions}
            for a in predicate.arguments
        ],
    }


def read_predicates(corpus: Path, sentences: AbstractSet[str] | None = None) -> Iterator[Predicate]:
    """The predicates of a corpus in their order.

    Args:
        corpus: the folder.
        sentences: ids of those whose predicates are wanted; None: all.

    Raises:
        InputError: ``ingest`` did not finish there, or the file is not as it wrote it.
    """
    require_ingested(corpus, ARGUMENTS_FILE)
    for row in read_rows(corpus / ARGUMENTS_FILE, PREDICATES):
        if sentences is None or row["sentence_id"] in sentences:
            yield Predicate(
                row["sentence_id"], row["predicate"], Span(row["start"], row["end"]), row["verbal"],
                tuple(
                    Argument(a["role"], a["kind"], tuple(a["fillers"]), tuple(a["mentions"]))
                    for a in row["arguments"]
                ),
                tuple(Span(each["start"], each["end"]) for each in row["tied"]),
            )  # fmt: skip
