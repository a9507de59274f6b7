"""What each system's runs examined and accepted at one |L|, and how varied its candidates are."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pipeline.mechanisms.reporting.examples import fill_statistics
from pipeline.mechanisms.reporting.runs import Run, candidates_at_hand
from pipeline.mechanisms.reporting.systems import short_name, system_key
from pipeline.mechanisms.reporting.tables import Row, Table

__all__ = ["acceptance_table"]

_INSPECTING = {"filter", "self-train"}


def acceptance_table(runs: Sequence[Run], corpus: Path) -> Table | None:
    """A row for each system with a threshold, its seeds together; None without such runs.

    Candidates that are not at hand leave their columns empty.

    Raises:
        InputError: a shard of candidates is damaged.
    """
    told = [run for run in runs if run.mode in _INSPECTING]
    rows = [
        _row(system, [run for run in told if run.system == system], corpus)
        for system in sorted({run.system for run in told}, key=system_key)
    ]
    if not rows:
        return None
    return Table(
        "Examined and accepted",
        ("Model", "runs", "candidates", "examined", "different", "accepted", "of examined, %",
         "distinct fills, %", "words per fill"),
        tuple(rows),
        note="All seeds together. Candidates: what generation made; of those, different ones were "
        "examined at least once. Accepted and its share count every examination, also of a candidate "
        "that came again. Fills: of all candidates, distinct within a folder." + _warm_alone(runs),
    )  # fmt: skip


def _warm_alone(runs: Sequence[Run]) -> str:
    """Which systems have runs whose predictor no candidate has reached; empty where none has."""
    counted = Counter(run.system for run in runs if run.source)
    alone = Counter(run.system for run in runs if run.is_warm_alone)
    named = ", ".join(
        f"{short_name(system)} ({alone[system]} of {counted[system]} runs)"
        for system in sorted(alone, key=system_key)
    )
    return named and (
        " The best predictor was found before the first candidate joined, so that what stands under "
        f"the system's name learnt from L alone: {named}."
    )


def _row(system: str, runs: Sequence[Run], corpus: Path) -> Row:
    pool, seen, distinct, accepted = (
        _sum(runs, key) for key in ("candidates", "seen", "distinct", "accepted")
    )
    share = f"{100 * accepted / seen:.1f}" if seen and accepted is not None else "–"
    folders = sorted({folder for run in runs if (folder := candidates_at_hand(run, corpus))})
    fills = fill_statistics(folders)
    varied = (
        f"{100 * fills.distinct / fills.candidates:.1f}" if fills.candidates else "–",
        f"{fills.fill_words:.2f}" if fills.candidates else "–",
    )
    counts = ("–" if count is None else f"{count:,}" for count in (pool, seen, distinct, accepted))
    return Row((short_name(system), f"{len(runs)}", *counts, share, *varied))


def _sum(runs: Sequence[Run], key: str) -> int | None:
    """Over all runs; None where one did not record it."""
    values = [run.card.get(key) for run in runs]
    known = [value for value in values if isinstance(value, int)]
    return sum(known) if len(known) == len(values) else None
