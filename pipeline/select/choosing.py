"""Which candidates are chosen, and why each of the others is not, whatever the rows hold.

What is asked comes in a fixed order, cheap before dear: the licence, the conditions on the row's own columns,
whether an earlier row that is still in says the same, what is held out, the predictors, whether all rows of
the sentence passed; and of what they all let pass the best, the sample, the limit. A row is left out for the
first thing that it fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import row_count, value_counts
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, canonical, licence_ids, names_several, permits, terms
from pipeline.corpus.novelty import CONTRADICTED, DROPPED, Contents, contents
from pipeline.corpus.rows import read_accepted, read_rejects
from pipeline.select.choice import Advance, Choice, every_row, kept_rows, rows_still_in
from pipeline.select.conditions import Condition, verdicts
from pipeline.select.leakage import COPIED, SAME_HEADS, HeldOut
from pipeline.select.sampling import thin_out
from pipeline.select.settings import DELTA, SelectSettings
from pipeline.select.strata import Features
from pipeline.text.columns import with_text

if TYPE_CHECKING:
    from pipeline.tasks.coordination.model import CoordinationPredictor

PROBABILITIES_FILE = "probabilities.parquet"

UNPERMITTED = "licence not among those asked for"
"""Why a row is left out that stands in no file of the result."""

BROKEN = "another row of its sentence was left out"
"""Why a row is left out that nothing else was wrong with, where whole sentences are asked for."""

_LABELS = 100  # that a message could name; a hostile corpus may have any number


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is read beside the rows, before them.

    Attributes:
        predictor: the one whose probability is asked for.
        agreeing: those that must agree.
        held_out: what rows must be apart from.
        labelled: the coordinations of the draw that rows are to be like.
        conditions: what is asked of a row's columns.
    """

    predictor: "CoordinationPredictor | None" = None
    agreeing: "Sequence[CoordinationPredictor]" = ()
    held_out: HeldOut | None = None
    labelled: Sequence[Features] = ()
    conditions: Sequence[Condition] = ()

    @property
    def looks(self) -> int:
        """How many times a row that nothing leaves out is looked at for them."""
        return sum((self.predictor is not None, self.held_out is not None, len(self.agreeing)))


def choose(
    corpora: Sequence[Shards],
    settings: SelectSettings,
    given: Inputs,
    folder: Path,
    advance: Advance,
) -> Choice:
    """Tell of every row whether it is chosen.

    Args:
        corpora: sound ones.
        settings: what is asked.
        given: what the settings name.
        folder: where the predictor's probabilities are written.
        advance: called with the number of rows looked at since the last time.

    Raises:
        InputError: a file is damaged, or a row cannot answer the condition.
        SettingsError: a licence is unknown here.
    """
    candidates = sum(row_count(path) for shards in corpora for path in shards.accepted)
    rejects = sum(row_count(path) for shards in corpora for path in shards.rejects)
    choice = Choice(
        np.zeros(candidates, np.uint8), np.ones(rejects, np.bool_), np.zeros(candidates, np.bool_)
    )
    permitted = _permitted(corpora, settings.license)
    unpermitted = choice.number(UNPERMITTED) if permitted is not None else 0
    places = np.array([0, *(choice.number(each.reason) for each in given.conditions)], np.uint8)
    with verdicts(given.conditions) as judge:
        begin = 0
        for batch in every_row(corpora):
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
        if given.held_out is not None:
            _keep_apart(corpora, given.held_out, choice, advance)
        if given.predictor is not None or given.agreeing:
            _ask(corpora, settings, given, choice, folder=folder, advance=advance)
        if settings.whole_sentences:
            _keep_whole(corpora, choice, said)
        if settings.samples:
            thin_out(corpora, settings, given.labelled, choice, advance)
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


def _keep_apart(
    corpora: Sequence[Shards], held_out: HeldOut, choice: Choice, advance: Advance
) -> None:
    """Leave out the rows of those still in that say what a held-out sentence says."""
    numbers = {kind: choice.number(kind) for kind in (COPIED, SAME_HEADS)}
    for places, batch in rows_still_in(corpora, choice, advance):
        for leak in held_out.leaks(batch):
            choice.verdicts[places[leak.row]] = numbers[leak.kind]


def _ask(
    corpora: Sequence[Shards],
    settings: SelectSettings,
    given: Inputs,
    choice: Choice,
    *,
    folder: Path,
    advance: Advance,
) -> None:
    """Leave out the rows of those still in that predictors do not believe."""
    from pipeline.select.judging import agree, judge  # noqa: PLC0415 - torch takes seconds

    if given.predictor is not None:
        delta, relative = settings.delta, settings.relative
        judge(
            corpora, given.predictor, choice,
            delta=DELTA if delta is None and relative is None else delta, relative=relative,
            path=folder / PROBABILITIES_FILE, advance=advance,
        )  # fmt: skip
    agree(corpora, given.agreeing, choice, advance)


def _keep_whole(corpora: Sequence[Shards], choice: Choice, said: Contents) -> None:
    """Leave out, of those still in, the rows of sentences of which a row was left out.

    A row that was left out because an earlier one says the same fares as that one; what a licence keeps out
    counts for nothing, since the result must not depend on it.
    """
    kept = choice.verdicts == 0
    failed = ~kept
    if UNPERMITTED in choice.reasons:
        failed &= choice.verdicts != choice.number(UNPERMITTED)
    twice = choice.verdicts == choice.number(DROPPED)
    failed &= ~(twice & said.like(kept))
    broken: set[str] = set()
    for batch in kept_rows(corpora, failed):
        broken.update(batch.column("sentence_id").to_pylist())
    among, begin, number = pa.array(sorted(broken), pa.string()), 0, choice.number(BROKEN)
    places = np.flatnonzero(kept)
    for batch in kept_rows(corpora, kept):
        found = np.asarray(pc.is_in(batch.column("sentence_id"), among))
        choice.verdicts[places[begin : begin + len(batch)][found]] = number
        begin += len(batch)
