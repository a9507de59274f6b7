"""Which candidates are chosen, and why each of the others is not: a byte a row, whatever the rows hold.

What is asked comes in a fixed order, cheap before dear: the licence, the conditions on the row's own columns,
whether an earlier row that is still in says the same, the predictor, the limit. A row is left out for the
first thing that it fails.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import row_count, value_counts
from pipeline.core.schema import PROBABILITIES
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, canonical, licence_ids, names_several, permits, terms
from pipeline.corpus.novelty import CONTRADICTED, DROPPED, Contents, contents
from pipeline.corpus.rows import read_accepted, read_rejects
from pipeline.select.conditions import conditions_of, verdicts
from pipeline.select.settings import DELTA, Select
from pipeline.text.columns import with_text

if TYPE_CHECKING:
    from pipeline.predictor.model import Predictor

PROBABILITIES_FILE = "probabilities.parquet"

UNPERMITTED = "licence not among those asked for"
"""Why a row is left out that stands in no file of the result."""

UNSCORED = "predictor gives no probability"

_LABELS = 100  # that a message could name; a hostile corpus may have any number

Advance = Callable[[int], None]


@dataclass
class Choice:
    """What becomes of all rows of several corpora, in their order.

    Attributes:
        verdicts: of the usable candidates, shape (rows,).
        rejects: which of the corpora's own rejects are taken over, shape (rows,).
        left_out: which candidates are rejects of the result, shape (rows,).
        reasons: why rows are left out, by the numbers of ``verdicts``; the first is that they are not.
        labels: of the usable candidates, at least a hundred of them if they are more; only where labels are
            asked for.
        dropped: how many candidates and how many of the corpora's own rejects are in no file, by why.
    """

    verdicts: npt.NDArray[np.uint8]
    rejects: npt.NDArray[np.bool_]
    left_out: npt.NDArray[np.bool_]
    reasons: list[str] = field(default_factory=lambda: ["kept"])
    labels: set[str] = field(default_factory=set)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)

    def number(self, reason: str) -> int:
        """The number of a reason; a new one if there is none yet."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason)

    def counts(self) -> dict[str, int]:
        """How many candidates were left out for each reason, in the order in which they were asked."""
        found = np.bincount(self.verdicts, minlength=len(self.reasons)).tolist()
        return dict(zip(self.reasons[1:], found[1:], strict=True))

    @property
    def kept(self) -> int:
        """How many candidates are chosen."""
        return int(np.count_nonzero(self.verdicts == 0))


def choose(
    corpora: Sequence[Shards],
    settings: Select,
    predictor: "Predictor | None",
    folder: Path,
    advance: Advance,
) -> Choice:
    """Tell of every row whether it is chosen.

    Args:
        corpora: sound ones.
        settings: what is asked.
        predictor: the one that the settings name.
        folder: where the predictor's probabilities are written.
        advance: called with the number of rows looked at since the last time.

    Raises:
        InputError: a file is damaged, or a row cannot answer the condition.
        SettingsError: a condition is none, or a licence is unknown here.
    """
    conditions = conditions_of(settings)
    candidates = sum(row_count(path) for shards in corpora for path in shards.accepted)
    rejects = sum(row_count(path) for shards in corpora for path in shards.rejects)
    choice = Choice(
        np.zeros(candidates, np.uint8), np.ones(rejects, np.bool_), np.zeros(candidates, np.bool_)
    )
    permitted = _permitted(corpora, settings.license)
    unpermitted = choice.number(UNPERMITTED) if permitted is not None else 0
    places = np.array([0, *(choice.number(each.reason) for each in conditions)], np.uint8)
    with verdicts(conditions) as judge:
        begin = 0
        for batch in _every(corpora):
            # A condition of the user's may name the text, which is written as its words have it.
            found = places[judge.of(with_text(batch) if settings.where else batch)]
            if permitted is not None:
                found[~_is_among(batch, permitted)] = unpermitted
            _fill(choice.verdicts, begin, found)
            begin += len(batch)
            advance(len(batch))
            if settings.label and len(choice.labels) < _LABELS:
                choice.labels |= value_counts(batch.column("label")).keys()
    if permitted is not None:
        choice.rejects = _permitted_rejects(corpora, rejects, permitted)
    with contents(corpora) as said:
        new = said.first_candidates(choice.verdicts == 0)
        choice.verdicts[(choice.verdicts == 0) & ~new] = choice.number(DROPPED)
        if predictor is not None:
            path = folder / PROBABILITIES_FILE
            _judge(corpora, predictor, settings, choice, path=path, advance=advance)
        if settings.limit is not None:
            beyond = np.flatnonzero(choice.verdicts == 0)[settings.limit :]
            choice.verdicts[beyond] = choice.number(f"beyond the first {settings.limit:,}")
        _settle(choice, said)
    return choice


def _settle(choice: Choice, said: Contents) -> None:
    """Find the rejects of the result: one of each content that no candidate has, and what is dropped so.

    What a licence keeps out counts for nothing: the result must not depend on it.
    """
    chosen = choice.verdicts == 0
    barred = np.zeros_like(chosen)
    if UNPERMITTED in choice.reasons:
        barred = choice.verdicts == choice.number(UNPERMITTED)
    like = said.like(chosen) & ~chosen & ~barred
    choice.left_out = said.first_candidates(~(chosen | barred | like))
    own = choice.rejects
    contradicted = own & said.contradicted(~barred)
    choice.rejects = said.first_rejects(own & ~contradicted)
    twice = choice.verdicts == choice.number(DROPPED)
    counts = {
        "train": {
            UNPERMITTED: barred,
            DROPPED: ~(chosen | barred | choice.left_out) & (twice | ~like),
            CONTRADICTED: like & ~twice,
        },
        "rejected": {
            DROPPED: own & ~contradicted & ~choice.rejects,
            CONTRADICTED: contradicted,
            UNPERMITTED: ~own,
        },
    }
    choice.dropped = {
        part: {why: int(mask.sum()) for why, mask in each.items() if mask.any()}
        for part, each in counts.items()
    }


def _fill(whole: npt.NDArray[np.uint8], begin: int, part: npt.NDArray[np.uint8]) -> None:
    if begin + len(part) > len(whole):
        raise InputError("a corpus grew while it was read", remedy="select again")
    whole[begin : begin + len(part)] = part


def _every(corpora: Sequence[Shards]) -> Iterator[pa.RecordBatch]:
    for shards in corpora:
        yield from read_accepted(shards)


def kept_rows(corpora: Sequence[Shards], mask: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """The usable candidates of some corpora for which a mask, shape (rows,), is true."""
    begin = 0
    for batch in _every(corpora):
        yield batch.filter(pa.array(mask[begin : begin + len(batch)]))
        begin += len(batch)


def _permitted(corpora: Sequence[Shards], named: Sequence[str]) -> pa.Array | None:
    """The licences of rows that are permitted by those named; None if none are named.

    Raises:
        SettingsError: one is several, or is neither known nor any row's.
    """
    if not named:
        return None
    several = next(filter(names_several, named), None)
    if several is not None:
        raise SettingsError(
            f"select.license = {several!r}: single licences are named, not an expression of several",
            remedy="name each that you accept, separated by commas: of A AND B both, of A OR B one",
        )
    there: set[str] = set()
    for shards in corpora:
        for read in (read_accepted, read_rejects):
            for batch in read(shards):
                there |= value_counts(batch.column("license")).keys()
    spelt = {canonical(each) for each in named}
    own = {single for each in there for single in (each, *licence_ids(each))}
    for each in sorted(spelt - own - {UNKNOWN}):
        if not terms(each).known:
            raise SettingsError(
                f"select.license = {each!r}: {terms(each).why}",
                remedy="name it as https://spdx.org/licenses does, such as CC-BY-4.0",
            )
    return pa.array(sorted(each for each in there if permits(each, spelt)), pa.string())


def _is_among(batch: pa.RecordBatch, permitted: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = np.asarray(pc.is_in(batch.column("license"), permitted))
    return found


def _permitted_rejects(
    corpora: Sequence[Shards], rejects: int, permitted: pa.Array
) -> npt.NDArray[np.bool_]:
    found, begin = np.zeros(rejects, np.bool_), 0
    for shards in corpora:
        for batch in read_rejects(shards):
            found[begin : begin + len(batch)] = _is_among(batch, permitted)
            begin += len(batch)
    return found


def _judge(
    corpora: Sequence[Shards],
    predictor: "Predictor",
    settings: Select,
    choice: Choice,
    *,
    path: Path,
    advance: Advance,
) -> None:
    """Leave out the rows of those still in whose probability is below δ; all that were asked are written."""
    from pipeline.select.judging import probabilities  # noqa: PLC0415 - torch takes seconds

    delta = DELTA if settings.delta is None else settings.delta
    below, unscored = choice.number(f"probability below {delta:g}"), choice.number(UNSCORED)
    asked, begin = np.flatnonzero(choice.verdicts == 0), 0
    rows = kept_rows(corpora, choice.verdicts == 0)
    with pq.ParquetWriter(path, PROBABILITIES, compression="zstd") as writer:
        for ids, found in probabilities(predictor, rows):
            columns = [pa.array(ids, pa.string()), pa.array(found, pa.float32())]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=PROBABILITIES))
            codes = [unscored if p is None else below * (p < delta) for p in found]
            choice.verdicts[asked[begin : begin + len(ids)]] = codes
            begin += len(ids)
            advance(len(ids))
