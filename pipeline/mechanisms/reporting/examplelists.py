"""What each system that filters accepted and rejected, at the |L| that a report is about (Table 4)."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.mechanisms.reporting.audits import read_verdicts
from pipeline.mechanisms.reporting.examples import draw_examples
from pipeline.mechanisms.reporting.findings import better_generator
from pipeline.mechanisms.reporting.judgements import Judgements
from pipeline.mechanisms.reporting.results import Metrics
from pipeline.mechanisms.reporting.runs import Run, candidates_at_hand, not_at_hand
from pipeline.mechanisms.reporting.sections import ExampleList
from pipeline.mechanisms.reporting.systems import system_key, system_phrase

__all__ = ["example_lists"]


def example_lists(
    metrics: Metrics,
    runs: Sequence[Run],
    corpus: Path,
    *,
    count: int,
    seed: int,
    judgements: Judgements,
) -> tuple[list[ExampleList], list[str]]:
    """Examples of each system that filters, from its first run: the better generator's stand open.

    Returns:
        The lists, and a line for each that cannot be shown.

    Raises:
        InputError: a file is damaged, or a candidate that training judged is gone.
    """
    if not count:
        return [], []
    size = metrics.main
    filtering = [run for run in runs if run.mode == "filter" and run.labelled == size]
    if not filtering:
        return [], ["No examples: no run that filters candidates."] if runs else []
    verdicts = read_verdicts(corpus)
    better = better_generator(metrics)
    sources = {run.folder: candidates_at_hand(run, corpus) for run in filtering}
    lacking = not_at_hand([run for run in filtering if not sources[run.folder]])
    found: list[ExampleList] = []
    missing = [f"{lacking} Examples cannot show them."] if lacking else []
    for system in sorted(
        {run.system for run in filtering}, key=lambda s: (s != better, system_key(s))
    ):
        first = next(
            (
                (run.seed, scored, shards)
                for run in filtering  # in the order of their seeds
                if run.system == system
                and (shards := sources[run.folder])
                and (scored := run.folder / "scored.parquet").is_file()
            ),
            None,
        )
        if first is None:
            missing.append(f"No examples of {system_phrase(system)}: its files are not there.")
            continue
        lists = draw_examples(first, count, seed, verdicts)
        told = judgements.counted(*lists) if judgements.sensible else ""
        title = f"{system_phrase(system)}, {metrics.phrase(size)}, seed {first[0]}"
        found.append(ExampleList(title, *lists, folded=bool(found), judged=told))
    return found, missing
