"""``conjoin plan``: what an experiment will cost, before it is run."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.core.console import say, table
from pipeline.core.errors import InputError
from pipeline.experiments.cells import Cell, check_texts
from pipeline.experiments.durations import Duration, Durations
from pipeline.experiments.experiment import DEFAULT
from pipeline.experiments.grid import files_over, grid
from pipeline.experiments.parallel import makespan
from pipeline.experiments.plan.estimates import Estimates
from pipeline.experiments.plan.settings import PlanSettings
from pipeline.sources.dry_run import duration, size

_UNKNOWN = "unknown"


def run(settings: PlanSettings) -> None:
    """Print cells, candidates, time and disk; files are as before when it ends, unless they are to stay.

    Raises:
        InputError: there is no DVC pipeline here, or another grid is at work.
        SettingsError: no such experiment or corpus; what ``repro`` refuses.
    """
    with grid(settings) as (pipeline, cells, document):
        stale = pipeline.stale(cells)
        estimates = Estimates(cells, Durations(document), probing=settings.probe)
        absent = ""
        try:
            check_texts(cells)
        except InputError as error:
            absent = str(error)
    times = {cell: estimates.time(cell) for cell in cells if cell in stale}
    name = " on ".join(
        [settings.experiment or DEFAULT, *filter(None, [", ".join(settings.corpus)])]
    )
    _tell_time(cells, times, settings, name)
    _tell_candidates(estimates)
    _tell_disk(list(times), estimates, settings.jobs)
    for obstacle in estimates.obstacles:
        say(f"no probe yet: {obstacle}")
    if absent:
        say(f"not to be run yet: {absent}")
    if settings.write:
        with files_over(settings, keep=True):
            say("written: cells.yaml; `dvc repro` runs these cells")
    _tell_command(settings)


def _tell_time(
    cells: Sequence[Cell], times: Mapping[Cell, Duration | None], settings: PlanSettings, name: str
) -> None:
    """Print the time of each stage and in all; ``times`` are of the cells that are to run."""
    rows = []
    for stage in dict.fromkeys(cell.stage for cell in cells):
        members = [cell for cell in cells if cell.stage == stage]
        todo = [cell for cell in members if cell in times]
        found = [times[cell] for cell in todo]
        known = [each.seconds for each in found if each]
        sources = dict.fromkeys(each.source if each else _UNKNOWN for each in found)
        each = f"{sum(known) / len(known):,.1f}" if known else _UNKNOWN if todo else ""
        rows.append(
            (stage, len(members), len(members) - len(todo), len(todo), each,
             duration(sum(known)) if known else each, ", ".join(sources))
        )  # fmt: skip
    table(
        f"plan of {name}",
        ("stage", "cells", "up to date", "to run", "s a cell", "in all", "from"),
        rows,
    )
    seconds = {cell.name: known.seconds if known else 0.0 for cell, known in times.items()}
    todo = sorted(times, key=lambda cell: (-seconds[cell.name], cell.name))
    unknown = sum(each is None for each in times.values())
    least = "at least " if unknown else ""
    nothing_known = bool(times) and not any(times.values())
    for jobs in () if nothing_known else dict.fromkeys((1, settings.jobs)):
        lanes = "lane" if jobs == 1 else "lanes"
        say(f"time on {jobs} {lanes}: {least}{duration(makespan(todo, seconds, jobs))}")
    if unknown:
        say(f"{unknown} cells have no estimate: what they need is not made yet")


def _tell_candidates(estimates: Estimates) -> None:
    rows = []
    shown = set()
    for settings in estimates.training.values():
        folder = settings.candidates
        if settings.mode == "baseline" or folder is None:
            continue
        draws = settings.k_max * max(0, settings.steps - settings.warm_steps)
        if (line := (settings.system, settings.corpus, draws)) in shown:
            continue
        shown.add(line)
        there = estimates.candidates(Path(folder))
        rows.append(
            (f"{settings.system or settings.mode} ({settings.corpus.name})", draws,
             f"{there.value:,.0f}" if there.value else _UNKNOWN,
             f"{draws / there.value:.1f}" if there.value else _UNKNOWN, there.source)
        )  # fmt: skip
    if rows:
        table(
            "candidates, a run of training: K_max × (steps - warm_steps) draws at most",
            ("system", "draws", "there will be", "times each", "from"),
            rows,
        )


def _tell_disk(todo: Sequence[Cell], estimates: Estimates, jobs: int) -> None:
    trained = [cell for cell in todo if cell.stage == "train"]
    made = estimates.generation | estimates.synthesis
    rows = []
    total = 0.0
    runs = [estimates.run_size(estimates.training[cell]) for cell in trained]
    shards = [estimates.shards_size(made[cell]) for cell in todo if cell in made]
    for what, figures in (("runs", runs), ("candidates", shards)):
        if not figures:
            continue
        known = [figure.value for figure in figures if figure.value is not None]
        total += 2 * sum(known)
        sources = ", ".join(dict.fromkeys(figure.source for figure in figures))
        rows.append((what, len(figures), size(2 * sum(known)) if known else _UNKNOWN, sources))
    passing = [estimates.checkpoints_size(estimates.training[cell]) for cell in trained]
    if passing:
        most = max(passing, key=lambda figure: figure.value or 0.0)
        lanes = min(jobs, len(trained))
        total += lanes * (most.value or 0.0)
        amount = _UNKNOWN if most.value is None else size(lanes * most.value)
        rows.append(("checkpoints meanwhile", lanes, amount, most.source))
    if rows:
        table("disk, with DVC's copy of everything", ("what", "count", "in all", "from"), rows)
        free = shutil.disk_usage(Path()).free
        amount = f"about {size(total)}" if total else _UNKNOWN
        say(f"disk: {amount} of {size(free)} free")


def _tell_command(settings: PlanSettings) -> None:
    words = ["conjoin repro", *([settings.experiment] if settings.experiment else [])]
    words += [f"--corpus {corpus}" for corpus in settings.corpus]
    words += [f"--set {shlex.quote(pair)}" for pair in settings.set]
    words += [f"--skip {shlex.quote(settings.skip)}"] if settings.skip else []
    say(f"run it: {' '.join(words)} --jobs {settings.jobs}")
