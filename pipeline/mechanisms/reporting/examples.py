"""Accepted and rejected candidates to look at (Table 4), and what is in a folder of candidates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ground.coordination import Span, bracketed
from pipeline.ground.errors import InputError
from pipeline.ground.schema import CANDIDATES, SCORED
from pipeline.mechanisms.shards import candidate_shards, find_candidates

__all__ = ["Example", "FillStatistics", "draw_examples", "fill_statistics", "marked"]

_OPEN, _CLOSE = "\x02", "\x03"  # cannot occur in XML text, and no tokenizer makes them


@dataclass(frozen=True, slots=True)
class Example:
    """A candidate as one run judged it at one step.

    ``pieces`` are the bracketed text before, in and after the reference span. ``verdict`` is the
    oracle's: ``right``, ``odd`` (right, but joining what does not go together), ``other`` or
    ``ungrammatical``; None where there is no oracle.
    """

    candidate_id: str
    label: str
    pieces: tuple[str, str, str]
    probability: float
    accepted: bool
    step: int
    seed: int
    verdict: str | None = None

    @property
    def text(self) -> str:
        """The sentence with brackets around the conjuncts."""
        return "".join(self.pieces)


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
    """Bracketed text cut at the reference span: what comes before it, it, and what follows."""
    signed = list(words)
    signed[reference.start] = _OPEN + signed[reference.start]
    signed[reference.end - 1] += _CLOSE
    before, _, rest = bracketed(signed, conjuncts).partition(_OPEN)
    inside, _, after = rest.partition(_CLOSE)
    return before, inside, after


def draw_examples(
    runs: Iterable[tuple[int, Path, Path]],
    count: int,
    seed: int,
    verdicts: Mapping[tuple[Path, str], str] | None = None,
) -> tuple[list[Example], list[Example]]:
    """``count`` accepted and ``count`` rejected candidates from what the runs examined.

    Judgements are drawn uniformly over all runs together, without repeating a candidate. Fewer come
    back where there are fewer.

    Args:
        runs: (seed of the run, its ``scored.parquet``, its folder of candidate shards).
        count: how many of each.
        seed: seed of the draw.
        verdicts: (folder of shards, candidate) → the oracle's verdict. The oracle judged a sample,
            and where it judged any candidate of a folder, only those it judged are drawn from it.

    Raises:
        InputError: a file is damaged, or a judged candidate is not in the folder.
    """
    pools: dict[bool, list[tuple[int, Path, dict[str, object]]]] = {True: [], False: []}
    sources = list(runs)
    tables = [(number, shards, _table(scored, SCORED)) for number, scored, shards in sources]
    known = verdicts or {}
    audited = {folder for folder, _ in known}
    taken: set[str] = set()
    for accepted in (True, False):
        rows = [
            (which, row)
            for which, (_, _, table) in enumerate(tables)
            for row, verdict in enumerate(table.column("accepted").to_pylist())
            if verdict is accepted
        ]
        Random(f"{seed} {accepted}").shuffle(rows)
        for which, row in rows:
            if len(pools[accepted]) == count:
                break
            number, shards, table = tables[which]
            judged = table.slice(row, 1).to_pylist()[0]
            if shards in audited and (shards, judged["candidate_id"]) not in known:
                continue
            if judged["candidate_id"] not in taken:
                taken.add(judged["candidate_id"])
                pools[accepted].append((number, shards, judged))
    found = find_candidates(
        {(shards, str(j["candidate_id"])) for p in pools.values() for _, shards, j in p}
    )

    def example(number: int, shards: Path, judged: dict[str, object]) -> Example:
        candidate = found[shards, str(judged["candidate_id"])]
        return Example(
            candidate_id=candidate.candidate_id,
            label=candidate.label,
            pieces=marked(candidate.words, candidate.conjuncts, candidate.reference),
            probability=float(str(judged["probability"])),
            accepted=bool(judged["accepted"]),
            step=int(str(judged["step"])),
            seed=number,
            verdict=known.get((shards, candidate.candidate_id)),
        )

    return [example(*e) for e in pools[True]], [example(*e) for e in pools[False]]


def fill_statistics(folders: Iterable[Path]) -> FillStatistics:
    """Variety and length of the fills in some folders of candidates.

    Raises:
        InputError: a shard is damaged.
    """
    count = distinct = fill_words = reference_words = 0
    for folder in folders:
        fills: set[str] = set()
        for shard in candidate_shards(folder):
            table = _table(shard, CANDIDATES, ["fill", "conjuncts", "reference"])
            fills.update(table.column("fill").to_pylist())
            count += table.num_rows
            for conjuncts in table.column("conjuncts").to_pylist():
                fill_words += conjuncts[-1]["end"] - conjuncts[-1]["start"]
            for span in table.column("reference").to_pylist():
                reference_words += span["end"] - span["start"]
        distinct += len(fills)
    whole = max(count, 1)
    return FillStatistics(count, distinct, fill_words / whole, reference_words / whole)


def _table(path: Path, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    try:
        if not pq.read_schema(path).equals(schema):
            raise InputError(
                "another schema than conjoin writes",
                path=path,
                remedy="make the file again with this version",
            )
        return pq.read_table(path, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}", path=path) from error
