"""Accepted and rejected candidates to look at (Table 4), and what is in a folder of candidates."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.candidates import candidate_shards, find_candidates
from pipeline.core.errors import InputError
from pipeline.core.schema import CANDIDATES, SCORED
from pipeline.core.types import Span, bracketed

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
) -> tuple[list[Example], list[Example]]:
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
    known = {
        name: verdict for (folder, name), verdict in (verdicts or {}).items() if folder == shards
    }
    # Rows stand in the order of the judgements, so a later one replaces an earlier.
    last = {
        str(row["candidate_id"]): row
        for row in _table(scored, SCORED).to_pylist()
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

    def example(row: Mapping[str, Any]) -> Example:
        candidate = found[shards, row["candidate_id"]]
        return Example(
            candidate_id=candidate.candidate_id,
            label=candidate.label,
            pieces=marked(candidate.words, candidate.conjuncts, candidate.reference),
            probability=row["probability"],
            accepted=row["accepted"],
            step=row["step"],
            seed=number,
            verdict=known.get(candidate.candidate_id),
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
