"""What a source of candidates is, and the files that its rows go to (§3)."""

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa
import torch

from pipeline.core.annotation import Annotation
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.schema import CANDIDATES, REJECTS, candidate_row, reject_row
from pipeline.core.types import Candidate, Reject
from pipeline.executor.run import OnBatch
from pipeline.text.columns import natural_columns

Notes = Mapping[str, int]
"""Counts of what no row says, by what is counted."""

_Item = TypeVar("_Item")


class CandidateSource(Protocol[_Item]):
    """A way of making candidates, made from the settings of a run.

    Work is planned in units before any worker starts; a unit is some items, such as reference spans.
    The rows of a unit are a pure function of the settings, the inputs and the unit's number. In each
    the first conjunct is the reference and the last the fill, and the id is that of
    ``core.types.candidate_id``, a hash of the content. (A reject without a usable fill has no conjuncts
    and -1 as its coordinator.)

    Attributes:
        called: what its items are called, in the plural.
        gpus: whether it works on GPUs where there are any.
        sizes: items of each unit, at most.
        inert: settings that change no row, given the others: they make no shard stale.
        notes: counts of what no row says and no unit has for itself.
        schemas: of the kinds of files of a unit: what is kept, mostly ``candidates``, and then ``rejects``
            with the ``reason`` of each.
        text_file: the corpus's file whose text its rows have, with a column ``license``.
        added: the licence of what they have besides; None: they have nothing, or what has no terms.
    """

    called: str
    gpus: bool
    schemas: Mapping[str, pa.Schema]
    text_file: str
    added: str | None
    sizes: Sequence[int]
    inert: Set[str]
    notes: Notes

    def inputs(self) -> dict[str, Any]:
        """Digests of the files that the rows depend on."""

    def model(self) -> str | None:
        """The identity of the model that writes or parses, if there is one."""

    def annotation(self) -> Annotation:
        """What people had annotated for the rows, ``core.annotation`` has the forms."""

    def items(self, unit: int) -> tuple[Sequence[_Item], Notes]:
        """The items of a unit, and counts of what has none.

        Raises:
            InputError: the inputs cannot be read.
        """

    def prepare(
        self, device: torch.device
    ) -> Callable[[Sequence[_Item], OnBatch], tuple[Sequence[Any], Notes]]:
        """Load what is needed, once in each worker; returns what makes the rows of items, in order."""

    def tables(self, rows: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each kind of file."""


@runtime_checkable
class WordedSource(Protocol):
    """A source whose items take as long as they have words, and whose ``on_batch`` is told of these.

    Attributes:
        words: words of each unit's items.
        at_once: items of a batch; fewer take longer each.
    """

    words: Sequence[int]
    at_once: int

    def words_of(self, items: Sequence[Any]) -> int:
        """The words of some items."""


@runtime_checkable
class GrowingSource(Protocol):
    """A source whose units stay what they are when there are more of them; its items are dataclasses.

    Attributes:
        told: settings and inputs of which a unit's items tell all that its rows depend on: how many units
            there are, and which files they are read from.
    """

    told: Set[str]


@runtime_checkable
class AskingSource(Protocol):
    """A source that asks a server, whose answers are kept beside a unit's record as they come."""

    def keep_in(self, path: Path) -> None:
        """Say, before a unit is made, which file has the answers that it got already, and takes the others.

        Raises:
            InputError: the file is damaged.
        """

    def settle(self) -> None:
        """Leave in that file what the unit is made of, when its rows are known."""


class CoordinationFiles:
    """The files of sources whose rows are sentences with a coordination."""

    schemas: Mapping[str, pa.Schema] = {"candidates": CANDIDATES, "rejects": REJECTS}
    text_file = SENTENCES_FILE
    added: str | None = None

    def tables(self, rows: Sequence[Candidate | Reject]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each kind of file."""
        made: dict[str, list[dict[str, Any]]] = {kind: [] for kind in self.schemas}
        for row in rows:
            if isinstance(row, Candidate):
                made["candidates"].append(candidate_row(row, natural_columns(row.words)))
            else:
                made["rejects"].append(reject_row(row, natural_columns(row.candidate.words)))
        return made
