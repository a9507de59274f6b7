"""Where Algorithm 1 samples from: SAMPLE(U, 1) over candidate shards and SAMPLE(L, m).

Every draw is a pure function of the seed and its position in the stream, so a run can begin
anywhere in it. Candidates are copied once, as they are read, into one uncompressed Arrow file that
is then memory-mapped: in memory stay 8 bytes of index per candidate and per sentence.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.ground.coordination import Span
from pipeline.ground.errors import InputError
from pipeline.ground.schema import CANDIDATES
from pipeline.mechanisms.encoding import Example
from pipeline.mechanisms.shards import candidate_shards

__all__ = ["CandidateStream", "Drawn", "LabelledStream"]

_FOR_U, _FOR_L = 1, 2  # keep the two streams of one seed apart
_COLUMNS = ["candidate_id", "sentence_id", "words", "coordinator", "conjuncts", "label"]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A candidate (x', y') as drawn: its text, and the boundary that generation gave it."""

    candidate_id: str
    label: str
    words: tuple[str, ...]
    coordinator: int
    extent: Span


class CandidateStream:
    """SAMPLE(U, 1) followed by G: the generated candidates of a folder, drawn with replacement.

    A source sentence is drawn uniformly, then one of its candidates uniformly, so a sentence with
    many candidates is not favoured. Rows keep the order of the shards' names. Sentences all of
    whose candidates generation rejected are not drawn, so unlike with a generator run on the spot
    they use up no trial of K_max.

    Args:
        folder: the folder of ``candidates-*.parquet``.
        seed: seed of the draws.
        scratch: a folder for the memory-mapped copy, which has no name left once it is open.

    Raises:
        InputError: the folder holds no candidates, or a shard is damaged or of another schema.
    """

    def __init__(self, folder: Path, seed: int, scratch: Path) -> None:
        self._seed = seed
        self._table = _mapped(candidate_shards(folder), scratch)
        if not self._table.num_rows:
            raise InputError(
                "no candidates here",
                path=folder,
                remedy="run `conjoin generate`, or --mode baseline",
            )
        codes = pc.dictionary_encode(self._table["sentence_id"]).combine_chunks()
        indices = codes.indices.to_numpy()
        self._rows: npt.NDArray[np.int64] = np.argsort(indices, kind="stable")
        self._ends: npt.NDArray[np.int64] = np.cumsum(np.bincount(indices))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def sentences(self) -> int:
        """How many source sentences have a candidate."""
        return len(self._ends)

    def sample(self, index: int) -> Drawn:
        """Draw number ``index`` of the stream: a pure function of (seed, index).

        Raises:
            InputError: the row's spans do not fit its words.
        """
        random = np.random.default_rng([self._seed, _FOR_U, index])
        sentence = int(random.integers(self.sentences))
        begin = int(self._ends[sentence - 1]) if sentence else 0
        row = int(self._rows[random.integers(begin, int(self._ends[sentence]))])
        value: dict[str, Any] = self._table.slice(row, 1).to_pylist()[0]
        spans = value["conjuncts"]
        words, k = tuple(value["words"]), value["coordinator"]
        if not spans or not 0 <= k < len(words) or spans[-1]["end"] > len(words):
            raise InputError(
                f"candidate {value['candidate_id']}: its spans do not fit its words",
                sentence_id=value["sentence_id"],
                remedy="run `conjoin generate` again",
            )
        extent = Span(spans[0]["start"], spans[-1]["end"])
        return Drawn(value["candidate_id"], value["label"], words, k, extent)


class LabelledStream:
    """SAMPLE(L, m): the labelled sentences in shuffled epochs, one after the other.

    An example is a sentence with *all* its evaluable coordinations; the loss of a batch is the mean
    over instances, so a sentence with two counts twice in it.

    Args:
        examples: L; not empty.
        seed: seed of the epochs' orders.
    """

    def __init__(self, examples: Sequence[Example], seed: int) -> None:
        self._examples, self._seed = examples, seed
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)

    def sample(self, position: int, count: int) -> list[Example]:
        """Examples ``position`` up to ``position + count``: a pure function of (seed, position)."""
        return [self._at(place) for place in range(position, position + count)]

    def _at(self, position: int) -> Example:
        epoch, place = divmod(position, len(self._examples))
        if epoch != self._epoch:
            random = np.random.default_rng([self._seed, _FOR_L, epoch])
            self._epoch, self._order = epoch, random.permutation(len(self._examples))
        return self._examples[int(self._order[place])]


def _mapped(shards: Sequence[Path], scratch: Path) -> pa.Table:
    """The columns that training reads of all shards, as one memory-mapped table."""
    schema = pa.schema([CANDIDATES.field(name) for name in _COLUMNS])
    scratch.mkdir(parents=True, exist_ok=True)
    copy = scratch / f".candidates.{os.getpid()}.arrow"
    try:
        with pa.OSFile(str(copy), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for shard in shards:
                _append(shard, schema, writer)
        return pa.ipc.open_file(pa.memory_map(str(copy))).read_all()
    except PermissionError as error:
        raise InputError("cannot write here", path=scratch, remedy="check permissions") from error
    finally:
        copy.unlink(missing_ok=True)


def _append(shard: Path, schema: pa.Schema, writer: Any) -> None:
    try:
        with pq.ParquetFile(shard) as file:
            if not file.schema_arrow.equals(CANDIDATES):
                raise InputError(
                    "not the columns of a candidate shard",
                    path=shard,
                    remedy="run `conjoin generate` again with this version",
                )
            for batch in file.iter_batches(columns=_COLUMNS):
                writer.write_batch(batch.select(_COLUMNS).cast(schema))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"not a readable Parquet file: {error}", path=shard, remedy="remove and generate again"
        ) from error
