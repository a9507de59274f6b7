"""Where Algorithm 1 samples from: SAMPLE(U, 1) over candidates and SAMPLE(L, m).

Every draw is a pure function of the seed and its position in the stream, so a run can begin
anywhere in it.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.corpus.content import keys_of_ids
from pipeline.tasks.augmentation import Augmentation
from pipeline.tasks.protocol import CandidateRows, Drawn
from pipeline.train.candidate_location import find_location
from pipeline.train.candidate_store import open_store

_FOR_U, _FOR_L = 1, 2  # keep the two streams of one seed apart
_LET_GO = (
    8  # draws; each touches some ten pages a candidate, and the system maps many around every one
)


class CandidateStream:
    """SAMPLE(U, 1) followed by G: generated candidates, drawn with replacement.

    A source sentence is drawn uniformly, then one of its candidates uniformly, so a sentence with
    many candidates is not favoured. Sentences all of whose candidates generation rejected are not
    drawn, so unlike with a generator run on the spot they use up no trial of K_max. What draw
    ``index`` gives depends on (the set of candidates, seed, index), not on shards or the order of
    rows. Memory does not grow with the number of candidates nor with that of draws.

    Args:
        source: a corpus folder, a release folder, or a dataset of the hub (see
            ``candidate_location``).
        rows: how the task reads candidates.
        seed: seed of the draws.
        labels: draw only candidates with one of these; none: all.
        without: ids of sentences whose candidates are not drawn, by the reason.

    Attributes:
        sentences: how many source sentences have a candidate that may be drawn.
        left_out: how many candidates are of sentences in ``without``, by the first reason that such a
            sentence has there.
        labels: candidates per label.
        digest: hex SHA-256 of the candidates in order: equal digest and seed, equal draws.

    Raises:
        InputError: there are no candidates, or none with one of the labels or none left, a shard is
            damaged or lacks a column, a candidate's spans do not fit its words, or the cache cannot
            be written to.
    """

    def __init__(
        self,
        source: str | Path,
        rows: CandidateRows[Any],
        seed: int,
        labels: Sequence[str] = (),
        without: Mapping[str, AbstractSet[str]] = MappingProxyType({}),
    ) -> None:
        self._seed, self._form = seed, rows
        self._store = open_store(find_location(source, rows.columns), rows, labels)
        reasons: dict[int, str] = {}
        for reason, ids in without.items():
            keys = keys_of_ids(pa.array(sorted(ids), pa.string()))
            for place in self._store.places_of(keys).tolist():
                reasons.setdefault(place, reason)
        gone = np.array(sorted(reasons), np.int64)
        self._skips = gone - np.arange(len(gone))  # sentences still there before each that is not
        self.sentences = len(self._store.ends) - len(gone)
        self.left_out, taken = Counter[str](), Counter[str]()
        for sentence, reason in reasons.items():
            unwanted = self._rows_of(sentence)
            self.left_out[reason] += len(unwanted)
            taken.update(self._store[row]["label"] for row in unwanted)
        if self.left_out and not self.sentences:
            counts = (f"{count:,} {reason}" for reason, count in self.left_out.items())
            raise InputError(
                f"no candidate may be learned from: {'; '.join(counts)}", path=source,
                remedy="name candidates of other sentences",
            )  # fmt: skip
        self.labels = {
            label: count - taken[label]
            for label, count in self._store.card["labels"].items()
            if count > taken[label]
        }
        self.digest: str = self._store.card["digest"]
        if len(gone):
            self.digest = digest_of([self.digest, self._store.keys[gone].tolist()])
        self._draws = 0

    def __len__(self) -> int:
        return len(self._store.rows) - self.left_out.total()

    def sample(self, index: int) -> Drawn[Any]:
        """The candidate of draw number ``index``: a pure function of (candidates, seed, index)."""
        return self.together(index)[0]

    def together(self, index: int) -> list[Drawn[Any]]:
        """The candidate of draw number ``index``, and those at other coordinators of the very same words.

        Generation writes a sentence for each candidate; natural text holds several structures, and a pass
        through the encoder serves all of them. At each further coordinator it is the first of the
        sentence's candidates.
        """
        random = np.random.default_rng([self._seed, _FOR_U, index])
        self._draws += 1
        if self._draws % _LET_GO == 0:
            self._store.let_go()
        sentence = int(random.integers(self.sentences))
        sentence += int(np.searchsorted(self._skips, sentence, side="right"))
        begin, end = self._places_of(sentence)
        chosen = int(random.integers(begin, end))
        found: dict[Hashable, Drawn[Any]] = {}
        for place in (chosen, *(each for each in range(begin, end) if each != chosen)):
            drawn = self._form.drawn(self._store[int(self._store.rows[place])])
            if not found or drawn.example.words == next(iter(found.values())).example.words:
                found.setdefault(drawn.place, drawn)
        return list(found.values())

    def _places_of(self, sentence: int) -> tuple[int, int]:
        ends = self._store.ends
        return int(ends[sentence - 1]) if sentence else 0, int(ends[sentence])

    def _rows_of(self, sentence: int) -> list[int]:
        begin, end = self._places_of(sentence)
        rows: list[int] = self._store.rows[begin:end].tolist()
        return rows


class LabelledStream:
    """SAMPLE(L, m): the labelled sentences in shuffled epochs, one after the other.

    An example is a sentence with *all* its evaluable coordinations; the loss of a batch is the mean
    over instances, so a sentence with two counts twice in it.

    Args:
        examples: L; not empty.
        seed: seed of the epochs' orders.
    """

    def __init__(self, examples: Sequence[Any], seed: int) -> None:
        self._examples, self._seed = examples, seed
        self._epoch, self._order = -1, np.empty(0, dtype=np.int64)

    def sample(self, position: int, count: int) -> list[Any]:
        """Examples ``position`` up to ``position + count``: a pure function of (seed, position)."""
        places = range(position, position + count)
        return [self._examples[index] for _, index in map(self.at, places)]

    def at(self, position: int) -> tuple[int, int]:
        """The epoch of a position, and which example stands there."""
        epoch, place = divmod(position, len(self._examples))
        if epoch != self._epoch:
            random = np.random.default_rng([self._seed, _FOR_L, epoch])
            self._epoch, self._order = epoch, random.permutation(len(self._examples))
        return epoch, int(self._order[place])


class AugmentedStream(LabelledStream):
    """SAMPLE(L, m) and a variant of each example beside it: the originals, then the variants in their order.

    Args:
        examples: L; not empty.
        seed: seed of the epochs' orders.
        augmentation: makes all variants of an epoch, when the first of them is wanted.
    """

    def __init__(self, examples: Sequence[Any], seed: int, augmentation: Augmentation[Any]) -> None:
        super().__init__(examples, seed)
        self._augmentation, self._of, self._variants = augmentation, -1, list[Any]()

    def sample(self, position: int, count: int) -> list[Any]:
        """Examples ``position`` up to ``position + count``, and as many variants.

        It is a pure function of (seed, position): nothing of it depends on where a run was resumed.
        """
        places = range(position, position + count)
        return super().sample(position, count) + [
            self._variant(*self.at(place)) for place in places
        ]

    def _variant(self, epoch: int, index: int) -> Any:
        if epoch != self._of:
            self._of, self._variants = epoch, self._augmentation.variants(epoch)
        return self._variants[index]
