"""The kinds of rows beside coordination's that can be released."""

from pathlib import Path

from pipeline.core.parquet import column_names
from pipeline.corpus.layout import Shards
from pipeline.release.kinds.protocol import RowKind
from pipeline.release.pairs.rows import NewPairs
from pipeline.release.questions.rows import MadeQuestions

KINDS: tuple[RowKind, ...] = (NewPairs(), MadeQuestions())
"""Each says by which columns its rows are known."""


def kind_of(shards: Shards) -> RowKind | None:
    """The kind of rows that a corpus has; None where they are coordination's, or nobody's."""
    task = (shards.manifest or {}).get("task")
    first = next(iter((*shards.accepted, *shards.rejects)), None)
    return next((kind for kind in KINDS if kind.task == task or _has(kind, first)), None)


def _has(kind: RowKind, file: Path | None) -> bool:
    return file is not None and not kind.marks.isdisjoint(column_names(file))
