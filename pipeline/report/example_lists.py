"""What each system that filters accepted and rejected, at the |L| that a report is about (Table 4).

The sheet in which people judge the candidates that a report shows.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from pipeline.core import console
from pipeline.core.errors import InputError
from pipeline.core.files import write_text
from pipeline.core.runs import Run, candidates_at_hand, not_at_hand
from pipeline.report.audit import read_verdicts
from pipeline.report.examples import Example, draw_examples, place_of
from pipeline.report.findings import better_generator
from pipeline.report.judgements import COLUMNS, TEXT, Judgements, read_judgements
from pipeline.report.results import Metrics, system_key, system_phrase
from pipeline.report.sections import ExampleList


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


def offer_sheet(
    path: Path,
    examples: Sequence[ExampleList],
    judgements: Judgements,
    *,
    given: Path | None,
    seed: int,
) -> list[str]:
    """Write the sheet to fill in, unless that would lose verdicts; what to say of judging.

    ``given`` is the file that the judgements are from; ``seed`` that of the draw.
    """
    shown = {e.candidate_id: e for group in examples for e in (*group.accepted, *group.rejected)}
    if not shown:
        return []
    words = []
    # What stands in no other file must be shown to be written again.
    own = given is not None and given.resolve() == path.resolve()
    safe = judgements.of(shown) if own else judgements
    if loses_verdicts(path, safe):
        words.append(
            f"{path.name} beside this page holds verdicts that a new sheet would lose, and is left as it is."
        )
        console.say(f"{path}: {words[0]}")
    else:
        write_text(path, blank_sheet(shown.values(), judgements, seed))
    if left := len(shown.keys() - judgements.sensible.keys()):
        words.append(
            f"To have {f'the other {left}' if judgements.sensible else 'them'} judged by hand, write yes or "
            f"no under “sensible” in {path.name} beside this page, which tells neither the system nor what "
            f"the filter said, and run conjoin report CORPUS --judgements CORPUS/report/{path.name}."
        )
    if strange := len(judgements.sensible.keys() - shown.keys()):
        words.append(
            f"{strange:,} of the {len(judgements.sensible):,} judgements are of candidates not shown here."
        )
        console.say(f"{given}: {words[-1]}")
    return words


def blank_sheet(examples: Iterable[Example], judgements: Judgements, seed: int) -> str:
    """CSV text to fill in: a line for each candidate, its text, and the verdict where there is one.

    The order is that of the draw over all systems, and neither the system nor the filter's verdict
    is told: who judges should not know them.
    """
    texts = {e.candidate_id: e.text for e in examples}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*COLUMNS, TEXT])
    for candidate in sorted(texts, key=lambda c: place_of(seed, c)):
        verdict = {True: "yes", False: "no", None: ""}[judgements.sensible.get(candidate)]
        writer.writerow([candidate, verdict, judgements.notes.get(candidate, ""), texts[candidate]])
    return buffer.getvalue()


def loses_verdicts(path: Path, kept: Judgements) -> bool:
    """Whether writing over a sheet would lose work: a verdict or a note that is not among the ``kept``.

    A sheet that cannot be read counts as work.
    """
    if not path.is_file():
        return False
    try:
        sheet = read_judgements(path)
    except InputError:
        return True
    return not (
        sheet.sensible.items() <= kept.sensible.items()
        and sheet.notes.items() <= kept.notes.items()
    )
