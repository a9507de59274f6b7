"""Where Algorithm 1 samples from: SAMPLE(U, 1) over candidates and SAMPLE(L, m).

Every draw is a pure function of the seed and its position in the stream, so a run can begin
anywhere in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.core.types import Span
from pipeline.predictor.encoding import Example
from pipeline.train.candidate_location import find_location
from pipeline.train.candidate_store import open_store

_FOR_U, _FOR_L = 1, 2  # keep the two streams of one seed apart
_LET_GO = 8  # draws; each touches some ten pages, and the system maps many around every one


@dataclass(frozen=True, slots=True)
class Drawn:
    """A candidate (x', y') as drawn: its text, and the boundary that generation gave it.

    ``fill_length`` is the number of words of the last conjunct, which generation inserted; ``score``
    is the language model's of the fill, None where it gave none.
    """

    candidate_id: str
    label: str
    words: tuple[str, ...]
    coordinator: int
    extent: Span
    fill_length: int
    score: float | None = None


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
        seed: seed of the draws.
        labels: draw only candidates with one of these; none: all.

    Attributes:
        sentences: how many source sentences have a candidate.
        labels: candidates per label.
        digest: hex SHA-256 of the candidates in order: equal digest and seed, equal draws.
        scores: the same of the language model's scores, which ``digest`` leaves out.
        scored: how many candidates have such a score.

    Raises:
        InputError: there are no candidates, or none with one of the labels, a shard is damaged or
            lacks a column, a candidate's spans do not fit its words, or the cache cannot be written
            to.
    """

    def __init__(self, source: str | Path, seed: int, labels: Sequence[str] = ()) -> None:
        self._seed, self._store = seed, open_store(find_location(source), labels)
        self.sentences = len(self._store.ends)
        self.labels: dict[str, int] = self._store.card["labels"]
        self.digest: str = self._store.card["digest"]
        self.scores: str = self._store.card["scores"]
        self.scored: int = self._store.card["scored"]
        self._draws = 0

    def __len__(self) -> int:
        return len(self._store.rows)

    def sample(self, index: int) -> Drawn:
        """Draw number ``index``: a pure function of (candidates, seed, index)."""
        random = np.random.default_rng([self._seed, _FOR_U, index])
        self._draws += 1
        if self._draws % _LET_GO == 0:
            self._store.let_go()
        ends = self._store.ends
        sentence = int(random.integers(self.sentences))
        begin = int(ends[sentence - 1]) if sentence else 0
        row = self._store[int(self._store.rows[random.integers(begin, int(ends[sentence]))])]
        first, last = row["conjuncts"][0], row["conjuncts"][-1]
        return Drawn(
            row["candidate_id"],
            row["label"],
            tuple(row["words"]),
            row["coordinator"],
            Span(first["start"], last["end"]),
            last["end"] - last["start"],
            _number(row["score"]),
        )


def _number(score: float | None) -> float | None:
    """A score that can be compared with others."""
    return None if score is None or math.isnan(score) else score


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
