"""What a release knows of rows of another task than coordination: a kind of rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from pipeline.core.cards.candidates import SourceFacts
from pipeline.core.errors import InputError
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import Shards

Wrong = tuple[str, str]
"""What is wrong with a row: the kind as which ``validate`` counts it, and, after "has", what it is."""

Columns = Mapping[str, pa.Schema]
"""The columns of a configuration's rows, ``train`` or ``rejected``."""

GENERATION = pa.field("generation", pa.string(), nullable=False)
REASON = pa.field("reason", pa.string(), nullable=False)


def with_run(columns: pa.Schema) -> dict[str, pa.Schema]:
    """The columns of a release whose usable rows have these: who made each, and why it is refused."""
    usable = columns.append(GENERATION)
    return {"train": usable, "rejected": usable.append(REASON)}


class HidingWords(Protocol):
    """Takes the source's words out of rows, and proves of each that they can be put back.

    Attributes:
        withheld: by configuration, how many rows were left out for which reason.
        digests: by configuration, the digest of the rows that were not, as they are with text.
    """

    withheld: Mapping[str, Counter[str]]
    digests: Mapping[str, RowDigest]

    def convert(self, batches: Iterable[pa.RecordBatch], config: str) -> Iterator[pa.RecordBatch]:
        """The rows that may be handed on, with the columns of ``RowKind.stand_off``.

        Raises:
            InputError: a row is not of the source, or what stays of it could be text.
        """

    def require_no_text(self, manifest: Mapping[str, Any]) -> None:
        """Refuse a manifest in which a sentence of the source stands.

        Raises:
            InputError: one does.
        """


class PuttingBack(Protocol):
    """Puts the source's words back into rows, and keeps account of where that failed.

    Attributes:
        released: columns of the rows that come out.
    """

    released: Columns

    def rows(
        self, files: Sequence[Path], config: str
    ) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """The rows of the files of a stand-off release with their text, in order.

        A row that cannot be rebuilt comes out otherwise than it was, for the caller compares the digest.
        """

    def error(self, source: Path) -> InputError:
        """One line on why the source is not the one that the release was made of."""


class RowKind(Protocol):
    """Rows that ``release``, ``push`` and ``validate`` take.

    Attributes:
        task: whose they are, as the manifest of their release says.
        called: what messages call them.
        marks: columns by which they are known: no other rows have one of them.
        bare: their columns as the stage writes them.
        released: those in a release with text.
        stand_off: those in one without; empty: there is none.
        order: what orders rows with the same place in the shuffle.
        again: the remedy where a row is not as the stage wrote it.
    """

    task: str
    called: str
    marks: frozenset[str]
    bare: ClassVar[Columns]
    released: ClassVar[Columns]
    stand_off: ClassVar[Columns]
    order: ClassVar[Mapping[str, Sequence[str]]]
    again: str

    def fault(self, row: Mapping[str, Any], *, usable: bool) -> Wrong | None:
        """What is wrong with a row with text, or without, by itself; of a reject less is asked."""

    def require_permission(self, shards: Shards, license_: str | None) -> None:
        """Refuse rows whose text must not be handed on; ``license_`` is of the source where they say unknown.

        Raises:
            InputError: there are such rows.
        """

    def foreign(self, shards: Shards, corpus: Path) -> tuple[int, str]:
        """How many rows are not of a corpus, and what the first of them is of.

        Raises:
            InputError: the corpus is damaged, or none of the task.
        """

    def facts(self, corpus: Path) -> SourceFacts:
        """What a manifest says of the source."""

    def name(self, runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What ends the name of a release."""

    def hiding(self, shards: Shards, corpus: Path) -> HidingWords:
        """What takes the words out of rows of a corpus.

        Raises:
            InputError: what the rows were made of is not there.
        """

    def putting_back(self, source: Path) -> PuttingBack:
        """What puts the words of a ``sentences.parquet`` back."""

    def write_documents(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """Write README.md, LICENSE, CITATION.cff and croissant.json; the same input gives the same bytes.

        Args:
            folder: of the release, whose shards and ``manifest.json`` stand.
            manifest: what ``manifest.json`` holds.

        Raises:
            InputError: the folder cannot be written to.
        """
