"""The queue of a study: commands of conjoin that are done once, in order, and resumed after an end."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from pipeline.core.files import digest_of, folder_lock, write_json


class Unit(NamedTuple):
    """A command that is done once.

    Attributes:
        name: its own, within the corpus.
        command: of conjoin, without its name.
        needs: names of the units whose outputs it reads.
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()


def wanted(units: Sequence[Unit], names: Sequence[str]) -> list[Unit]:
    """Those so named, as ``train believed``, whatever their draw, and what they need; all, without names."""
    needed: set[str] = set()
    for unit in reversed(units):  # what one needs stands before it
        if unit.name in needed or unit.name.rpartition(" ")[0] in names:
            needed |= {unit.name, *unit.needs}
    return [unit for unit in units if unit.name in needed or not names]


def done_file(corpus: Path, unit: Unit) -> Path:
    """Where it is written down that a unit is done."""
    return corpus / "study" / f"{unit.name.replace('/', '-').replace(' ', '_')}.json"


def digests(units: Sequence[Unit]) -> dict[str, str]:
    """By name, what a unit's outputs are made of: its command, and all that it needs."""
    found: dict[str, str] = {}
    for unit in units:  # in order: what one needs stands before it
        found[unit.name] = digest_of([*unit.command, *(found[name] for name in unit.needs)])
    return found


def is_done(corpus: Path, unit: Unit, digest: str) -> bool:
    """Whether this very command has been done, after the same ones before it."""
    path = done_file(corpus, unit)
    return path.exists() and json.loads(path.read_text()).get("digest") == digest


def run(units: Sequence[Unit], corpus: Path, costs: Path, jobs: int, hours: float) -> bool:
    """Do what is not done, in order, ``jobs`` at a time; whether all is done now.

    Args:
        units: what one needs stands before it.
        corpus: the corpus folder, whose folder ``study`` says what is done.
        costs: file that each command's seconds are added to.
        jobs: commands at a time.
        hours: after which none is begun.

    Raises:
        SystemExit: a command failed; those that were running beside it are finished first.
    """
    until, made_of = time.monotonic() + 3600 * hours, digests(units)
    with folder_lock(corpus / "study" / ".lock"), ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[bool], Unit] = {}
        failed = False
        while True:
            names = {unit.name for unit in running.values()}
            left = [
                unit
                for unit in units
                if unit.name not in names and not is_done(corpus, unit, made_of[unit.name])
            ]
            waiting = names | {unit.name for unit in left}
            for unit in left:
                late = failed or time.monotonic() > until
                if not late and len(running) < jobs and not waiting & set(unit.needs):
                    running[pool.submit(_do, corpus, costs, unit, made_of[unit.name])] = unit
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                failed |= not future.result()
                del running[future]
    if failed:
        raise SystemExit("a command failed: mend what it says and run again")
    return not left


def print_or_run(units: Sequence[Unit], given: argparse.Namespace, costs: Path) -> bool:
    """What a study's ``units`` and ``run`` do with those of its units that are wanted; whether they were run.

    Args:
        units: what one needs stands before it.
        given: the options of the study, with ``command``, ``corpus``, ``only``, ``jobs`` and ``hours``.
        costs: file that each command's seconds are added to.

    Raises:
        SystemExit: as ``run``.
    """
    units = wanted(units, given.only)
    if given.command == "units":
        print(*(f"conjoin {' '.join(unit.command)}" for unit in units), sep="\n")
        return False
    run(units, given.corpus, costs, given.jobs, given.hours)
    return True


def evaluate(corpus: Path, split: str, *more: str) -> None:
    """``conjoin evaluate``, with more options."""
    line = (sys.executable, "-m", "pipeline", "evaluate", str(corpus), "--split", split, *more)
    subprocess.run(line, check=True)  # noqa: S603 - our own command


def _do(corpus: Path, costs: Path, unit: Unit, digest: str) -> bool:
    if unit.command[0] == "select":  # which writes into no folder that is there
        shutil.rmtree(unit.command[unit.command.index("--out") + 1], ignore_errors=True)
    print("+ conjoin", *unit.command, flush=True)
    began = time.time()
    log = done_file(corpus, unit).with_suffix(".log")
    log.parent.mkdir(exist_ok=True, parents=True)
    with log.open("w") as file:
        line = [sys.executable, "-m", "pipeline", *unit.command]
        process = subprocess.Popen(line, stdout=file, stderr=file)  # noqa: S603 - our own command
        _, status, spent = os.wait4(process.pid, 0)
    if status:
        print(f"{unit.name}: failed, see {log}", flush=True)
        return False
    facts = {"cpu_s": round(spent.ru_utime + spent.ru_stime), "wall_s": round(time.time() - began)}
    about = {"command": list(unit.command), "digest": digest}
    write_json(done_file(corpus, unit), about | facts)
    with costs.open("a") as file:
        file.write(json.dumps({"corpus": corpus.name, "unit": unit.name, **facts}) + "\n")
    print(f"{unit.name}: {facts['cpu_s']:,} CPU s", flush=True)
    return True
