"""SIGKILL at random times against real launches: does every rerun end with the same folder?

Usage: python benchmarks/kill_campaign.py [--rounds 20] [--processes 2] [--seed 0]

Each round starts `conjoin generate` in several processes on a tiny random model, kills a worker or the
launcher (by turns) at a random time, checks that no process writes on, reruns, and compares the folder
with that of an uninterrupted run, byte by byte. Every fourth kill may fall on the start-up; the others
fall between the first finished unit and the end.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.scaling import ROOT, corpus, model
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import run

LOCKS = {".lock", ".workers"}


def settings(folder: Path, out: Path, processes: int = 1) -> GenerateSettings:
    """A run of many small units; fills are drawn, for the best of a random model repeat one word."""
    return GenerateSettings(
        corpus=folder, model=str(folder / "model"), unit=8, batch_tokens=2000, references=3,
        processes=processes, out=out, decoding="sample",
    )  # fmt: skip


def contents(out: Path) -> dict[str, bytes]:
    """All files but the locks."""
    return {
        str(p.relative_to(out)): p.read_bytes()
        for p in out.rglob("*")
        if p.is_file() and p.name not in LOCKS
    }


def family(out: Path) -> list[psutil.Process]:
    """The processes whose command line names ``out``."""
    return [p for p in psutil.process_iter(["cmdline"]) if str(out) in (p.info["cmdline"] or ())]


def round_of(folder: Path, out: Path, processes: int, victim: str, wait: tuple[bool, float]) -> str:
    """Start, kill some seconds after the start or the first unit, and say what was there then."""
    line = [sys.executable, "-m", "pipeline", *settings(folder, out, processes).command_line()]
    started = subprocess.Popen(  # noqa: S603
        line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    early, seconds = wait
    while not early and started.poll() is None and not list(out.glob(".units/0*.json")):
        time.sleep(0.01)
    time.sleep(seconds)
    workers = [p for p in family(out) if p.pid != started.pid]
    target = random.choice(workers).pid if victim == "worker" and workers else started.pid
    if started.poll() is None:
        os.kill(target, signal.SIGKILL)
    done = len(list(out.glob(".units/0*.json")))
    until = time.monotonic() + 60
    while family(out):
        if time.monotonic() > until:
            raise SystemExit("FAILED: a process writes on")
        time.sleep(0.05)
    started.wait()
    return f"{done} units finished, exit code {started.returncode}"


def main(rounds: int, processes: int, seed: int) -> None:
    """Run the campaign."""
    random.seed(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder, whole = Path(scratch), Path(scratch, "whole")
        model(folder / "model", 16)
        corpus(folder, 100)
        begun = time.monotonic()
        run(settings(folder, whole))
        length, expected = time.monotonic() - begun, contents(whole)
        for number in range(rounds):
            out, early = folder / f"out-{number}", number % 4 == 3
            wait = random.uniform(0, 15 if early else length / processes / 2)
            victim = ("worker", "launcher")[number % 2]
            state = round_of(folder, out, processes, victim, (early, wait))
            run(settings(folder, out))
            if contents(out) != expected:
                raise SystemExit(f"FAILED: round {number}: another folder")
            print(f"### round {number + 1}: {victim} killed: {state}: same folder", flush=True)
    print(f"### {rounds} of {rounds} reruns gave the same folder")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.rounds, given.processes, given.seed)
