"""The dependency trees of a corpus by sentence, looked up when wanted; and whose they are."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from pipeline.core.corpus_folder import DEPENDENCIES_FILE
from pipeline.core.parquet import read_batches
from pipeline.core.schema import DEPENDENCIES
from pipeline.corpus.engine import engine, fetched, parquet

TEXT_PARSER = "a parser of unlabelled text"
"""What made the trees of unlabelled text that came parsed: its rows do not say."""


def has_dependencies(corpus: Path) -> bool:
    """Whether a corpus has dependency trees."""
    return (corpus / DEPENDENCIES_FILE).is_file()


def parsed_ids(corpus: Path) -> frozenset[str]:
    """Ids of the sentences of a corpus whose dependency tree is a parser's.

    Raises:
        InputError: the file is damaged, or not of this form.
    """
    found: set[str] = set()
    columns = _columns("sentence_id", "parsed")
    for batch in read_batches(corpus / DEPENDENCIES_FILE, columns, 65_536):
        own = batch.filter(batch.column("parsed"))
        found.update(own.column("sentence_id").to_pylist())
    return frozenset(found)


def _columns(*names: str) -> pa.Schema:
    return pa.schema([DEPENDENCIES.field(name) for name in names])


def every_tree(corpus: Path) -> Iterator[tuple[str, str]]:
    """The ids and lines of all sentences that have a tree, in their order.

    Raises:
        InputError: the file is damaged, or not of this form.
    """
    for batch in read_batches(corpus / DEPENDENCIES_FILE, _columns("sentence_id", "rows"), 4096):
        for row in batch.to_pylist():
            yield row["sentence_id"], row["rows"]


def linking_rows(corpus: Path) -> Iterator[str]:
    """The lines of the sentences that people annotated; where they did none, of all.

    Raises:
        InputError: the file is damaged, or not of this form.
    """
    path = corpus / DEPENDENCIES_FILE
    parsed = _columns("parsed")
    gold = any(False in b.column("parsed").to_pylist() for b in read_batches(path, parsed, 65_536))
    for batch in read_batches(path, _columns("rows", "parsed"), 4096):
        for row in batch.to_pylist():
            if not (gold and row["parsed"]):
                yield row["rows"]


class DependencyRows(ExitStack):
    """Looks dependency trees up, in memory that does not grow with the corpus; a context.

    Args:
        corpus: the corpus folder, for which ``require_ingested`` was called.
    """

    def __init__(self, corpus: Path) -> None:
        super().__init__()
        self._path = corpus / DEPENDENCIES_FILE
        self._database = self.enter_context(engine(files=[self._path]))

    def known(self, ids: Iterable[str]) -> dict[str, str]:
        """The lines of the sentences with some ids; those that have none are not among them.

        Raises:
            InputError: the file is damaged.
        """
        found = self._database.execute(
            f"SELECT sentence_id, rows FROM {parquet(self._path)} "  # noqa: S608 - our own path
            "WHERE sentence_id IN (SELECT unnest($ids))",
            {"ids": sorted(set(ids))},
        )
        return {name: rows for name, rows in fetched(found)}  # noqa: C416 - typed so
