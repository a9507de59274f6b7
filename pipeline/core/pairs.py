"""Argument pairs with their relation, as ``ingest`` keeps them and as ``synthesize`` makes new ones."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.corpus_folder import RELATIONS_FILE, require_ingested
from pipeline.core.files import digest_of
from pipeline.core.parquet import read_rows, write_rows

IMPLICIT, EXPLICIT = "implicit", "explicit"

_TEXTS = pa.list_(pa.field("element", pa.string(), nullable=False))

PAIRS = pa.schema(
    [
        pa.field("pair_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("arg1", pa.string(), nullable=False),
        pa.field("arg2", pa.string(), nullable=False),
        pa.field("words1", _TEXTS, nullable=False),
        pa.field("words2", _TEXTS, nullable=False),
        pa.field("senses", _TEXTS, nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("connective", pa.string()),
        pa.field("beside_explicit", pa.bool_(), nullable=False),
        pa.field("license", pa.string(), nullable=False),
    ]
)
"""The columns of ``relations.parquet``, which are the fields of ``Pair``."""

SYNTHETIC = pa.schema(
    [
        pa.field("candidate_id", pa.string(), nullable=False),
        pa.field("sentence_id", pa.string(), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("arg1", pa.string(), nullable=False),
        pa.field("arg2", pa.string(), nullable=False),
        pa.field("confused", pa.string()),
        pa.field("writer", pa.string(), nullable=False),
        pa.field("prompt", pa.string()),
        pa.field("completion", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("score", pa.float32()),
        pa.field("license", pa.string(), nullable=False),
    ]
)
"""Columns of ``candidates-*.parquet`` of new pairs: ``sentence_id`` is the id of the pair that it was made
of, ``label`` the sense that it was written for (R_true), ``confused`` what that is taken for (R_pred);
``prompt`` is a digest."""

SYNTHETIC_REJECTS = SYNTHETIC.append(pa.field("reason", pa.string(), nullable=False))


def synthetic_id(pair_id: str, label: str, arg1: str, arg2: str) -> str:
    """The id of a new pair: a hash of the content, 24 hex digits."""
    return digest_of([pair_id, label, arg1, arg2])[:24]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two arguments and the relation between them.

    Attributes:
        pair_id: unique in its corpus, whose name it begins with.
        doc_id: the document's.
        split: one of ``core.types.SPLITS``.
        arg1: the first argument as the text has it, without a connective; pieces of one that is no
            connected text are joined by a blank.
        arg2: the second.
        words1: what blanks divide ``arg1`` into.
        words2: what blanks divide ``arg2`` into.
        senses: of the second level, as ``comparison.concession``, each once; all are right.
        kind: ``implicit``, ``explicit`` …, in small letters.
        connective: the text's own of an explicit pair, the annotators' of an implicit one.
        beside_explicit: an explicit relation holds between the same arguments.
        license: of the text.
    """

    pair_id: str
    doc_id: str
    split: str
    arg1: str
    arg2: str
    words1: tuple[str, ...]
    words2: tuple[str, ...]
    senses: tuple[str, ...]
    kind: str
    connective: str | None
    beside_explicit: bool
    license: str
    tags: None = None

    @property
    def sentence_id(self) -> str:
        """Its id, by the name that draws and candidates have for their sources."""
        return self.pair_id

    @property
    def words(self) -> tuple[str, ...]:
        """Those of both arguments."""
        return self.words1 + self.words2

    def among(self, senses: AbstractSet[str]) -> "Pair":
        """The pair with those of its senses that a model knows."""
        return replace(self, senses=tuple(each for each in self.senses if each in senses))


def pair_text(arg1: str, arg2: str) -> str:
    """Both arguments in brackets, as people read them."""
    return f"[{arg1}] [{arg2}]"


def pair_row(pair: Pair) -> dict[str, Any]:
    """The row of a pair."""
    return {name: getattr(pair, name) for name in PAIRS.names}


def write_pairs(corpus: Path, pairs: Iterable[Pair]) -> int:
    """Write ``relations.parquet`` of a corpus folder; returns how many pairs.

    Raises:
        InputError: the folder cannot be written to.
    """
    return write_rows(corpus / RELATIONS_FILE, PAIRS, map(pair_row, pairs))


def read_pairs(
    corpus: Path,
    splits: AbstractSet[str] | None = None,
    kinds: AbstractSet[str] | None = frozenset({IMPLICIT}),
) -> Iterator[Pair]:
    """The pairs of a corpus in their order, with all their senses.

    Args:
        corpus: the folder.
        splits: those wanted; None: all.
        kinds: those wanted; None: all.

    Raises:
        InputError: ``ingest`` did not finish there, or the file is not as it wrote it.
    """
    require_ingested(corpus, RELATIONS_FILE)
    for row in read_rows(corpus / RELATIONS_FILE, PAIRS):
        if (splits is None or row["split"] in splits) and (kinds is None or row["kind"] in kinds):
            listed = {name: tuple(row[name]) for name in ("words1", "words2", "senses")}
            yield Pair(**(row | listed))
