"""What do candidates gain at equal annotation, with an encoder that others pretrained? The queue of its runs.

Everything is a command of conjoin, and every command a unit that is not done again: `units` prints them in
order, `run` does those that are not done, until its hours are over, and keeps what evaluation finds in
benchmarks/outcomes/pretrained-CORPUS.jsonl. One chain (corpus, labels, seed) needs nothing of another, so two
calls with other corpora share a machine of two cores. `pretrained_tables.py` prints the tables of what is
kept.

    python benchmarks/pretrained_study.py run --corpus data/study/genia --seeds 0 1
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pretrained_results import keep

from pipeline.core.files import folder_lock, write_json

PARSER = "l-trees"
"""The parser of L's trees that fine-tunes the encoder; both sides of every comparison use it."""

RETRAINED = "again"
"""The parser that learned from L's trees and, parsed by the first, the sentences all of whose rows passed."""

TRAINING = (
    "--learning-rate", "1e-4", "--warm-steps", "0", "--select", "last", "--eval-every", "200",
    "--patience", "100000",
)  # fmt: skip
"""Of every predictor; chosen by seeds 100 to 102 on dev sentences (benchmarks/README.md)."""

PARSING = (
    "--parser-hidden", "128", "--parser-epochs", "30", "--parser-lm-rate", "5e-5",
)  # fmt: skip
"""Of every parser; the draw's validation sentences choose the epoch."""

RELATIVE = "0.001"
"""Least share of the predictor's best that a harvested boundary must have."""


class Unit(NamedTuple):
    """A command that is done once.

    Attributes:
        name: its own, within the corpus.
        command: of conjoin, without its name.
    """

    name: str
    command: tuple[str, ...]


def chain(corpus: Path, labelled: str, seed: int, encoder: Path, updates: int) -> Iterator[Unit]:
    """The units of one draw of L at the level of L's trees, in order.

    Args:
        corpus: the corpus folder, ingested with this draw.
        labelled: size of L.
        seed: of the draw and of everything else.
        encoder: the untouched one, of predictors and parsers.
        updates: of every predictor.
    """
    where, draw = str(corpus), ("--labelled", labelled, "--seed", str(seed))
    runs, candidates = corpus / "runs", corpus / "candidates"
    at = f"{labelled}/seed-{seed}"

    def train(system: str, mode: str, *more: str) -> Unit:
        shared = ("--encoder", str(encoder), "--steps", str(updates), *TRAINING, "--resume")
        command = ("train", where, "--system", system, "--mode", mode, *draw, *shared, *more)
        return Unit(f"train {system} {at}", command)

    def learn(system: str, folder: str, *more: str) -> Unit:
        source = candidates / folder / at
        return train(system, "no-filter", "--candidates", str(source), *more)

    def parse(name: str, *more: str) -> Unit:
        taught = ("--parser", "labelled", "--parser-lm", str(encoder), *PARSING)
        return Unit(
            f"preparse {name} {at}", ("preparse", where, *taught, *draw, "--name", name, *more)
        )

    def select(folder: str, source: str, *more: str) -> Unit:
        names = str(candidates / source / at), "--out", str(candidates / folder / at)
        return Unit(f"select {folder} {at}", ("select", *names, "--seed", str(seed), *more))

    predictor = str(runs / "predictor" / labelled / f"seed-{seed}" / "predictor")
    believed = ("--predictor", predictor, "--relative", RELATIVE)
    harvested = (
        "harvest",
        where,
        "--trees",
        PARSER,
        *draw,
        "--out",
        str(candidates / "harvest" / at),
    )
    yield parse(PARSER)
    yield train("predictor", "baseline")
    yield Unit(f"harvest {at}", harvested)
    yield select("believed", "harvest", *believed)
    yield learn("believed", "believed")
    yield learn("harvest", "harvest")
    yield train("brackets", "baseline", "--brackets", "1")


def done_file(corpus: Path, unit: Unit) -> Path:
    """Where it is written down that a unit is done."""
    return corpus / "study" / f"{unit.name.replace('/', '-').replace(' ', '_')}.json"


def run(units: Sequence[Unit], corpus: Path, hours: float) -> bool:
    """Do what is not done, in order; whether all is done now."""
    until = time.monotonic() + 3600 * hours
    with folder_lock(corpus / "study" / ".lock"):
        for unit in units:
            path = done_file(corpus, unit)
            if path.exists() and json.loads(path.read_text())["command"] == list(unit.command):
                continue
            if time.monotonic() > until:
                return False
            print("+ conjoin", *unit.command, flush=True)
            before, began = _cpu_s(), time.time()
            line = [sys.executable, "-m", "pipeline", *unit.command]
            if subprocess.run(line, check=False).returncode:  # noqa: S603 - our own command
                raise SystemExit(f"{unit.name}: failed; mend what it says and run again")
            spent = {"cpu_s": round(_cpu_s() - before), "wall_s": round(time.time() - began)}
            write_json(path, {"command": list(unit.command), **spent})
    return True


def _cpu_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(given: argparse.Namespace) -> None:
    """Print or do the units of the seeds, one chain after the other."""
    for seed in given.seeds:
        units = list(chain(given.corpus, given.labelled, seed, given.encoder, given.updates))
        if given.command == "units":
            print(*(f"conjoin {' '.join(unit.command)}" for unit in units), sep="\n")
            continue
        complete = run(units, given.corpus, given.hours)
        evaluation = ("evaluate", str(given.corpus), "--parser", PARSER, "--split", given.split)
        subprocess.run([sys.executable, "-m", "pipeline", *evaluation], check=True)  # noqa: S603
        keep(given.corpus)
        if not complete:
            break


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--updates", type=int, default=2400)
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test", help="dev for the choice of settings")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
