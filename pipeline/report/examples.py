"""Candidates to look at, as runs accepted or rejected them (Table 4); counts of their fills."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.parquet import read_batches, read_rows
from pipeline.core.runs import Run, candidates_at_hand, not_at_hand
from pipeline.core.schema import CANDIDATES, SCORED
from pipeline.core.types import Candidate, Span
from pipeline.corpus.checked import find_candidates, open_candidates
from pipeline.corpus.licences import terms
from pipeline.report.audit import read_verdicts
from pipeline.report.findings import better_generator
from pipeline.report.judgements import HandJudgement, wilson
from pipeline.report.prose import Fact
from pipeline.report.results import Metrics, system_key, system_phrase
from pipeline.report.sections import ExampleList, ShownCandidate
from pipeline.text.natural import readable

_OPEN, _CLOSE = "\x02", "\x03"  # cannot occur in XML text, and no tokenizer makes them
_FILLS = pa.schema([CANDIDATES.field(name) for name in ("fill", "conjuncts", "reference")])


def known_verdicts(verdicts: Mapping[tuple[Path, str], str], folder: Path) -> dict[str, str]:
    """Candidate id → verdict, of those that the oracle judged of one folder."""
    return {name: verdict for (place, name), verdict in verdicts.items() if place == folder}


def example_of(candidate: Candidate, known: Mapping[str, str]) -> ShownCandidate:
    """A candidate with its conjuncts in brackets and the oracle's verdict, if there is one."""
    return ShownCandidate(
        candidate_id=candidate.candidate_id,
        label=candidate.label,
        pieces=marked(candidate.words, candidate.conjuncts, candidate.reference),
        license=candidate.license,
        verdict=known.get(candidate.candidate_id),
    )


def example_lists(
    metrics: Metrics,
    runs: Sequence[Run],
    corpus: Path,
    *,
    count: int,
    seed: int,
    judgements: Mapping[str, HandJudgement],
) -> tuple[list[ExampleList], list[Fact]]:
    """Examples of each system that filters at the main |L|, from its first run.

    Those of the better generator stand first and open.

    Returns:
        The lists, and those that cannot be shown.

    Raises:
        InputError: a file is damaged, or a candidate that training judged is gone.
    """
    if not count:
        return [], []
    size = metrics.main
    filtering = [run for run in runs if run.mode == "filter" and run.labelled == size]
    if not filtering:
        return [], [Fact("missing.examples")] if runs else []
    verdicts, better = read_verdicts(corpus), better_generator(metrics)
    sources = {run.folder: candidates_at_hand(run, corpus) for run in filtering}
    lacking = not_at_hand([run for run in filtering if not sources[run.folder]])
    found: list[ExampleList] = []
    missing = [Fact("missing.candidates_shown", lacking=lacking)] if lacking else []
    systems = {run.system for run in filtering}
    for system in sorted(systems, key=lambda s: (s != better, system_key(s))):
        usable = (
            (run.seed, scored, shards)
            for run in filtering  # in the order of their seeds
            if run.system == system
            and (shards := sources[run.folder])
            and (scored := run.folder / "scored.parquet").is_file()
        )
        if not (first := next(usable, None)):
            missing.append(Fact("missing.examples_of", system=system))
            continue
        accepted, rejected = (
            [
                replace(e, sensible=judgement.sensible, note=judgement.note)
                if (judgement := judgements.get(e.candidate_id))
                else e
                for e in drawn
            ]
            for drawn in draw_examples(first, count, seed, verdicts)
        )
        by_hand = _judged(accepted, rejected) if judgements else None
        title = f"{system_phrase(system)}, {metrics.phrase(size)}, seed {first[0]}"
        found.append(ExampleList(title, accepted, rejected, folded=bool(found), judged=by_hand))
    return found, missing


def to_hand_on(
    lists: Sequence[ExampleList], *, own_use: bool = False
) -> tuple[list[ExampleList], int]:
    """Lists without the examples whose text must not be handed on, as a report is; how many these are.

    What people judged of them still counts. For ``own_use`` nothing is left out.
    """
    if own_use:
        return list(lists), 0
    found: list[ExampleList] = []
    for each in lists:
        accepted, rejected, drawn = (
            [e for e in group if terms(e.license).redistributable]
            for group in (each.accepted, each.rejected, each.drawn)
        )
        if accepted or rejected or drawn:
            own = replace(each, accepted=accepted, rejected=rejected, drawn=drawn)
            found.append(replace(own, folded=bool(found)))
    return found, sum(map(_size, lists)) - sum(map(_size, found))


def _size(examples: ExampleList) -> int:
    return len(examples.accepted) + len(examples.rejected) + len(examples.drawn)


def _judged(accepted: Sequence[ShownCandidate], rejected: Sequence[ShownCandidate]) -> Fact:
    """What people judged of one system's examples: (side, sensible, judged, 95 % interval) of each side."""
    sides = []
    for name, examples in (("accepted", accepted), ("rejected", rejected)):
        verdicts = [e.sensible for e in examples if e.sensible is not None]
        yes, count = sum(verdicts), len(verdicts)
        sides.append((name, yes, count, wilson(yes, count) if count else None))
    shown = len(accepted) + len(rejected)
    return Fact("examples.by_hand", sides=sides, shown=shown, left=shown - sum(s[2] for s in sides))


@dataclass(frozen=True, slots=True)
class FillStatistics:
    """Fills of some folders of candidates: how many, how many distinct within a folder, mean words."""

    candidates: int
    distinct: int
    fill_words: float
    reference_words: float


def marked(
    words: Sequence[str], conjuncts: Sequence[Span], reference: Span
) -> tuple[str, str, str]:
    """Natural text with brackets around the conjuncts, cut at the reference span: before it, it, after it."""
    natural = readable(words)
    starts, ends = [s.start for s in conjuncts], [s.end - 1 for s in conjuncts]
    text, place = "", 0
    for number, (begin, end) in enumerate(natural.offsets):
        text += natural.text[place:begin] + "[" * starts.count(number)
        text += _OPEN * (number == reference.start) + natural.text[begin:end]
        text += _CLOSE * (number == reference.end - 1) + "]" * ends.count(number)
        place = end
    before, _, rest = text.partition(_OPEN)
    inside, _, after = rest.partition(_CLOSE)
    return before, inside, after


def place_of(seed: int, candidate_id: str) -> str:
    """Where a candidate stands in a draw: candidates are drawn in ascending order of this.

    The SHA-256 digest, in hexadecimal, of ``SEED CANDIDATE_ID``: nobody chose it, and neither the
    order of files nor the number of judgements moves it.
    """
    return hashlib.sha256(f"{seed} {candidate_id}".encode()).hexdigest()


def draw_examples(
    run: tuple[int, Path, Path],
    count: int,
    seed: int,
    verdicts: Mapping[tuple[Path, str], str] | None = None,
) -> tuple[list[ShownCandidate], list[ShownCandidate]]:
    """``count`` accepted and ``count`` rejected candidates from what one run examined.

    A candidate counts once, as the run judged it last. Those of each kind that come first by
    ``place_of`` are drawn: a function of ``seed`` and of the candidates' ids alone. Fewer come back
    where there are fewer.

    Args:
        run: its seed, its ``scored.parquet``, its folder of candidate shards.
        count: how many of each.
        seed: seed of the draw.
        verdicts: (folder of shards, candidate) → the oracle's verdict. The oracle judged a sample,
            and where it judged any candidate of a folder, only those it judged are drawn from it.

    Raises:
        InputError: a file is damaged, or a judged candidate is not in the folder.
    """
    number, scored, shards = run
    known = known_verdicts(verdicts or {}, shards)
    # Rows stand in the order of the judgements, so a later one replaces an earlier.
    last = {
        str(row["candidate_id"]): row
        for row in read_rows(scored, SCORED)
        if not known or row["candidate_id"] in known
    }
    order = sorted(last, key=lambda name: place_of(seed, name))
    drawn = {
        side: [last[name] for name in order if last[name]["accepted"] is side][:count]
        for side in (True, False)
    }
    found = find_candidates(
        {(shards, str(row["candidate_id"])) for rows in drawn.values() for row in rows}
    )

    def example(row: Mapping[str, Any]) -> ShownCandidate:
        return replace(
            example_of(found[shards, row["candidate_id"]], known),
            probability=row["probability"],
            accepted=row["accepted"],
            step=row["step"],
            seed=number,
        )

    return [example(row) for row in drawn[True]], [example(row) for row in drawn[False]]


def fill_statistics(folders: Iterable[Path]) -> FillStatistics:
    """Variety and length of the fills in some folders of candidates.

    Raises:
        InputError: a shard is damaged.
    """
    count = distinct = fill_words = reference_words = 0
    for folder in folders:
        fills: set[str] = set()
        for batch in (b for shard in open_candidates(folder) for b in read_batches(shard, _FILLS)):
            fills.update(batch.column("fill").to_pylist())
            count += batch.num_rows
            for conjuncts in batch.column("conjuncts").to_pylist():
                fill_words += conjuncts[-1]["end"] - conjuncts[-1]["start"]
            for span in batch.column("reference").to_pylist():
                reference_words += span["end"] - span["start"]
        distinct += len(fills)
    whole = max(count, 1)
    return FillStatistics(count, distinct, fill_words / whole, reference_words / whole)
